"""Limits on request bodies, counted while they arrive, whatever the headers say."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from gateleg.web.envelope import answer
from gateleg.web.errors import BadRequest, TooLargeBody
from gateleg.web.gate import DYNAMODB_PATHS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.web.settings import Settings

#: A batch of 16 MB is the largest request that DynamoDB takes.
DYNAMODB_LIMIT = 16 * 1024 * 1024


def limit_of(path: str, settings: Settings) -> int:
    """The bytes that a request to a path may have. Objects, what a page of the console uploads, and what is sent to an application's
    `.../files` may be large."""
    if settings.dynamodb and path in DYNAMODB_PATHS:
        return DYNAMODB_LIMIT
    large = path.startswith(("/objects/", "/_nicegui/client/")) or (path.startswith("/api/") and path.endswith("/files"))
    return settings.upload_limit if large else settings.body_limit


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
        limit = limit_of(scope["path"], self._settings)
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
