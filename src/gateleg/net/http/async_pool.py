"""A connection pool for asyncio: persistent connections to one address, shared by the tasks of an event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from gateleg.net.http.async_connection import AsyncConnection, connect_loop
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
    """A response whose head was received, and whose body is read in pieces."""

    def __init__(self, pool: AsyncPool, connection: AsyncConnection) -> None:
        self._pool = pool
        self._connection: AsyncConnection | None = connection
        self.status = connection.reader.status
        #: by lower-case name
        self.headers = text_headers(connection.reader.headers)

    async def receive(self, timeout: float) -> bytes:
        """The next part of the body; empty at its end."""
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
    """Sends requests to one address. Each request in progress uses one connection.

    Connections belong to the event loop that opened them; another loop opens new ones. `connect` replaces the network, for tests. `limit`
    is the maximum size of a response, and `keep` the maximum number of idle connections.
    """

    def __init__(
        self,
        address: Address,
        *,
        tls: ssl.SSLContext | None = None,
        connect: Callable[[Callable[[], AsyncConnection], Address, ssl.SSLContext | None], Awaitable[AsyncConnection]] = connect_loop,
        limit: int = LIMIT,
        keep: int = 100,
    ) -> None:
        self.address = address
        self._tls = tls
        self._connect = connect
        self._make = partial(AsyncConnection, limit)
        self._keep = keep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[AsyncConnection] = []

    async def exchange(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> Response:
        """Send a request and return the whole response. Raises `HttpError`. A cancelled call closes its connection."""
        connection = await self._send(data, timeouts, deadline, whole=True)
        response = connection.reader.finish()
        self.release(connection, reusable=response.keep_alive)
        return response

    async def open(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> AsyncStreamedResponse:
        """Send a request and return the response once its head was received. Raises `HttpError`. A cancelled call closes its connection."""
        return AsyncStreamedResponse(self, await self._send(data, timeouts, deadline, whole=False))

    def release(self, connection: AsyncConnection, *, reusable: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if not reusable:
            connection.abort()
            return
        connection.rest()
        self._idle.append(connection)
        if len(self._idle) > self._keep:
            self._idle.pop(0).abort()

    async def close(self) -> None:
        """Close the idle connections, and wait until they are closed."""
        idle = self._close_idle()
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(connection.gone for connection in idle))

    async def _send(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None, *, whole: bool) -> AsyncConnection:
        connection = await self._take(timeouts.idle) or await self._open(time_left(timeouts.connect, deadline, sent=False))
        read_timeout = timeouts.read if deadline is None else time_left(timeouts.read, deadline, sent=False)
        try:
            await connection.send(data, read_timeout, whole=whole)
        except HttpError as error:
            connection.abort()
            if error.stale:
                self._close_idle()
            raise
        return connection

    def _close_idle(self) -> list[AsyncConnection]:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.abort()
        return idle

    async def _take(self, longest: float) -> AsyncConnection | None:
        """The most recently used idle connection that is still open, or None."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._idle = loop, []
        while self._idle:
            connection = self._idle.pop()
            if connection.released + longest <= loop.time():
                connection.abort()
                continue
            # Find out whether the service closed the connection before a request is sent on it.
            if connection.has_unread_data():
                # The event loop reads after running the ready tasks, so this takes two iterations.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            if not connection.is_closed():
                return connection
        return None

    async def _open(self, timeout: float) -> AsyncConnection:
        tls = (self._tls or default_context()) if self.address.secure else None
        try:
            async with asyncio.timeout(timeout):
                return await self._connect(self._make, self.address, tls)
        except OSError as error:
            raise no_connection(self.address, error) from error
