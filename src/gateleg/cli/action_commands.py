"""Commands of actions: what is in the path of an action's route is an argument, the other fields of its input are options, and secret ones
are read from standard input.

Actions that share a command are told apart by their flags (`--tree`), and a bulk by the missing argument: `gateleg jobs cancel JOB` cancels
one job, `gateleg jobs cancel --queue mail` all of a queue.
"""

import asyncio
import inspect
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer
from pydantic import SecretStr, ValidationError

from gateleg.cli.host_runner import explain
from gateleg.commands.opening import explaining_bad_settings, print_new_store, require_store, settings_from
from gateleg.commands.options import AppOption, ConfigOption, JsonOption, ObjectsOption, PrefixOption, StoreOption
from gateleg.commands.printing import FAILED, MISUSED, fail, print_json

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from gateleg.host import Application
    from gateleg.host.actions import Action, ActionCall
    from gateleg.host.principal import Principal
    from gateleg.host.settings import Settings
    from gateleg.jobs import Jobs

#: Options with other names than their fields, and shorter ones beside them.
_FLAGS = {
    "job_type": ("--type",),
    "queue": ("--queue", "-q"),
    "limit": ("--limit", "-n"),
    "items": ("--key",),
    "places": ("--place",),
    "application": ("--application", "-a"),
    "groups": ("--group", "-g"),
    "job_ids": (),
    "key_ids": (),
}
_SETTINGS = {
    "store": StoreOption,
    "prefix": PrefixOption,
    "objects": ObjectsOption,
    "app": AppOption,
    "config": ConfigOption,
    "json": JsonOption,
}
_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")


def add_actions(app: typer.Typer, actions: "Iterable[Action[Any, Any]]", group: str, application: "Application | None" = None) -> None:
    """Add the commands of the actions whose command begins with the words of a group: `jobs`; or those of an application."""
    commands: dict[str, list[Action[Any, Any]]] = {}
    for action in actions:
        words, _, name = action.command.rpartition(" ")
        if words == group and not action.hand_made:
            commands.setdefault(name, []).append(action)
    for name, sharing in commands.items():
        app.command(name=name, help=_help(sharing))(_command(sharing, application))


def _help(sharing: "Sequence[Action[Any, Any]]") -> str:
    others = [(f"With --{action.flag}" if action.flag else "Without the argument", action.help) for action in sharing[1:]]
    asked = [_words(name, info) for name, info in sharing[0].input.model_fields.items() if _is_secret(info)]
    reading = [f"{words} is read from standard input, or prompted for." for words in asked]
    return "\n\n".join([sharing[0].help, *reading, *(f"{when}: {help}" for when, help in others)])


def _label(name: str) -> str:
    return name.removesuffix("_id").upper()


def arguments_of(action: "Action[Any, Any]") -> list[str]:
    """The fields of an action's input that its command takes as arguments."""
    named = _PARAMETER.findall(action.http) if action.arguments is None else action.arguments
    return [*named, *([action.raw_body] if action.raw_body else [])]


def commands_of(application: "Application") -> typer.Typer:
    """The commands of the actions that an application declares: `gateleg {name} ...`."""
    from gateleg.host.actions.declared import declared_actions
    from gateleg.host.application import BadApplication
    from gateleg.host.host import settings_only_resources
    from gateleg.host.settings import Settings

    app = typer.Typer(help=application.about or None, add_completion=False, no_args_is_help=True)
    # A function of resources gets only settings here: it says what may be done, and the host's own actions do it.
    try:
        actions = declared_actions(application, settings_only_resources(application, Settings()))
    except BadApplication as error:
        fail(str(error), MISUSED)
    add_actions(app, actions, application.name, application)
    return app


