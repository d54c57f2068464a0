"""Generate parts of the reference pages from the code.

Such a part stands between `<!-- generated: NAME -->` and `<!-- end -->`. `make docs` writes the short ones, which readers of the repository
need, into the pages (`CHECKED_IN`). The long ones are only in the built site; in the repository, a sentence in their place says where the
program shows the same.
"""

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import click
import typer
from pydantic import BaseModel

from gateleg.ai import ModelSettings, Price
from gateleg.ai import errors as ai_errors
from gateleg.ai.settings import ProviderSettings, SpendCaps
from gateleg.cli.commands import app
from gateleg.cli.installed import application_errors, own_applications, registered
from gateleg.endpoint import dispatcher as endpoint_errors
from gateleg.engine.engine import handler_of
from gateleg.engine.protocol import OPERATIONS
from gateleg.host import errors as web_errors
from gateleg.host import openid as openid_errors
from gateleg.host import secrets as secret_errors
from gateleg.host import webhooks as webhook_errors
from gateleg.host.actions import ACTIONS, Action
from gateleg.host.actions.declared import declared_actions
from gateleg.host.application import Application
from gateleg.host.host import settings_only_resources
from gateleg.host.member_jobs import member_actions
from gateleg.host.openid import OpenIdSettings
from gateleg.host.sections import section_key
from gateleg.host.settings import PREFIX, Settings, format_setting
from gateleg.jobs import errors as job_errors
from gateleg.migrate import errors as migrate_errors
from gateleg.model import errors as model_errors
from gateleg.net import aws as credential_errors
from gateleg.net import errors as net_errors
from gateleg.net import tokens as token_errors
from gateleg.objects import errors as object_errors
from gateleg.store import errors as store_errors
from gateleg.web import health, object_routes, sse
from gateleg.web.api import ROUTERS, webhooks
from gateleg.web.app import flat_routes
from gateleg.web.member_jobs import member_job_routes
from gateleg.web.uploads import fields as upload_errors

PAGES = Path(__file__).parent / "reference"
_PART = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
MEMBER_JOBS = "Jobs of an application, for its members"


def operations() -> str:
    """Every operation of the engine and what it does."""
    lines = [
        "| operation | what it does |",
        "| --- | --- |",
    ]
    lines += [f"| `{name}` | {_first_line(handler_of(name))} |" for name in sorted(OPERATIONS)]
    return "\n".join(lines) + "\n"


def _first_line(handler: Callable[..., Any]) -> str:
    return (inspect.getdoc(handler) or "").splitlines()[0].replace("|", "\\|")


def command_line() -> str:
    """Every command with its options."""
    lines: list[str] = []
    _describe(typer.main.get_command(app), "gateleg", lines)
    return "\n".join(lines) + "\n"


def _describe(command: Any, path: str, lines: list[str]) -> None:
    if hasattr(command, "list_commands"):
        context = click.Context(command)
        for name in sorted(set(command.list_commands(context)) - (_undescribed() if path == "gateleg" else set())):
            _describe(command.get_command(context, name), f"{path} {name}", lines)
        return
    lines += [f"## `{path}`\n", f"{(command.help or '').strip()}\n"]
    options = [p for p in command.params if p.name != "help"]
    if options:
        lines += ["| option | default | meaning |", "| --- | --- | --- |"]
        for option in options:
            lines.append(f"| `{_spelled(option)}` | {_default(option)} | {getattr(option, 'help', None) or ''} |")
        lines.append("")


def _undescribed() -> set[str]:
    """Third-party applications that are installed in this environment, and those without commands."""
    return set(registered()) - {
        name for name, application in own_applications().items() if application.commands is not None or application.actions
    }


def _spelled(option: click.Parameter) -> str:
    return ", ".join(option.opts) if option.param_type_name == "option" else (option.name or "").upper()


def _default(option: click.Parameter) -> str:
    return "" if option.default in (None, False, "") or callable(option.default) else f"`{option.default}`"


