"""A host that listens on a real socket, for tests that speak HTTP byte by byte."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from starlette.types import ASGIApp

from gateleg.host.host import Host
from gateleg.web.app import create_app
from gateleg.web.server import listen, serve


@asynccontextmanager
async def listening(host: Host, *, app: ASGIApp | None = None, **chosen: Any) -> AsyncIterator[int]:
    """Serve a host with some settings of its own; the port."""
    settings = host.settings.model_copy(update={"port": 0, **chosen})
    host = replace(host, settings=settings)
    listener = listen(settings)
    stop, ready = asyncio.Event(), asyncio.Event()
    served = app or create_app(host, console=False)
    serving = asyncio.create_task(serve(host, served, listener, stop=stop, ready=ready.set))
    await ready.wait()
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        await serving


@dataclass(frozen=True)
class Line:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Send some bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def rest(self) -> bytes:
        """All that the host sends until it closes; a connection that it cut counts as closed."""
        found = b""
        try:
            while data := await asyncio.wait_for(self.reader.read(65_536), 30):
                found += data
        except ConnectionError:
            pass
        return found

    async def answer(self) -> tuple[int, bytes]:
        """The status and the body of the next answer; the body must have its length told."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 30)
        lines = head.lower().split(b"\r\n")
        size = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
        return int(lines[0].split()[1]), await self.reader.readexactly(size)

    async def flood(self, filling: bytes) -> int:
        """Send the same again and again until the host cuts the connection; how many bytes it took."""
        sent = 0
        try:
            while True:
                await self.send(filling)
                sent += len(filling)
        except ConnectionError:
            return sent


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Line]:
    """A connection for the length of the block."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def told(answer: bytes) -> tuple[int, str]:
    """The status and the code of an answer in the envelope."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]
