"""Limits on request bodies, counted as they arrive. A route declares its own limit with `body_limit`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gateleg.extras import explained

try:
    from starlette.datastructures import Headers
except ModuleNotFoundError as error:
    raise explained(error) from error
from starlette.routing import compile_path

from gateleg.web.envelope import error_response
from gateleg.web.errors import BadRequest, TooLargeBody

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.web.settings import Settings

__all__ = ["body_limit"]

#: Bytes, or `upload` for the setting `upload_limit`.
Limit = int | Literal["upload"]
E = TypeVar("E", bound=Callable[..., Any])
_ATTRIBUTE = "gateleg_body_limit"
#: The path of uploads of console pages.
_CONSOLE_UPLOADS = "/_nicegui/client/"


def body_limit(limit: Limit) -> Callable[[E], E]:
    """Set the maximum body size of a route in bytes; `"upload"` stands for the setting `upload_limit`.

    Put it below the decorator of the route. By default, the setting `body_limit` applies.
    """

    def mark(endpoint: E) -> E:
        setattr(endpoint, _ATTRIBUTE, limit)
        return endpoint

    return mark


@dataclass(frozen=True)
class DeclaredLimit:
    """The limit of one route or surface."""

    pattern: re.Pattern[str]
    #: None for all methods
    methods: frozenset[str] | None
    limit: Limit


def declared_limits(routes: Iterable[Any]) -> list[DeclaredLimit]:
    """The limits that routes declare."""
    found = []
    for route in routes:
        limit = getattr(getattr(route, "endpoint", None), _ATTRIBUTE, None)
        if limit is not None:
            found.append(DeclaredLimit(compile_path(route.path)[0], frozenset(route.methods or ()) or None, limit))
    return found


def limit_of(method: str, path: str, settings: Settings, declared: Iterable[DeclaredLimit] = ()) -> int:
    """The maximum body size of a request."""
    if path.startswith(_CONSOLE_UPLOADS):
        return settings.upload_limit
    for one in declared:
        if (one.methods is None or method in one.methods) and one.pattern.match(path):
            return settings.upload_limit if one.limit == "upload" else one.limit
    return settings.body_limit


class BodyLimit:
    """Middleware that refuses bodies over their limit."""

    def __init__(self, app: ASGIApp, settings: Settings, declared: Iterable[DeclaredLimit]) -> None:
        self.app = app
        self._settings = settings
        self._declared = declared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with a limit on its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = limit_of(scope["method"], scope["path"], self._settings, self._declared)
        announced = Headers(scope=scope).get("content-length")
        if announced is not None and not (announced.isascii() and announced.isdigit()):
            await error_response(BadRequest("The Content-Length is not a number."))(scope, receive, send)
            return
        if announced is not None and int(announced[:18]) > limit:
            await error_response(_too_large(limit))(scope, receive, send)
            return
        await self._counted(scope, receive, send, limit)

    async def _counted(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        received, started = 0, False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _too_large(limit)
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if received > limit and not started:
                # The reader of the body takes it for an incomplete one, and responds accordingly.
                return
            started = True
            await send(message)

        with contextlib.suppress(TooLargeBody):
            await self.app(scope, counted, noted)
        if received > limit and not started:
            await error_response(_too_large(limit))(scope, receive, send)


def _too_large(limit: int) -> TooLargeBody:
    return TooLargeBody(f"The body is larger than the limit of {limit:,} bytes.", details={"limit": limit})
