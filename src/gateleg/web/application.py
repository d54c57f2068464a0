"""`Application`: everything that an application adds to a host, in one object."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.web.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from fastapi import APIRouter
    from pydantic import BaseModel

    from gateleg.jobs import Job, Jobs
    from gateleg.jobs.handlers import DeclaredSchedule
    from gateleg.jobs.table_streams import TableStreams
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.model import Table
    from gateleg.web.contributions import AgentTool, Check, EventRoute, Found, Surface, Tile
    from gateleg.web.principal import Principal
    from gateleg.web.resources import Resources


#: Names that the kit uses under `/api`, in the console or on the command line. The names of its settings are reserved too.
RESERVED = frozenset(
    {"api", "audit", "docs", "events", "health", "jobs", "keys", "metrics", "objects", "openapi.json", "ready", "search", "session"}
    | {"settings", "signin", "signout", "tables", "graphql", "dynamodb", "mcp", "apps", "models", "secrets", "uploads", "webhooks"}
    | {"up", "migrate", "migrations", "streams", "serve", "engine", "worker", "token", "config", "doctor", "new", "tenant"}
)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class BadApplication(Refusal):
    """An application cannot be served beside the others."""

    code = "bad-application"
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
    #: the package whose modules `m0001_...` hold its numbered migrations (`gateleg.migrate.Migration`)
    migrations: str | None = None
    #: its section of the settings: `[name]` in `gateleg.toml`, and `GATELEG_NAME__FIELD`
    settings: type[BaseModel] | None = None
    #: its job types and handlers; or a function that creates them, for handlers that use the store and the objects
    jobs: Jobs | Callable[[Resources[Any]], Jobs] | None = None
    #: schedules beside those that its `jobs` declare with `@jobs.every(...)`; the host writes them when it starts
    schedules: tuple[DeclaredSchedule, ...] = ()
    #: its handlers for changes of its entities, by the streams of their tables; or a function that creates them. Workers call them.
    table_streams: TableStreams | Callable[[Resources[Any]], TableStreams] | None = None
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
    search: Callable[[Resources[Any], Principal, str], Awaitable[Sequence[Found]]] | None = None
    #: what agents may do with it
    tools: Callable[[Resources[Any]], Sequence[AgentTool]] | None = None
    #: its checks in `gateleg doctor`
    checks: Callable[[Resources[Any]], Sequence[Check]] | None = None
    #: whether a member may see a job of the application's types; without it, members see the jobs that they submitted
    sees_job: Callable[[Resources[Any], Principal, Job | ArchivedJob], Awaitable[bool]] | None = None
    #: whether a member who sees a job may cancel and retry it; without it, members may do so with jobs that they submitted
    changes_job: Callable[[Resources[Any], Principal, Job | ArchivedJob], Awaitable[bool]] | None = None
    #: the thing that a job works on, with its title and page; None if the principal may not see it
    job_subject: Callable[[Resources[Any], Principal, Job | ArchivedJob], Awaitable[Found | None]] | None = None
    #: loads demo data; called at every start with `--demo`, so it must be idempotent
    demo: Callable[[Resources[Any]], Awaitable[None]] | None = None


def check_applications(applications: Iterable[Application]) -> tuple[Application, ...]:
    """Return the applications as a tuple. Raises `BadApplication` for a name that is invalid, reserved or used twice."""
    # Imported here, so that declaring an application imports neither the store nor the settings.
    from gateleg.web.settings import Settings

    found = tuple(applications)
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
    return found
