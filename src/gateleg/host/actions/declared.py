"""The actions that an application declares, checked when a host opens it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateleg.host.actions.action import Action
from gateleg.host.application import Application, BadApplication, check_made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.host.resources import Resources

__all__ = ["declared_actions"]

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")


def declared_actions(application: Application, resources: Resources[Any]) -> tuple[Action[Any, Any], ...]:
    """The actions of an application. Raises `BadApplication` for one that cannot be offered, and for two that cannot be told apart."""
    declared: Any = application.actions
    made = check_made(application, "actions", declared(resources), (list, tuple)) if callable(declared) else declared
    actions = tuple(check_made(application, "actions", action, Action) for action in made)
    for action in actions:
        _check(application, action)
    for what, key in _DISTINCT:
        _check_distinct(application, what, [key(action) for action in actions])
    return actions


_DISTINCT: tuple[tuple[str, Callable[[Action[Any, Any]], str]], ...] = (
    ("name", lambda action: action.name),
    ("route", lambda action: _PARAMETER.sub("{}", action.http)),
    # Without an argument, it may be the bulk of the same command.
    ("command", lambda action: action.command and f"{action.command}{action.flag and f' --{action.flag}'}{'*' if action.choices else ''}"),
)


def _check_distinct(application: Application, what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in filter(None, values):
        if value in seen:
            raise BadApplication(
                f"Two actions of the application {application.name} have the {what} {value.rstrip('*')!r}.", fix=f"Change one {what}."
            )
        seen.add(value)


def _check(application: Application, action: Action[Any, Any]) -> None:
    name, prefix = application.name, f"/api/{application.name}/"

    def bad(what: str, fix: str) -> BadApplication:
        return BadApplication(f"The action {action.name!r} of the application {name} {what}", fix=fix)

    if not re.fullmatch(rf"{re.escape(name)}(\.[a-z0-9-]+)+", action.name) or action.name.startswith(f"{name}.job."):
        fix = f"Name it {name}.VERB, in lower case and with hyphens; names that begin with {name}.job. are those of its jobs."
        raise bad("has a name that is not its own.", fix)
    method, _, path = action.http.partition(" ")
    if method not in _METHODS or not path.startswith(prefix):
        raise bad(f"has the route {action.http!r}, outside of {prefix}.", f'Write http="POST {prefix}...".')
    if application.jobs is not None and (path + "/").startswith(f"{prefix}jobs/"):
        raise bad(f"has the route {action.http!r}, below which the host serves its jobs.", f"Choose another path below {prefix}.")
    fields = action.input.model_fields
    unknown = [field for field in (*_PARAMETER.findall(path), *action.query, *(action.arguments or ())) if field not in fields]
    if unknown:
        fix = f"Its fields are {', '.join(fields) or 'none'}; the path, `query` and `arguments` name fields."
        raise bad(f"names {unknown[0]!r}, which is not a field of {action.input.__name__}.", fix)
    if action.command and not re.fullmatch(rf"{re.escape(name)} [a-z0-9-]+", action.command):
        raise bad(f"has the command {action.command!r}.", f'Write command="{name} VERB".')
