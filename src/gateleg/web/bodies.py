"""Limits on request bodies, counted while they arrive, whatever the headers say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.datastructures import Headers

from gateleg.web.envelope import answer
from gateleg.web.errors import BadRequest, TooLargeBody
from gateleg.web.gate import DYNAMODB_PATHS

if TYPE_CHECKING:
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

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length")
        if announced is not None and not (announced.isascii() and announced.isdigit()):
            await answer(BadRequest("The Content-Length is not a number."))(scope, receive, send)
            return
        await self._counted(scope, receive, send, int((announced or "0")[:18]))

    async def _counted(self, scope: Scope, receive: Receive, send: Send, announced: int) -> None:
        received, started = 0, False
        refused: TooLargeBody | None = None

        async def counted() -> Message:
            nonlocal received, refused
            # The route is known by the time that something reads the body.
            limit = self._limit_of(scope)
            if announced <= limit:
                message = await receive()
                received += len(message.get("body", b""))
            if max(announced, received) > limit:
                refused = _too_large(limit)
                raise refused
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if refused is not None and not started:
                # Whoever read the body takes it for a broken one, and answers so.
                return
            started = True
            await send(message)

        with contextlib.suppress(TooLargeBody):
            await self.app(scope, counted, noted)
        if refused is not None and not started:
            await answer(refused)(scope, receive, send)

    def _limit_of(self, scope: Scope) -> int:
        """What the route of a request declares, or what its path has."""
        limit: Limit | None = getattr(scope.get("endpoint"), _DECLARED, None)
        if limit is None:
            return limit_of(scope["path"], self._settings)
        return limit(self._settings) if callable(limit) else limit


def _too_large(limit: int) -> TooLargeBody:
    return TooLargeBody(f"The body may have {limit:,} bytes.", details={"limit": limit})