def _command(sharing: "Sequence[Action[Any, Any]]", application: "Application | None") -> Callable[..., None]:
    arguments = arguments_of(sharing[0])
    bulk = next((action for action in sharing if action.choices and set(arguments_of(action)) < set(arguments)), None)
    optional = set() if bulk is None else set(arguments) - set(arguments_of(bulk))
    fields = {
        name: info
        for action in sharing
        for name, info in action.input.model_fields.items()
        if _FLAGS.get(name) != () and not _is_secret(info)
    }
    needed = set.intersection(*({name for name, info in action.input.model_fields.items() if info.is_required()} for action in sharing))
    parameters = [_argument(name, fields[name], optional=name in optional) for name in arguments]
    parameters += [_option(name, info, required=name in needed) for name, info in fields.items() if name not in arguments]
    parameters += [_switch(action) for action in sharing if action.flag]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False if name == "json" else None, annotation=annotation)
        for name, annotation in _SETTINGS.items()
        if name != "app" or application is None
    ]

    def command(**values: Any) -> None:
        from gateleg.cli.jobs.queue_connection import load_jobs

        own = {name: values.pop(name, None) for name in _SETTINGS}
        flagged = [action for action in sharing if action.flag and values.pop(f"flag_{action.flag}")]
        sent = {name: value for name, value in values.items() if value not in (None, [], False)}
        action = flagged[0] if flagged else sharing[0] if all(name in sent for name in arguments) else (bulk or sharing[0])
        if action is bulk and not any(name in sent for name in bulk.choices):
            missing = " ".join(_label(name) for name in arguments if name in optional)
            fail(f"pass {missing}, or choose with options: {', '.join(map(_flag, bulk.choices))}", MISUSED)
        unfit = [name for name in sent if name not in action.input.model_fields]
        if unfit:
            fail(f"{_flag(unfit[0])} does not go with {'an argument' if action is sharing[0] else 'this'}", MISUSED)
        settings = settings_from(own["config"], store=own["store"], prefix=own["prefix"], objects=own["objects"])
        sent |= {name: _asked(_words(name, info)) for name, info in action.input.model_fields.items() if _is_secret(info)}
        jobs = load_jobs(settings, own["app"]) if action.submits and application is None else None
        result, words = perform_by_command(action, settings, sent, app=own["app"], jobs=jobs, application=application)
        if own["json"]:
            print_json(action.reply(result).model_dump(mode="json"))
        else:
            typer.echo(words)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _asked(prompt: str) -> str:
    """Hidden input, or all of standard input. Not an option, which would stay in the shell's history."""
    return typer.prompt(prompt, hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\r\n")


def perform_by_command(
    action: "Action[Any, Any]",
    settings: "Settings",
    given: Any,
    *,
    app: str | None = None,
    jobs: "Jobs | None" = None,
    application: "Application | None" = None,
) -> tuple[Any, str]:
    """Perform an action as the user of the command line, who is an admin. Errors end the command.

    Returns its result, and what to print: what is shown only once, so that scripts can use it, or the result in words. `given` is the
    action's input, or its fields as they were typed. An action of an `application` runs on a host with that application.
    """
    from gateleg.cli.jobs.queue_connection import fail_without_queue
    from gateleg.errors import GatelegError
    from gateleg.store import TableMissing

    try:
        if application is None:
            opening = acting(
                settings,
                app,
                jobs,
                creates_store=action.creates_store,
                needs_secret=action.needs_secret,
                signs_links=action.signs_links,
                with_tables="table" in action.input.model_fields,
            )
        else:
            opening = _acting_in(application, settings, creates_store=action.creates_store)
        return asyncio.run(_perform(action, opening, given))
    except GatelegError as error:
        if isinstance(error, TableMissing) and action.command.startswith("jobs "):
            fail_without_queue(settings)
        fail(str(error), FAILED)
    except Exception as error:
        explain(error, settings)


async def _perform(action: "Action[Any, Any]", opening: "AbstractAsyncContextManager[ActionCall]", given: Any) -> tuple[Any, str]:
    from gateleg.cli.jobs.queue_connection import find_id_of
    from gateleg.host.actions import perform

    async with opening as call:
        # An application may have declared the action without its resources, which it has now.
        declared = (own for actions in call.host.actions.values() for own in actions)
        action = next((own for own in declared if own.name == action.name), action)
        if isinstance(given, dict):
            if action.raw_body:
                given[action.raw_body] = _chunks(given[action.raw_body])
            if "job_id" in given and action.name.startswith("job."):
                given["job_id"] = await find_id_of(call.host.queue, given["job_id"])
            try:
                given = action.input.model_validate(given)
            except ValidationError as error:
                problem = error.errors()[0]
                place = "".join(f"{_flag(str(part))}: " for part in problem["loc"][:1])
                fail(f"{place}{problem['msg'].removeprefix('Value error, ')}", MISUSED)
        result = await perform(action, call, given)
        once = action.once(result)
        return result, action.done(result) if once is None else once.value


async def _chunks(place: str) -> "AsyncIterator[bytes]":
    """The content of a file, or of standard input."""
    if place != "-" and not Path(place).is_file():
        fail(f"{place} is not a file", MISUSED)
    with nullcontext(sys.stdin.buffer) if place == "-" else Path(place).open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, 1 << 20):
            yield chunk