def errors() -> str:
    """Every error of the kit, by its code."""
    lines: list[str] = []
    for title, module in (
        ("Model", model_errors),
        ("Store", store_errors),
        ("Objects", object_errors),
        ("Outgoing requests", net_errors),
        ("Credentials", credential_errors),
        ("Endpoint", endpoint_errors),
        ("Tokens and signatures", token_errors),
        ("Jobs", job_errors),
        ("Migrations", migrate_errors),
        ("Models", ai_errors),
        ("Host", web_errors),
        ("Uploads", upload_errors),
        ("Sign-in of people", openid_errors),
        ("Secrets", secret_errors),
        ("Webhooks", webhook_errors),
        *application_errors().items(),
    ):
        kinds = [
            kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__ and "code" in vars(kind)
        ]
        lines.append(f"## {title}\n")
        for kind in kinds:
            lines += _error(kind)
    return "\n".join(lines)


def _error(kind: Any) -> list[str]:
    parent = "" if kind.__base__ is Exception else f", a subclass of `{kind.__base__.__name__}`"
    why = f" {kind.why}" if getattr(kind, "why", "") else ""
    fix = kind.fix or "The message says what to do."
    text = f"`{kind.__name__}`{parent}. {inspect.cleandoc(kind.__doc__)}{why} HTTP status {kind.status}."
    return [f"### {kind.code}\n", f"{text}\n", f"*{fix}*\n"]


_SETTINGS = ("| setting | default | meaning |", "| --- | --- | --- |")


def settings() -> str:
    """Every setting of a host."""
    lines = [*_SETTINGS]
    lines += _settings_of(Settings)
    lines += [
        "\n## AI models\n",
        f"In the section `[models]`, or as variables with the prefix `{PREFIX}MODELS__`. Two underscores separate the names, as in",
        f"`{PREFIX}MODELS__PROVIDERS__ANTHROPIC__KEY_ENV=ANTHROPIC_API_KEY`; the value of a table may be JSON.\n",
    ]
    for title, model in (
        ("[models]", ModelSettings),
        ("[models.providers.NAME]", ProviderSettings),
        ('[models.prices."ADDRESS"]', Price),
        ("[models.caps]", SpendCaps),
    ):
        lines += [f"### `{title}`\n", *_SETTINGS, *_settings_of(model), ""]
    lines += [
        "\n## Sign-in of people\n",
        f"In the section `[oidc]`, or as variables with the prefix `{PREFIX}OIDC__`.\n",
        *_SETTINGS,
        *_settings_of(OpenIdSettings),
    ]
    for application in own_applications().values():
        if application.settings is not None:
            variable = f"{PREFIX}{section_key(application.name)}__".upper()
            where = f"In the section `[{application.name}]`, or as variables with the prefix `{variable}`.\n"
            lines += [f"\n## {application.title}\n", where, *_SETTINGS]
            lines += _settings_of(application.settings)
    return "\n".join(lines) + "\n"


def _settings_of(model: type[BaseModel]) -> list[str]:
    rows = []
    for name, field in model.model_fields.items():
        given = None if field.is_required() else field.get_default(call_default_factory=True)
        default = "" if isinstance(given, BaseModel) else format_setting(given)
        rows.append(f"| `{name}` | {f'`{default}`' if default else ''} | {field.description or ''} |")
    return rows


