"""A websocket to an ASGI application that speaks graphql-transport-ws, without a server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


class GraphQLSocket:
    """One end of a websocket."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "websocket.connect"})

    def send(self, kind: str, **members: Any) -> None:
        """Send a message."""
        self.incoming.put_nowait({"type": "websocket.receive", "text": json.dumps({"type": kind, **members})})

    async def receive(self) -> dict[str, Any]:
        """The next message; for a closed connection, its code."""
        message = await asyncio.wait_for(self.outgoing.get(), 30)
        if message["type"] == "websocket.accept":
            return await self.receive()
        found: dict[str, Any] = json.loads(message["text"]) if "text" in message else message
        return found

    async def open(self, **payload: Any) -> dict[str, Any]:
        """Begin, and the answer to it."""
        self.send("connection_init", payload=payload)
        return await self.receive()

    async def run(self, query: str, **variables: Any) -> list[dict[str, Any]]:
        """All messages that an operation is answered with, up to its end."""
        self.send("subscribe", id="1", payload={"query": query, "variables": variables})
        found = []
        while True:
            message = await self.receive()
            found.append(message)
            if message["type"] in ("complete", "error", "websocket.close"):
                return found


@asynccontextmanager
async def graphql_socket(app: Any, token: str | None, **others: str) -> AsyncIterator[GraphQLSocket]:
    """A websocket to `/graphql`, with a token in its headers or without."""
    socket = GraphQLSocket()
    headers = {"host": "127.0.0.1:8000", "sec-websocket-protocol": "graphql-transport-ws"}
    headers |= others if token is None else {"authorization": f"Bearer {token}"}
    scope = {
        "type": "websocket",
        "path": "/graphql",
        "raw_path": b"/graphql",
        "query_string": b"",
        "scheme": "ws",
        "client": ("127.0.0.1", 5),
        "subprotocols": ["graphql-transport-ws"],
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    running = asyncio.ensure_future(app(scope, socket.incoming.get, socket.outgoing.put))
    try:
        yield socket
    finally:
        socket.incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(running, 30)
