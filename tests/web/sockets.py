"""Websockets without a server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any


class Socket:
    """A websocket as a server hands it to an application."""

    def __init__(self, app: Any, path: str, **headers: str) -> None:
        self.sent: list[dict[str, Any]] = []
        self._received: list[dict[str, Any]] = [{"type": "websocket.connect"}]
        self.scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "ws",
            "client": ("127.0.0.1", 5),
            "headers": [(b"host", b"127.0.0.1:8000"), *((name.encode(), value.encode()) for name, value in headers.items())],
        }
        self.app = app

    async def run(self, *texts: str, between: Any = None) -> list[dict[str, Any]]:
        self._received += [{"type": "websocket.receive", "text": text} for text in texts]
        self._received.append({"type": "websocket.disconnect", "code": 1000})

        async def receive() -> dict[str, Any]:
            message = self._received.pop(0)
            if message.get("text") == "revoke" and between is not None:
                await between()
            return message

        async def send(message: Any) -> None:
            self.sent.append(dict(message))

        await self.app(self.scope, receive, send)
        return self.sent


class OpenSocket:
    """A websocket that stays open: messages are said and received one by one."""

    def __init__(self, running: Callable[[Any, Any], Any]) -> None:
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._incoming.put_nowait({"type": "websocket.connect"})
        self._running = asyncio.ensure_future(running(self._incoming.get, self._outgoing.put))

    def say(self, text: str) -> None:
        """Send a text."""
        self._incoming.put_nowait({"type": "websocket.receive", "text": text})

    async def receive(self) -> dict[str, Any]:
        """The next message of the host."""
        return await asyncio.wait_for(self._outgoing.get(), 30)

    async def ended(self) -> None:
        """Wait until the host is done with the websocket."""
        await asyncio.wait_for(asyncio.shield(self._running), 30)

    async def leave(self) -> None:
        """Disconnect."""
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await self.ended()


@asynccontextmanager
async def open_socket(app: Any, path: str, *, subprotocols: Sequence[str] = (), **headers: str) -> AsyncIterator[OpenSocket]:
    """A websocket for the length of the block."""
    scope = Socket(app, path, **headers).scope | {"subprotocols": list(subprotocols)}
    socket = OpenSocket(lambda receive, send: app(scope, receive, send))
    try:
        yield socket
    finally:
        await socket.leave()
