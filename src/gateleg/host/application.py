"""`Application`: everything that an application adds to a host, in one object.

Further parts of an application: surfaces, event streams, tiles, search results, agent tools and checks.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast

from gateleg.errors import GatelegError
from gateleg.host.errors import BadKey, Refusal
from gateleg.host.principal import Role

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from fastapi import APIRouter
    from pydantic import BaseModel
    from starlette.types import ASGIApp

    from gateleg.host.actions import Action
    from gateleg.host.principal import Principal
    from gateleg.host.resources import Resources
    from gateleg.jobs import Job, Jobs
    from gateleg.jobs.handlers import DeclaredSchedule
    from gateleg.jobs.table_streams import TableStreams
    from gateleg.jobs.tables import ArchivedJob, TableNames
    from gateleg.model import Table

__all__ = ["RESERVED", "Application", "BadApplication", "Event", "EventRoute", "Listener", "Surface", "Tile", "check_made"]


#: Names that the kit uses under `/api`, in the console or on the command line. The names of its settings are reserved too.
RESERVED = frozenset(
    {"api", "audit", "docs", "events", "health", "jobs", "keys", "metrics", "objects", "openapi.json", "ready", "search", "session"}
    | {"settings", "signin", "signout", "tables", "graphql", "dynamodb", "mcp", "apps", "models", "secrets", "uploads", "webhooks"}
    | {"up", "migrate", "migrations", "streams", "serve", "engine", "worker", "token", "config", "doctor", "new", "tenant"}
    | {"oidc", "sessions"}
)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class BadApplication(Refusal):
    """An application cannot be served beside the others."""

    fix = "Choose another name: up to 40 lower-case letters, digits and hyphens, with a letter first; not that of another application."


@dataclass(frozen=True)
class Application:
    """One application: everything that a host serves, shows and runs for it. Only `name`, `title` and `icon` are required.

    Its functions should import what they need when they are called, so that declaring an application stays fast.
    """

    #: its name in addresses (`/api/{name}/...`, `/{name}` in the console), on the command line and in the settings
    name: str
    #: its name in the navigation
    title: str
    #: a Material icon for the navigation
    icon: str
    #: one sentence that describes it
    about: str = ""
    #: its tables, which the host creates where they do not exist
    tables: tuple[Table, ...] = ()
    #: environment variables that each give one of its tables its full name: `{"SONGS_TABLE": songs}`; the setting `table_names` wins
    table_variables: Mapping[str, Table] = field(default_factory=dict, hash=False)
    #: the package whose modules `m0001_...` hold its numbered migrations (`gateleg.migrate.Migration`)
    migrations: str | None = None
    #: its section of the settings: `[name]` in `gateleg.toml`, and `GATELEG_NAME__FIELD`
    settings: type[BaseModel] | None = None
    #: raises an error for the tenant of a new API key that could never work with it, given its settings
    check_tenant: Callable[[Any, str], None] | None = None
    #: its job types and handlers; or a function that creates them, for handlers that use the store and the objects
    jobs: Jobs | Callable[[Resources[Any]], Jobs] | None = None
    #: names the tables that it brings for its jobs, instead of the host's; their `queue` is a name such as `ShopJobQueue`. Hosts and
    #: workers with the application read, list and run the jobs of both.
    queue_tables: Callable[[], TableNames] | None = None
    #: schedules beside those that its `jobs` declare with `@jobs.every(...)`; the host writes them when it starts
    schedules: tuple[DeclaredSchedule, ...] = ()
    #: its handlers for changes of its entities, by the streams of their tables; or a function that creates them. Workers call them.
    table_streams: TableStreams | Callable[[Resources[Any]], TableStreams] | None = None
    #: what may be done with it (`gateleg.host.actions.Action`); or a function that declares them. Each is a route under `/api/{name}`, a
    #: command, a tool of agents and an entry of the audit log
    actions: Sequence[Action[Any, Any]] | Callable[[Resources[Any]], Sequence[Action[Any, Any]]] = ()
    #: makes its HTTP routes, which the host serves under `/api/{name}`
    routes: Callable[[Resources[Any]], APIRouter] | None = None
    #: makes its ASGI applications outside of `/api/{name}`: GraphQL, an MCP endpoint
    surfaces: Callable[[Resources[Any]], Sequence[Surface]] | None = None
    #: makes its event streams, which the host serves under `/events/{name}`
    streams: Callable[[Resources[Any]], Sequence[EventRoute]] | None = None
    #: registers its console pages under `/{name}`
    pages: Callable[[Resources[Any]], None] | None = None
    #: its commands, `gateleg {name} ...`, as `module:typer_app`; imported when one of them is called
    commands: str | None = None
    #: runs from before the first request or job to after the last one, in every process of a host
    lifespan: Callable[[Resources[Any]], AbstractAsyncContextManager[Any]] | None = None
    #: its latest results that the principal may see, newest first; the overview shows some of them
    tiles: Callable[[Resources[Any], Principal], Awaitable[Sequence[Tile]]] | None = None
    #: searches it for a text; the results contain only what the principal may see, best first
    search: Callable[[Resources[Any], Principal, str], Awaitable[Sequence[SearchHit]]] | None = None
    #: what agents may do with it
    tools: Callable[[Resources[Any]], Sequence[AgentTool]] | None = None
    #: its checks in `gateleg doctor`
    checks: Callable[[Resources[Any]], Sequence[Check]] | None = None
    #: whether a member may see a job of the application's types; without it, members see the jobs that they submitted
    sees_job: Callable[[Resources[Any], Principal, Job | ArchivedJob], Awaitable[bool]] | None = None
    #: whether a member who sees a job may cancel and retry it; without it, members may do so with jobs that they submitted
    changes_job: Callable[[Resources[Any], Principal, Job | ArchivedJob], Awaitable[bool]] | None = None
    #: the thing that a job works on, with its title and page; None if the principal may not see it
    job_subject: Callable[[Resources[Any], Principal, Job | ArchivedJob], Awaitable[SearchHit | None]] | None = None
    #: loads demo data; called at every start with `--demo`, so it must be idempotent
    demo: Callable[[Resources[Any]], Awaitable[None]] | None = None


def check_applications(applications: Iterable[Application]) -> tuple[Application, ...]:
    """Return the applications as a tuple. Raises `BadApplication` for a bad name, and for a part of the wrong kind."""
    # Imported here, so that declaring an application imports neither the store nor the settings.
    from gateleg.host.settings import Settings

    if not isinstance(applications, Iterable):
        raise BadApplication("A single application was given in place of a list.", fix="Write [application].")
    found = tuple(applications)
    for one in found:
        if not isinstance(one, Application):
            raise BadApplication(f"{_shown(one)} is not an Application.", fix="Give the object itself, not its address or module.")
    reserved, seen = {*RESERVED, *Settings.model_fields}, set[str]()
    for application in found:
        name = application.name
        if not _NAME.fullmatch(name):
            raise BadApplication(f"{name!r} cannot be the name of an application.")
        if name in reserved:
            raise BadApplication(f"The name {name!r} is reserved: Gateleg has a command, an address or a setting of that name.")
        if name in seen:
            raise BadApplication(f"Two applications have the name {name!r}.")
        seen.add(name)
        _check_parts(application)
    return found


def tenant_check(applications: Iterable[tuple[Application, BaseModel]]) -> Callable[[str], None]:
    """The check of a tenant for a new key, by the applications with their settings. It raises `BadKey`."""
    checks = [(application, settings) for application, settings in applications if application.check_tenant is not None]

    def check(tenant: str) -> None:
        for application, settings in checks:
            assert application.check_tenant is not None
            try:
                application.check_tenant(settings, tenant)
            except GatelegError as error:
                problem = f"The tenant {tenant!r} could never use {application.title}: {error.message}"
                raise BadKey(problem, fix="Choose another name of the tenant.") from error

    return check


#: The functions of an application, with the names of their arguments.
_FUNCTIONS = {
    **dict.fromkeys(
        ("jobs", "table_streams", "actions", "routes", "surfaces", "streams", "pages", "lifespan", "tools", "checks", "demo"),
        ("resources",),
    ),
    "check_tenant": ("settings", "tenant"),
    **dict.fromkeys(("tiles",), ("resources", "principal")),
    "search": ("resources", "principal", "text"),
    **dict.fromkeys(("sees_job", "changes_job", "job_subject"), ("resources", "principal", "job")),
    "queue_tables": (),
}


def _check_parts(application: Application) -> None:
    """Raise `BadApplication` for a part of the wrong kind, before it fails where nobody can tell which part it was."""
    from pydantic import BaseModel

    _check_all(application, "tables", lambda: import_module("gateleg.model.tables").Table)
    _check_variables(application)
    _check_all(application, "schedules", lambda: import_module("gateleg.jobs.handlers").DeclaredSchedule)
    settings: Any = application.settings
    if settings is not None and not (isinstance(settings, type) and issubclass(settings, BaseModel)):
        raise _bad_part(
            application, f"has settings={_shown(settings)}, which is not a pydantic model.", "Give the class, not an instance of it."
        )
    for name in ("migrations", "commands"):
        if not isinstance(text := getattr(application, name), str | None):
            raise _bad_part(application, f"has {name}={_shown(text)}.", "Give its address as text; it is imported when it is needed.")
    for name, arguments in _FUNCTIONS.items():
        function = getattr(application, name)
        if name == "actions" and isinstance(function, list | tuple):
            continue
        if function is not None and not (name in ("jobs", "table_streams") and isinstance(function, _registries(name))):
            _check_callable(application, name, function, arguments)


def _registries(name: str) -> type:
    """The class that may stand in place of a function. Not imported at the top: declaring an application loads no queue."""
    place, kind = ("gateleg.jobs", "Jobs") if name == "jobs" else ("gateleg.jobs.table_streams", "TableStreams")
    return cast("type", getattr(import_module(place), kind)) if place in sys.modules else type(None)


def _check_all(application: Application, name: str, kind_of: Callable[[], type]) -> None:
    given: Any = getattr(application, name)
    if not isinstance(given, list | tuple):
        raise _bad_part(application, f"has {name}={_shown(given)}, which is not a tuple.", f"Write {name}=(..., ).")
    for one in given:
        if hasattr(one, "__table__"):
            raise _bad_part(application, f"has the entity {one.__name__} among its {name}.", f"Give its table: {one.__name__}.__table__.")
        if not isinstance(one, kind_of()):
            raise _bad_part(application, f"has {_shown(one)} among its {name}.", "The reference of `Application` has their type.")


def _check_variables(application: Application) -> None:
    variables: Any = application.table_variables
    if not isinstance(variables, Mapping):
        raise _bad_part(application, f"has table_variables={_shown(variables)}.", 'Write table_variables={"VARIABLE": table}.')
    for variable, table in variables.items():
        if not isinstance(variable, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable) or variable.startswith("GATELEG_"):
            fix = "Use letters, digits and _, and another beginning than GATELEG_, which is that of settings."
            raise _bad_part(application, f"names a table by the variable {variable!r}.", fix)
        if table not in application.tables:
            raise _bad_part(application, f"names by {variable} something that is not one of its tables.", "Add the table to `tables`.")


def _check_callable(application: Application, name: str, function: Any, arguments: tuple[str, ...]) -> None:
    call = f"{name}({', '.join(arguments)})"
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError) as error:
        raise _bad_part(
            application,
            f"has {name}={_shown(function)}, which cannot be called as {call}: {error}.",
            f"Give a function that takes {', '.join(arguments)}.",
        ) from None


def _shown(given: Any) -> str:
    return repr(given) if isinstance(given, int | str) else str(getattr(given, "__name__", None) or f"{type(given).__name__}(...)")


def _bad_part(application: Application, what: str, fix: str) -> BadApplication:
    return BadApplication(f"The application {application.name} {what}", fix=fix)


def check_made(application: Application, name: str, made: Any, kind: type | tuple[type, ...]) -> Any:
    """What a function of an application has returned. Raises `BadApplication` if it is None, as without a `return`, or of another kind."""
    if isinstance(made, kind):
        return made
    wanted = (kind if isinstance(kind, type) else kind[0]).__name__
    returned = "None" if made is None else f"a {type(made).__name__}"
    fix = "End the function with `return`." if made is None else "Correct what it returns."
    raise _bad_part(application, f"has a function {name} that returned {returned} instead of its {wanted}.", fix)


@dataclass(frozen=True)
class Surface:
    """An ASGI application at a path of its own, outside of `/api/{name}`: GraphQL, an MCP endpoint.

    The host authenticates the caller (`scope["state"]["principal"]`) and checks origin, rate, role and body size before it passes a
    request on. The `root_path` of the surface is `path`. Its lifespan runs with the host.
    """

    #: where it is served, with everything below: `/graphql`
    path: str
    app: ASGIApp
    #: the minimum role of callers
    role: Role = Role.MEMBER
    #: maximum bytes of a request body; by default the setting `body_limit`
    body_limit: int | None = None
    #: whether the first message of a websocket may name the caller: `Authorization` in the payload of GraphQL's `connection_init`
    connection_init: bool = False
    #: whether `path` itself is a page: browsers that are not signed in are redirected to the sign-in page, programs get 401
    page: bool = False


@dataclass(frozen=True)
class Event:
    """One server-sent event. `id` comes back as `Listener.last_event_id` when the client reconnects."""

    name: str
    #: JSON, or a pydantic model
    data: Any
    id: str


@dataclass(frozen=True)
class Listener:
    """A client that opens an event stream."""

    principal: Principal
    #: the path parameters
    params: Mapping[str, str]
    #: the query parameters
    query: Mapping[str, str]
    #: the id of the last event that the client received, to resume after it; None on the first connection
    last_event_id: str | None = None


@dataclass(frozen=True)
class EventRoute:
    """An event stream at `/events/{name}{path}`.

    `follow` is awaited when a client connects: it raises a `Refusal` if the listener has no access, and returns the events after
    `last_event_id`. The stream ends with the iterator, or when the listener's key or session ends.
    """

    #: below `/events/{name}`, with parameters in braces: `/films/{film_id}`
    path: str
    follow: Callable[[Listener], Awaitable[AsyncIterator[Event]]]
    #: the minimum role of listeners
    role: Role = Role.MEMBER
    #: one sentence for the documentation of the API
    about: str = ""


@dataclass(frozen=True)
class Tile:
    """A result of an application for the overview: a map, a film, a conversation, a collection."""

    title: str
    href: str
    about: str = ""
    #: the address of an image
    picture: str | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class SearchHit:
    """Something that a search found, and the page that shows it."""

    title: str
    href: str
    #: what it is, in one or two words: "Film"
    kind: str
    about: str = ""
    #: a Material icon; by default the application's
    icon: str | None = None
    #: the application that found it, which the host fills in; empty for what the host itself found
    application: str = ""
    #: whether the text names exactly this: an id, a whole key, or a unique name. For the host only
    exact: bool = False


#: The older name of `SearchHit`, which applications import.
Found = SearchHit


@dataclass(frozen=True)
class AgentTool:
    """A tool that agents may call on behalf of a principal. `call` checks the principal's permissions, as a route does."""

    #: unique within its application; agents see `{application}.{name}`
    name: str
    #: what it does and when to use it, for the model that chooses
    description: str
    #: its arguments; the model gets their JSON schema
    input: type[BaseModel]
    #: the answer is JSON, or a pydantic model
    call: Callable[[Principal, Any], Awaitable[Any]]
    #: the minimum role of callers
    role: Role = Role.MEMBER

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its input."""
        return self.input.model_json_schema()


@dataclass(frozen=True)
class OfferedTool:
    """A tool of an application, under the name by which models call it."""

    name: str
    application: str
    tool: AgentTool

    async def call(self, principal: Principal, arguments: dict[str, Any]) -> Any:
        """Call the tool with a model's arguments. Raises pydantic's `ValidationError` if they do not match the schema."""
        return await self.tool.call(principal, self.tool.input.model_validate(arguments))


@dataclass(frozen=True)
class CheckResult:
    """The result of a check of `gateleg doctor`."""

    status: Literal["ok", "warning", "failed"]
    message: str
    #: what to do, unless the status is ok
    fix: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A check of `gateleg doctor` for something that the application depends on. If `run` raises, the check has failed."""

    name: str
    run: Callable[[], Awaitable[CheckResult]]