@asynccontextmanager
async def acting(
    settings: "Settings",
    app: str | None = None,
    jobs: "Jobs | None" = None,
    *,
    creates_store: bool = False,
    needs_secret: bool = False,
    signs_links: bool = False,
    with_tables: bool = False,
) -> "AsyncIterator[ActionCall]":
    """The host of the settings, with the queue tables of its store and the job types `jobs`, and the user of the command line, who is
    an admin.

    The host knows its applications and their tables, `with_tables` also those of the modules in the settings; but it does not start
    them: an action of the kit needs none of what they open. What `needs_secret` seals can be read by the host afterwards. A command that
    `signs_links` to a folder of objects needs the secret by which a host knows them.
    """
    from gateleg.cli.installed import installed_applications, loaded
    from gateleg.cli.tables.declared import load_tables
    from gateleg.host import Application
    from gateleg.host.actions import ActionCall
    from gateleg.host.credentials import Keys
    from gateleg.host.host import Host
    from gateleg.host.queues import further_tables
    from gateleg.host.tables import TABLES
    from gateleg.host.webhooks import webhook_jobs
    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.tables import PLAIN, tables_named

    _find_store(settings, creates_store)
    named = None if app is None else loaded(app, "jobs")
    installed = installed_applications(settings)
    known = (*installed, *([named] if isinstance(named, Application) else []))
    brought = further_tables(known)
    with explaining_bad_settings():
        settings = settings.naming_tables(installed)
    if signs_links and settings.objects.startswith("dir:"):
        settings.load_secret(make=False)
    own = load_tables(settings) if with_tables and settings.tables else ()
    declared = tuple(dict.fromkeys((*own, *(table for application in known for table in application.tables))))
    async with Host.open(settings, prepare=False, further=brought, visiting=not needs_secret) as host:
        await host.store.ensure_tables(*TABLES)
        states = {names: await host.store.table_states(tables_named(names).all[0]) for names in (PLAIN, *brought)}
        present = [names for names, state in states.items() if "MISSING" not in state.values()] or [PLAIN]
        types = webhook_jobs(host.store, host.secrets, host.outgoing) if jobs is None else jobs
        queue = AsyncQueue(host.store, types, host.queue.context.settings, tables=present[0], further=present[1:])
        keys = Keys(host.store, _tenant_check(settings, known))
        opened = replace(host, queue=queue, applications=known, keys=keys, declared=declared)
        yield ActionCall(opened, command_line_principal())


@asynccontextmanager
async def _acting_in(application: "Application", settings: "Settings", *, creates_store: bool) -> "AsyncIterator[ActionCall]":
    """A host with one application, which is started, and the user of the command line."""
    from gateleg.host.actions import ActionCall
    from gateleg.host.host import Host

    _find_store(settings, creates_store)
    async with Host.open(settings, [application]) as host:
        yield ActionCall(host, command_line_principal())


def command_line_principal() -> "Principal":
    """The user of the command line, who is an admin."""
    from gateleg.host import Principal, Role

    return Principal("command line", Role.ADMIN)


def _find_store(settings: "Settings", creates: bool) -> None:
    """End the command if there is no store, or say that it makes one."""
    if creates:
        print_new_store(settings)
    else:
        require_store(settings)


def _tenant_check(settings: "Settings", applications: "Sequence[Application]") -> Callable[[str], None]:
    """The check of a tenant by applications, whose settings are read only if a key has a tenant."""

    def check(tenant: str) -> None:
        from gateleg.host.application import tenant_check
        from gateleg.host.sections import NoSettings

        tenant_check([(one, settings.section(one.name, one.settings or NoSettings)) for one in applications])(tenant)

    return check


def _is_secret(info: Any) -> bool:
    return info.annotation is SecretStr


def _words(name: str, info: Any) -> str:
    return info.title or name.replace("_", " ").capitalize()


def _flag(name: str) -> str:
    return (_FLAGS.get(name) or (f"--{name.replace('_', '-')}",))[0]


def _argument(name: str, info: Any, *, optional: bool) -> inspect.Parameter:
    label = _label(name)
    help = info.description or f"The {label.lower()}{', or the beginning of its id' if name == 'job_id' else ''}."
    option = typer.Argument(metavar=label, help=f"{help}{' Without it, all that the options select.' if optional else ''}")
    default = None if optional else inspect.Parameter.empty
    kind: Any = str | None if optional else str
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _option(name: str, info: Any, *, required: bool) -> inspect.Parameter:
    """The parameter from which Typer makes an option. Texts are validated by the input's model."""
    kind = _plain_kind(info.annotation)
    flags = _FLAGS.get(name) or (f"--{name.replace('_', '-')}",)
    option = typer.Option(*flags, help=info.description or f"{name.replace('_', ' ').capitalize()}.")
    default: Any = inspect.Parameter.empty if required else (False if kind is bool else None)
    annotation = Annotated[kind, option] if required or kind is bool else Annotated[kind | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain_kind(annotation: Any) -> Any:
    """The type that Typer parses an option as: numbers and switches, lists of texts, and texts."""
    if get_origin(annotation) is Annotated:
        return _plain_kind(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return _plain_kind(next(part for part in get_args(annotation) if part is not NoneType))
    if get_origin(annotation) in (list, set, frozenset, tuple):
        return list[str]
    if isinstance(annotation, type) and issubclass(annotation, bool | int | float) and not issubclass(annotation, Enum):
        return annotation
    return str


def _switch(action: "Action[Any, Any]") -> inspect.Parameter:
    option = typer.Option(f"--{action.flag}", help=action.help)
    return inspect.Parameter(f"flag_{action.flag}", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
