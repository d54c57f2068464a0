"""Write the reference pages that come from the code: `make docs`."""

import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import typer
from pydantic import BaseModel

from gateleg.ai import ModelSettings, Price, ProviderSettings, SpendCaps
from gateleg.ai import errors as ai_errors
from gateleg.cli.commands import app
from gateleg.cli.installed import application_errors, own_applications, registered
from gateleg.engine.engine import handler_of
from gateleg.engine.protocol import OPERATIONS
from gateleg.jobs import errors as job_errors
from gateleg.migrate import errors as migrate_errors
from gateleg.model import errors as model_errors
from gateleg.net import errors as net_errors
from gateleg.objects import errors as object_errors
from gateleg.store import errors as store_errors
from gateleg.web import delivery, health, streams
from gateleg.web import errors as web_errors
from gateleg.web import secret_store as secret_errors
from gateleg.web.api import ROUTERS
from gateleg.web.app import flat_routes
from gateleg.web.host import unopened_resources
from gateleg.web.member_jobs import member_job_routes
from gateleg.web.sections import section_key
from gateleg.web.settings import PREFIX, Settings, shown
from gateleg.web.uploads import rules as upload_errors
from gateleg.web.webhooks import hooks as webhook_errors
from gateleg.web.webhooks import routes as webhooks

sys.path.insert(0, str(Path(__file__).parent))

import python_reference

PAGES = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py; change the code instead. -->\n"
MEMBER_JOBS = "Jobs of members, of every application with jobs"


def operations() -> str:
    """Every operation, and what it does here."""
    lines = [
        NOTE,
        "# Operations\n",
        f"{len(OPERATIONS)} operations of DynamoDB and DynamoDB Streams.\n",
        "| operation | here |",
        "| --- | --- |",
    ]
    lines += [f"| `{name}` | {_first_line(handler_of(name))} |" for name in sorted(OPERATIONS)]
    return "\n".join(lines) + "\n"


def _first_line(handler: Callable[..., Any]) -> str:
    return (inspect.getdoc(handler) or "").splitlines()[0].replace("|", "\\|")


def command_line() -> str:
    """Every command with its options."""
    lines = [NOTE, "# Command line\n"]
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
    """Applications of others that are installed here, and those without commands."""
    return set(registered()) - {name for name, application in own_applications().items() if application.commands is not None}


def _spelled(option: click.Parameter) -> str:
    return ", ".join(option.opts) if option.param_type_name == "option" else (option.name or "").upper()


def _default(option: click.Parameter) -> str:
    return "" if option.default in (None, False, "") or callable(option.default) else f"`{option.default}`"