def http() -> str:
    """Every HTTP route of the host and of its applications."""
    lines: list[str] = []
    groups: dict[str, list[str]] = {}
    for router in (health.router, *ROUTERS, webhooks.router, sse.router, object_routes.router):
        for route in router.routes:
            if getattr(route, "include_in_schema", False):
                groups.setdefault(str(route.tags[0]), []).append(_address(route))  # type: ignore[attr-defined]
    for application in own_applications().values():
        if application.routes is not None:
            routes = application.routes(settings_only_resources(application, Settings())).routes
            groups[application.title] = [_address(route, f"/api/{application.name}") for route in routes if hasattr(route, "methods")]
        if application.jobs is not None:
            # Every application has the same job routes: show them once.
            members = [_address(route) for route in flat_routes(member_job_routes(application).routes)]
            groups[MEMBER_JOBS] = [row.replace(f"/{application.name}/", "/{application}/") for row in members]
    for name, rows in groups.items():
        lines += [f"## {name}\n", "| method | path | what it does |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def _address(route: Any, prefix: str = "") -> str:
    return f"| {', '.join(sorted(route.methods))} | `{prefix}{route.path.replace(':path', '')}` | {_first_line(route.endpoint)} |"


def actions() -> str:
    """Every action of the host and of its applications."""
    lines: list[str] = []
    columns = ("action", "what it does", "role", "route", "command", "tool", "target in the audit log")
    for title, group in _action_groups().items():
        lines += [f"## {title}\n", f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
        lines += [_action(action) for action in group]
        lines.append("")
    return "\n".join(lines)


def _action_groups() -> dict[str, Sequence[Action[Any, Any]]]:
    groups: dict[str, Sequence[Action[Any, Any]]] = {}
    for action in ACTIONS:
        title = f"{action.name.partition('.')[0].capitalize()}s"
        groups[title] = [*groups.get(title, ()), action]
    groups[MEMBER_JOBS] = member_actions(Application("{application}", "", ""))
    for application in own_applications().values():
        declared = declared_actions(application, settings_only_resources(application, Settings()))
        if declared:
            groups[application.title] = declared
    return groups


def _target(action: Action[Any, Any]) -> str:
    """What the target of an entry is made of, such as `{application}/{name}`; what is in the path of the route, if it is computed."""
    try:
        target = str(action.target(_Path(), _Path()))
    except (TypeError, ValueError):
        target = _COMPUTED
    return "/".join(f"{{{name}}}" for name in re.findall(r"\{(\w+)", action.http)) if _COMPUTED in target else target


#: How a whole input or result would be written.
_COMPUTED = "{}"


class _Path:
    """Stands for an input or a result, of which only what the target of an entry is made of matters: `{key_id}`."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> "_Path":
        return _Path(name)

    #: What goes through a result computes something.
    __iter__ = None

    def __getitem__(self, index: object) -> "_Path":
        return self

    def __str__(self) -> str:
        return f"{{{self._name}}}"


def _action(action: Action[Any, Any]) -> str:
    name, http = action.name, action.http.replace(":path", "")
    role = f"{action.role.word}; {action.also}" if action.also else action.role.word
    command = f"`gateleg {action.command}{action.flag and f' --{action.flag}'}`" if action.command else ""
    recorded = f"`{action.each}` of each" if action.each else f"`{_target(action)}`"
    return f"| `{name}` | {action.help} | {role} | `{http}` | {command} | {'yes' if action.tool else ''} | {recorded} |"


def graphql() -> str:
    """The schema of every application that serves GraphQL, in GraphQL's own language."""
    lines: list[str] = []
    for application in own_applications().values():
        surfaces = () if application.surfaces is None else application.surfaces(settings_only_resources(application, Settings()))
        for surface in surfaces:
            schema = getattr(surface.app, "schema", None)
            if schema is not None:
                lines += [f"## {application.title}\n", f"```graphql\n{schema}\n```\n"]
    return "\n".join(lines)


FRAGMENTS: dict[str, Callable[[], str]] = {
    "operations": operations,
    "command-line": command_line,
    "errors": errors,
    "settings": settings,
    "http": http,
    "actions": actions,
    "graphql": graphql,
}
#: The parts that are in the repository too.
CHECKED_IN = ("actions", "operations", "settings")


def fill(page: str, names: Collection[str]) -> str:
    """A page with its generated parts, as far as they are named."""

    def part(match: re.Match[str]) -> str:
        opening, name, end = match.groups()
        return f"{opening}\n{FRAGMENTS[name]().strip()}\n\n{end}" if name in names else match[0]

    return _PART.sub(part, page)


if __name__ == "__main__":
    for page in PAGES.glob("*.md"):
        page.write_text(fill(page.read_text(), CHECKED_IN))
