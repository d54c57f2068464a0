"""HTTP in asyncio: the connections to one address, kept and shared by the tasks of an event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from gateleg.net.http.async_connection import Connection, connect_loop
from gateleg.net.http.errors import HttpError
from gateleg.net.http.pool import no_connection, time_left
from gateleg.net.http.responses import LIMIT, text_headers
from gateleg.net.http.tls import default_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from gateleg.net.addresses import Address
    from gateleg.net.clocks import Deadline
    from gateleg.net.http.requests import Timeouts
    from gateleg.net.http.responses import Response


class AsyncStreamedResponse:
    """A response whose head has come, and whose body is read piece by piece."""

    def __init__(self, pool: AsyncPool, connection: Connection) -> None:
        self._pool = pool
        self._connection: Connection | None = connection
        self.status = connection.reader.status
        #: by their names in lower case
        self.headers = text_headers(connection.reader.headers)

    async def receive(self, timeout: float) -> bytes:
        """More of the body; nothing at its end."""
        if self._connection is None:
            return b""
        body = await self._connection.receive(timeout)
        if not body:
            self.close()
        return body

    def close(self) -> None:
        """Keep the connection if the response was read to its end; close it otherwise."""
        connection, self._connection = self._connection, None
        if connection is not None:
            reader = connection.reader
            reusable = reader.done and reader.keep_alive
            reader.restart()
            self._pool.release(connection, reusable=reusable)


class AsyncPool:
    """Sends requests to one address. Each that is under way has a connection of its own.

    Connections belong to the event loop that made them; in another loop the pool begins anew. `connect` replaces the network, `limit` is
    the largest response, and `keep` the number of connections without work that are kept.
    """

    def __init__(
        self,
        address: Address,
        *,
        tls: ssl.SSLContext | None = None,
        connect: Callable[[Callable[[], Connection], Address, ssl.SSLContext | None], Awaitable[Connection]] = connect_loop,
        limit: int = LIMIT,
        keep: int = 100,
    ) -> None:
        self.address = address
        self._tls = tls
        self._connect = connect
        self._make = partial(Connection, limit)
        self._keep = keep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[Connection] = []

    async def exchange(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> Response:
        """The whole response to a request. Raises `HttpError`. A cancelled call closes its connection."""
        connection = await self._send(data, timeouts, deadline, whole=True)
        response = connection.reader.finish()
        self.release(connection, reusable=response.keep_alive)
        return response

    async def open(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> AsyncStreamedResponse:
        """The response to a request, when its head has come. Raises `HttpError`. A cancelled call closes its connection."""
        return AsyncStreamedResponse(self, await self._send(data, timeouts, deadline, whole=False))

    def release(self, connection: Connection, *, reusable: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if not reusable:
            connection.abort()
            return
        connection.rest()
        self._idle.append(connection)
        if len(self._idle) > self._keep:
            self._idle.pop(0).abort()

    async def close(self) -> None:
        """Close the connections that have no work, and wait until they are gone."""
        idle = self._shed()
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(connection.gone for connection in idle))

    async def _send(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None, *, whole: bool) -> Connection:
        connection = await self._take(timeouts.idle) or await self._open(time_left(timeouts.connect, deadline, sent=False))
        read_timeout = timeouts.read if deadline is None else time_left(timeouts.read, deadline, sent=False)
        try:
            await connection.send(data, read_timeout, whole=whole)
        except HttpError as error:
            connection.abort()
            if error.stale:
                self._shed()
            raise
        return connection

    def _shed(self) -> list[Connection]:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.abort()
        return idle

    async def _take(self, longest: float) -> Connection | None:
        """The connection that was used last, if it still is one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._idle = loop, []
        while self._idle:
            connection = self._idle.pop()
            if connection.released + longest <= loop.time():
                connection.abort()
                continue
            # What the service has closed is found here, before a request is lost on it.
            if connection.has_news():
                # The loop reads after the tasks that are ready, so it takes two turns until it has looked.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            if not connection.is_closed():
                return connection
        return None

    async def _open(self, timeout: float) -> Connection:
        tls = (self._tls or default_context()) if self.address.secure else None
        try:
            async with asyncio.timeout(timeout):
                return await self._connect(self._make, self.address, tls)
        except OSError as error:
            raise no_connection(self.address, error) from error
