"""Server-sent events of an application, read as they come."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI


@dataclass(frozen=True)
class Event:
    """One event."""

    name: str
    id: str
    data: Any


class EventReader:
    """An open stream."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.gone = asyncio.Event()

    async def next(self) -> Event | None:
        """The next event, whatever comments come before it; None at the end."""
        while True:
            chunk = await asyncio.wait_for(self.chunks.get(), 10)
            if chunk is None:
                return None
            fields = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines() if ": " in line and not line.startswith(":"))
            if "event" in fields:
                return Event(fields["event"], fields["id"], json.loads(fields["data"]))

    async def rest(self) -> list[Event]:
        """All events up to the end."""
        found = []
        while (event := await self.next()) is not None:
            found.append(event)
        return found


@asynccontextmanager
async def reading(app: FastAPI, path: str, **headers: str) -> AsyncIterator[EventReader]:
    """A stream that is open for the block; of whoever has the token of the host, when the headers say nothing else."""
    reader = EventReader()
    headers = {"authorization": f"Bearer {app.state.host.local.token}"} | headers
    asked = [(b"host", b"127.0.0.1:8000"), *((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8000),
        "headers": asked,
    }
    begun = False

    async def receive() -> dict[str, Any]:
        nonlocal begun
        if not begun:
            begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await reader.gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reader.status = message["status"]
            reader.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        elif message.get("body"):
            reader.chunks.put_nowait(message["body"])
        if message["type"] == "http.response.body" and not message.get("more_body"):
            reader.chunks.put_nowait(None)

    task = asyncio.create_task(app(scope, receive, send))
    try:
        yield reader
    finally:
        reader.gone.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
