"""HTTP in asyncio: connections are kept and shared by the tasks of an event loop."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from gateleg.ai.errors import ModelUnreachable
from gateleg.ai.http.client import IDLE, KEEP
from gateleg.ai.http.failures import Stale, lost, no_connection, silent
from gateleg.ai.http.reader import AnswerPieces
from gateleg.ai.http.requests import wire_form
from gateleg.store.transports.addresses import tls_context

if TYPE_CHECKING:
    import ssl

    from gateleg.ai.http.requests import HttpRequest, Limits
    from gateleg.store.transports.addresses import Address

_CHUNK = 64 * 1024
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncOpenedAnswer:
    """An answer that is being read from a connection of the loop."""

    def __init__(self, client: AsyncClient, address: Address, line: Line, used: bool) -> None:
        self._client = client
        self._address = address
        self._line: Line | None = line
        self._used = used
        self._pieces = AnswerPieces()
        self.status = 0
        self.headers: dict[str, str] = {}

    async def begin(self, data: bytes, silence: float) -> None:
        """Send the request and read until the head of the answer is there."""
        assert self._line is not None
        try:
            async with asyncio.timeout(silence):
                self._line[1].write(data)
                await self._line[1].drain()
            while not self._pieces.opened:
                await self._more(silence)
        except TimeoutError:
            raise silent(self._address) from None
        except (OSError, ModelUnreachable) as error:
            if self._used and not self._pieces.begun:
                raise Stale from error
            raise (lost(error) if isinstance(error, OSError) else error) from error
        self.status, self.headers = self._pieces.status, self._pieces.headers

    async def receive(self, silence: float) -> bytes:
        """More of the body; nothing at its end."""
        body = self._pieces.take()
        try:
            while not body and not self._pieces.done and self._line is not None:
                await self._more(silence)
                body = self._pieces.take()
        except TimeoutError:
            raise silent(self._address) from None
        except OSError as error:
            raise lost(error) from error
        if not body:
            self.close()
        return body

    async def _more(self, silence: float) -> None:
        assert self._line is not None
        async with asyncio.timeout(silence):
            data = await self._line[0].read(_CHUNK)
        if data:
            self._pieces.feed(data)
        else:
            self._pieces.end()

    def close(self) -> None:
        """Keep the connection if the answer was read to its end; close it otherwise."""
        line, self._line = self._line, None
        if line is None:
            return
        if self._pieces.done and self._pieces.keep_alive:
            self._client.keep(self._address, line)
        else:
            line[1].transport.abort()


class AsyncClient:
    """Sends requests. The tasks of one event loop share its connections; another loop begins anew."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: dict[Address, list[tuple[float, Line]]] = {}
        self._tls: ssl.SSLContext | None = None

    async def open(self, request: HttpRequest, limits: Limits) -> AsyncOpenedAnswer:
        """Send a request; the answer, when its head is there."""
        if self._loop is not asyncio.get_running_loop():
            self._loop, self._idle = asyncio.get_running_loop(), {}
        data, address = wire_form(request), request.address
        silence = min(limits.silence, limits.left)
        kept = self._take(address)
        if kept is not None:
            try:
                return await self._begin(AsyncOpenedAnswer(self, address, kept, used=True), data, silence)
            except Stale:
                pass
        try:
            async with asyncio.timeout(min(limits.connect, limits.left)):
                tls = self._context() if address.secure else None
                line = await asyncio.open_connection(address.host, address.port, ssl=tls)
        except OSError as error:
            raise no_connection(address, error) from error
        return await self._begin(AsyncOpenedAnswer(self, address, line, used=False), data, silence)

    def keep(self, address: Address, line: Line) -> None:
        """Keep a connection for the next request."""
        idle = self._idle.setdefault(address, [])
        idle.append((time.monotonic(), line))
        if len(idle) > KEEP:
            _, oldest = idle.pop(0)
            oldest[1].transport.abort()

    async def close(self) -> None:
        """Close the connections that have no work, and wait until they are gone."""
        idle, self._idle = self._idle, {}
        if self._loop is not asyncio.get_running_loop():
            return
        for lines in idle.values():
            for _, (_, writer) in lines:
                writer.close()
                try:
                    await writer.wait_closed()
                except OSError:
                    continue

    async def _begin(self, answer: AsyncOpenedAnswer, data: bytes, silence: float) -> AsyncOpenedAnswer:
        try:
            await answer.begin(data, silence)
        except BaseException:
            answer.close()
            raise
        return answer

    def _take(self, address: Address) -> Line | None:
        """The connection that was used last, if it still is one."""
        idle = self._idle.get(address, [])
        while idle:
            since, line = idle.pop()
            if time.monotonic() - since < IDLE and not line[0].at_eof() and not line[1].transport.is_closing():
                return line
            line[1].transport.abort()
        return None

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls_context()
        return self._tls
