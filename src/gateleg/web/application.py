"""`Application`: the tables, jobs, routes and pages that an application adds to a host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from gateleg.web.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from datetime import datetime

    from fastapi import APIRouter

    from gateleg.jobs import AsyncQueue, DeclaredSchedule, Jobs
    from gateleg.model import Table
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


class Resources(Protocol):
    """What the routes, pages, handlers and demo of an application can use. A `Host` provides it."""

    @property
    def store(self) -> AsyncStore:
        """The store of all tables."""
        ...

    @property
    def objects(self) -> AsyncObjects:
        """The store of all objects."""
        ...

    @property
    def queue(self) -> AsyncQueue:
        """The job queue with the handlers of all installed applications."""
        ...


@dataclass(frozen=True)
class Made:
    """A result of an application for the overview: a map, a film, a conversation, a collection."""

    title: str
    href: str
    about: str = ""
    #: the address of a picture
    picture: str | None = None
    at: datetime | None = None


#: What the kit itself has under `/api`, or in the console.
RESERVED = frozenset(
    {"api", "audit", "docs", "events", "health", "jobs", "keys", "metrics", "objects", "openapi.json", "ready", "session", "settings"}
    | {"signin", "signout", "tables", "graphql", "dynamodb"}
)
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


class BadApplication(Refusal):
    """An application that cannot be served beside the others."""

    code = "bad-application"
    fix = "Names are lower-case letters, digits and hyphens; each application has one of its own, and none of the kit's."


@dataclass(frozen=True)
class Application:
    """One application: its tables, job types, routes, pages and demonstration."""

    #: its name in addresses: `/api/{name}/...` and `/{name}` in the console
    name: str
    #: its name in the navigation, in the words of its users
    title: str
    #: a Material icon for the navigation
    icon: str
    #: one sentence that describes it
    about: str = ""
    tables: tuple[Table, ...] = ()
    #: its job types and handlers; or a function that creates them, for handlers that use the store and the objects
    jobs: Jobs | Callable[[Resources], Jobs] | None = None
    #: schedules beside those that its `jobs` declare with `@jobs.every(...)`; the host writes them when it starts
    schedules: tuple[DeclaredSchedule, ...] = ()
    #: makes its HTTP routes, which the host serves under `/api/{name}`
    routes: Callable[[Resources], APIRouter] | None = None
    #: registers its console pages under `/{name}`
    pages: Callable[[Resources], None] | None = None
    #: its latest results, newest first; the overview shows some of them
    made: Callable[[Resources], Awaitable[Sequence[Made]]] | None = None
    #: loads demo data; called at every start with `--demo`, so it must be idempotent
    demo: Callable[[Resources], Awaitable[None]] | None = None


def checked(applications: Iterable[Application]) -> tuple[Application, ...]:
    """The applications, if they can be served together."""
    found = tuple(applications)
    seen: set[str] = set()
    for application in found:
        if not _NAME.fullmatch(application.name) or application.name in RESERVED or application.name in seen:
            raise BadApplication(f"There cannot be an application {application.name!r} here.")
        seen.add(application.name)
    return found