def errors() -> str:
    """Every error of the kit, by its code."""
    lines = [
        NOTE,
        "# Errors\n",
        "Every error is a `GatelegError` (in `gateleg.errors`): its `message` says what happened, `why` the reason where that helps, `fix`",
        "what to do, and `code` stands at the end of its text in brackets. `status` is the HTTP status of a host's answer. Catch",
        "a class below, the first of each part for all of its kind, or `GatelegError` for all. Errors can be pickled. Errors of the store",
        "carry the request, all values taken out, as `request`. All are in the module `errors` of their room",
        "(`gateleg.store.errors`); the room itself exports its base and those that programs often catch.\n",
    ]
    for title, module in (
        ("Model", model_errors),
        ("Store", store_errors),
        ("Objects", object_errors),
        ("Outgoing requests", net_errors),
        ("Jobs", job_errors),
        ("Migrations", migrate_errors),
        ("Models", ai_errors),
        ("Host", web_errors),
        ("Uploads", upload_errors),
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
    parent = "" if kind.__base__ is Exception else f", a `{kind.__base__.__name__}`"
    why = f" {kind.why}" if getattr(kind, "why", "") else ""
    fix = kind.fix or "The message says what to do."
    said = f"`{kind.__name__}`{parent}. {inspect.cleandoc(kind.__doc__)}{why} HTTP status {kind.status}."
    return [f"### {kind.code}\n", f"{said}\n", f"*{fix}*\n"]


_SETTINGS = ("| setting | default | what it is |", "| --- | --- | --- |")


def settings() -> str:
    """Every setting of a host."""
    lines = [
        NOTE,
        "# Settings\n",
        f"In `gateleg.toml`, or in capitals behind `{PREFIX}` as environment variables. `gateleg config` prints what is in force.\n",
        *_SETTINGS,
    ]
    lines += _settings_of(Settings)
    lines += [
        "\n## Models\n",
        f"Below `[models]`, or behind `{PREFIX}MODELS__`: two underscores stand between names, and what is a table may be given as JSON.",
        f"`{PREFIX}MODELS__PROVIDERS__ANTHROPIC__KEY_ENV=ANTHROPIC_API_KEY` is an example.",
    ]
    for title, model in (
        ("[models]", ModelSettings),
        ("[models.providers.NAME]", ProviderSettings),
        ('[models.prices."ADDRESS"]', Price),
        ("[models.caps]", SpendCaps),
    ):
        lines += [f"### `{title}`\n", *_SETTINGS, *_settings_of(model), ""]
    for application in own_applications().values():
        if application.settings is not None:
            variable = f"{PREFIX}{section_key(application.name)}__".upper()
            lines += [f"\n## {application.title}\n", f"Below `[{application.name}]`, or behind `{variable}`.\n", *_SETTINGS]
            lines += _settings_of(application.settings)
    return "\n".join(lines) + "\n"


def _settings_of(model: type[BaseModel]) -> list[str]:
    rows = []
    for name, field in model.model_fields.items():
        given = None if field.is_required() else field.get_default(call_default_factory=True)
        default = "" if isinstance(given, BaseModel) else shown(given)
        rows.append(f"| `{name}` | {f'`{default}`' if default else ''} | {field.description or ''} |")
    return rows


def http() -> str:
    """Every address of the kit and of its applications, and what it is for."""
    lines = [
        NOTE,
        "# HTTP\n",
        "What every host serves, and what the applications of Gateleg add; `/api/docs` of a host has it with all parameters.\n",
    ]
    groups: dict[str, list[str]] = {}
    for router in (health.router, *ROUTERS, webhooks.router, streams.router, delivery.router):
        for route in router.routes:
            if getattr(route, "include_in_schema", False):
                groups.setdefault(str(route.tags[0]), []).append(_address(route))  # type: ignore[attr-defined]
    for application in own_applications().values():
        if application.routes is not None:
            routes = application.routes(unopened_resources(application, Settings())).routes
            groups[application.title] = [_address(route, f"/api/{application.name}") for route in routes if hasattr(route, "methods")]
        if application.jobs is not None:
            # Those of one application stand for all: they are the same.
            members = [_address(route) for route in flat_routes(member_job_routes(application).routes)]
            groups[MEMBER_JOBS] = [row.replace(f"/{application.name}/", "/{application}/") for row in members]
    for name, rows in groups.items():
        lines += [f"## {name}\n", "| method | address | what it does |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def _address(route: Any, prefix: str = "") -> str:
    return f"| {', '.join(sorted(route.methods))} | `{prefix}{route.path.replace(':path', '')}` | {_first_line(route.endpoint)} |"


def python(room: str) -> str:
    """The Python API of a room."""
    return f"{NOTE}\n{python_reference.page(room)}"


def graphql_schemas() -> dict[str, Callable[[], str]]:
    """The schema of every application that serves GraphQL, as `{name}.graphql`."""
    found: dict[str, Callable[[], str]] = {}
    for application in own_applications().values():
        surfaces = () if application.surfaces is None else application.surfaces(unopened_resources(application, Settings()))
        for surface in surfaces:
            schema = getattr(surface.app, "schema", None)
            if schema is not None:
                found[f"{application.name}.graphql"] = partial(graphql_schema, schema)
    return found


def graphql_schema(schema: Any) -> str:
    """A schema in GraphQL's own language."""
    return f"# Written by docs/generate.py; change the code instead.\n\n{schema}\n"


GENERATED: dict[str, Callable[[], str]] = {
    "operations.md": operations,
    "command-line.md": command_line,
    "errors.md": errors,
    "settings.md": settings,
    "http.md": http,
    **{f"python/{room}.md": partial(python, room) for room in python_reference.ROOMS},
    **graphql_schemas(),
}

if __name__ == "__main__":
    (PAGES / "python").mkdir(parents=True, exist_ok=True)
    for name, page in GENERATED.items():
        (PAGES / name).write_text(page())
