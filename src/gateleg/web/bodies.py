"""Limits on request bodies, counted while they arrive, whatever the headers say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.datastructures import Headers
from starlette.routing import Match

from gateleg.web.envelope import answer
from gateleg.web.errors import BadRequest, TooLargeBody
from gateleg.web.gate import DYNAMODB_PATHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.web.settings import Settings

#: A batch of 16 MB is the largest request that DynamoDB takes.
DYNAMODB_LIMIT = 16 * 1024 * 1024


Limit = int | Callable[["Settings"], int]
R = TypeVar("R", bound=Callable[..., Any])
_DECLARED = "__body_limit__"


def body_limit(limit: Limit) -> Callable[[R], R]:
    """Declare the bytes that the body of a request to a route may have, in place of the setting `body_limit`. It stands below the route:

    @router.post("/songs")
    @body_limit(lambda settings: settings.upload_limit)
    async def upload_song(...)
    """

    def declare(endpoint: R) -> R:
        setattr(endpoint, _DECLARED, limit)
        return endpoint

    return declare


def limit_of(path: str, settings: Settings) -> int:
    """The bytes that a request to a path may have whose route declares none. Objects, and what a page of the console uploads, may be
    large."""
    if settings.dynamodb and path in DYNAMODB_PATHS:
        return DYNAMODB_LIMIT
    return settings.upload_limit if path.startswith(("/objects/", "/_nicegui/client/")) else settings.body_limit


class BodyLimit:
    """Ends requests that send more than they may."""

    def __init__(self, app: ASGIApp, settings: Settings, routes: Sequence[BaseRoute] = ()) -> None:
        self.app = app
        self._settings = settings
        self._routes = routes
        self._declared: list[tuple[BaseRoute, Limit]] | None = None

    def _limit_of(self, scope: Scope) -> int:
        """What the route of a request declares, or what its path has."""
        if self._declared is None:
            found = ((route, getattr(getattr(route, "endpoint", None), _DECLARED, None)) for route in self._routes)
            self._declared = [(route, limit) for route, limit in found if limit is not None]
        for route, limit in self._declared:
            if route.matches(scope)[0] is Match.FULL:
                return limit(self._settings) if callable(limit) else limit
        return limit_of(scope["path"], self._settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._limit_of(scope)
        announced = Headers(scope=scope).get("content-length")
        if announced is not None and not (announced.isascii() and announced.isdigit()):
            await answer(BadRequest("The Content-Length is not a number."))(scope, receive, send)
            return
        if announced is not None and int(announced[:18]) > limit:
            await answer(_too_large(limit))(scope, receive, send)
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
                # Whoever read the body takes it for a broken one, and answers so.
                return
            started = True
            await send(message)

        with contextlib.suppress(TooLargeBody):
            await self.app(scope, counted, noted)
        if received > limit and not started:
            await answer(_too_large(limit))(scope, receive, send)


def _too_large(limit: int) -> TooLargeBody:
    return TooLargeBody(f"The body may have {limit:,} bytes.", details={"limit": limit})
