"""Further parts of an application: surfaces, event streams, tiles, search results, agent tools and checks."""

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
class Found:
    """A search result and the page that shows it."""

    title: str
    href: str
    #: what it is, in one or two words: "Film"
    kind: str
    about: str = ""
    #: a Material icon; by default the application's
    icon: str | None = None


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
