"""What an application adds to a host beside tables, jobs, routes and pages: surfaces, streams, tiles, search results, tools, checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from datetime import datetime

    from pydantic import BaseModel
    from starlette.types import ASGIApp

    from gateleg.web.principal import Principal


@dataclass(frozen=True)
class Surface:
    """An ASGI application at a path of its own, outside of `/api/{name}`: GraphQL, an MCP endpoint.

    The host has recognised the caller before it is called (`scope["state"]["principal"]`), and checked origin, rate, role and body size.
    It sees the rest of the path, with `path` as its `root_path`. Its lifespan runs with the host.
    """

    #: where it is served, with everything below: `/graphql`
    path: str
    app: ASGIApp
    #: the least role that may call it
    role: Role = Role.MEMBER
    #: bytes that the body of a request may have; `body_limit` of the settings when left out
    body_limit: int | None = None
    #: whether its own path is a page, too: browsers that are not signed in are sent to the sign-in page, programs get 401
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
    """Somebody who opens an event stream."""

    principal: Principal
    #: the parts of the path, as its template names them
    params: Mapping[str, str]
    #: the query of the request
    query: Mapping[str, str]
    #: the id of the last event that the client has received; None at first. What came after it is to be sent again
    last_event_id: str | None = None


@dataclass(frozen=True)
class EventRoute:
    """An event stream at `/events/{name}{path}`.

    `follow` is awaited when somebody connects: it raises a `Refusal` for a listener who may not follow, and returns the events from
    `last_event_id` on. The stream ends with them, and when the listener's key or session ends.
    """

    #: below `/events/{name}`, with parameters in braces: `/films/{film_id}`
    path: str
    follow: Callable[[Listener], Awaitable[AsyncIterator[Event]]]
    #: the least role that may listen
    role: Role = Role.MEMBER
    #: one sentence for the document of the API
    about: str = ""


@dataclass(frozen=True)
class Tile:
    """A result of an application for the overview: a map, a film, a conversation, a collection."""

    title: str
    href: str
    about: str = ""
    #: the address of a picture
    picture: str | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Found:
    """Something that a search has found, and the page that shows it."""

    title: str
    href: str
    #: what it is, in one or two words: "Film"
    kind: str
    about: str = ""
    #: a Material icon; that of the application when left out
    icon: str | None = None


@dataclass(frozen=True)
class AgentTool:
    """Something that an agent may do on behalf of somebody. `call` decides for each principal, as a route does."""

    #: unique within its application; agents see `{application}.{name}`
    name: str
    #: what it does and when to use it, for the model that chooses
    description: str
    #: what it takes; the model is given its JSON schema
    input: type[BaseModel]
    #: the answer is JSON, or a pydantic model
    call: Callable[[Principal, Any], Awaitable[Any]]
    #: the least role that may use it
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
        """Call it with the arguments that a model gave. Raises pydantic's `ValidationError` for what does not fit its schema."""
        return await self.tool.call(principal, self.tool.input.model_validate(arguments))


@dataclass(frozen=True)
class CheckResult:
    """What a check of `gateleg doctor` has found."""

    status: Literal["ok", "warning", "failed"]
    message: str
    #: what to do, unless all is well
    fix: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A check of `gateleg doctor`: whether something that the application needs is there and works. An error is a failure."""

    name: str
    run: Callable[[], Awaitable[CheckResult]]
