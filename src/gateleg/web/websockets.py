"""Websockets: they end with the credentials of their caller, and GraphQL clients may send those in their first message.

Browsers cannot add headers to a websocket. A page of this host has its session's cookie; a page of another origin sends a key or token as
`Authorization` in the payload of `connection_init`, the first message of graphql-transport-ws and of the older graphql-ws.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["FirstMessage", "run_websocket"]

#: Subprotocols whose first message is `connection_init`.
INIT_PROTOCOLS = ("graphql-transport-ws", "graphql-ws")
#: Seconds for the first message of somebody who is not known yet, and its size.
INIT_SECONDS = 10.0
_MAX_FIRST = 65_536
#: Seconds between two looks at whether the caller may still use a websocket on which nothing is sent.
RECHECK_SECONDS = 10.0
#: The extension of the host's own server that limits the size of messages.
MESSAGE_LIMIT = "gateleg.message_limit"
NOT_SIGNED_IN, NOT_ALLOWED = 4401, 4403


async def run_websocket(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, is_still_authenticated: Callable[[], Awaitable[bool]]
) -> None:
    """Run a websocket, and close it when the caller's key is revoked or their session ends: before the next message, or soon."""
    over = asyncio.Event()
    closed = False
    receiving: asyncio.Task[Message] | None = None

    async def may_go_on() -> bool:
        nonlocal closed
        if not closed and not await is_still_authenticated() and not closed:
            closed = True
            over.set()
            await send({"type": "websocket.close", "code": NOT_SIGNED_IN, "reason": "signed out"})
        return not closed

    async def watch() -> None:
        while not closed:
            await asyncio.sleep(RECHECK_SECONDS)
            await may_go_on()

    async def checked_receive() -> Message:
        nonlocal receiving
        # An application that stops waiting, because of a timeout of its own, loses no message: the next call gets it.
        if receiving is None:
            receiving = asyncio.create_task(_awaited(receive))
        ending = asyncio.create_task(over.wait())
        waited: set[asyncio.Task[Any]] = {receiving, ending}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
        if not receiving.done():
            return {"type": "websocket.disconnect", "code": NOT_SIGNED_IN}
        message, receiving = receiving.result(), None
        if message["type"] == "websocket.receive" and not await may_go_on():
            return {"type": "websocket.disconnect", "code": NOT_SIGNED_IN}
        return message

    async def checked_send(message: Message) -> None:
        nonlocal closed
        if message["type"] == "websocket.send" and not await may_go_on():
            return
        if not closed:
            closed = message["type"] == "websocket.close"
            await send(message)

    watching = asyncio.create_task(watch())
    try:
        await app(scope, checked_receive, checked_send)
    finally:
        tasks: list[asyncio.Task[Any]] = [watching, *([] if receiving is None else [receiving])]
        for task in tasks:
            task.cancel()
        # What fails now fails because the connection is over.
        await asyncio.gather(*tasks, return_exceptions=True)


async def _awaited(receive: Receive) -> Message:
    """A message. A task needs a coroutine, and servers may return any other awaitable."""
    return await receive()


class FirstMessage:
    """The beginning of a GraphQL client's websocket: it is accepted, and its first message read, before its caller is known."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._protocol = init_protocol(scope.get("subprotocols", ()))
        self._replayed: list[Message] = []
        self._limit_messages: Callable[[int | None], None] = scope.get("extensions", {}).get(MESSAGE_LIMIT, lambda size: None)

    async def credentials(self) -> tuple[bool, str | None]:
        """Whether the client has begun as its protocol says, and the `Authorization` that it sent."""
        self._replayed = [await self._receive()]
        self._limit_messages(_MAX_FIRST)
        await self._send({"type": "websocket.accept", "subprotocol": self._protocol})
        try:
            async with asyncio.timeout(INIT_SECONDS):
                message = await self._receive()
        except TimeoutError:
            return False, None
        if message["type"] != "websocket.receive":
            return False, None
        first = _init_of(message.get("text"))
        if first is None:
            return False, None
        payload = first.get("payload")
        authorization = None
        if isinstance(payload, dict):
            authorization = next((value for name, value in payload.items() if name.lower() == "authorization"), None)
            kept = {name: value for name, value in payload.items() if name.lower() != "authorization"}
            # The application needs no credentials, and what it does not have it cannot log.
            message = {**message, "text": json.dumps({**first, "payload": kept})}
        self._replayed.append(message)
        return True, authorization if isinstance(authorization, str) else None if authorization is None else ""

    def accept(self) -> None:
        """Let somebody who is known now send messages of the usual size."""
        self._limit_messages(None)

    async def close(self, code: int, reason: str) -> None:
        """Close the websocket."""
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def receive(self) -> Message:
        """What the application receives: the beginning once more, and all that follows."""
        return self._replayed.pop(0) if self._replayed else await self._receive()

    async def send(self, message: Message) -> None:
        """What the application sends. The websocket is accepted already."""
        if message["type"] != "websocket.accept":
            await self._send(message)


def init_protocol(offered: Iterable[str]) -> str | None:
    """The first subprotocol that a client offers and that begins with `connection_init`."""
    return next((protocol for protocol in offered if protocol in INIT_PROTOCOLS), None)


def _init_of(text: object) -> dict[str, Any] | None:
    """The first message, if it is `connection_init`."""
    if not isinstance(text, str) or len(text) > _MAX_FIRST:
        return None
    try:
        first = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return first if isinstance(first, dict) and first.get("type") == "connection_init" else None
