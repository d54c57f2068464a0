"""The pool for asyncio: its connections belong to an event loop, whose tasks share them."""

from __future__ import annotations

import asyncio
import select
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from gateleg.net.errors import ConnectionLost, HttpError, ResponseTimedOut
from gateleg.net.http.messages import LIMIT, ResponseReader
from gateleg.net.http.pool import PoolBase, StreamBase, close_oldest, no_connection, time_left

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Coroutine

    from gateleg.net.backoff import Deadline
    from gateleg.net.guard import Address
    from gateleg.net.http.messages import HttpRequest, Response
    from gateleg.net.http.pool import Timeouts

__all__ = ["connect_loop"]

#: The maximum bytes of a streamed body that wait to be read; then the connection stops receiving.
_MAX_UNREAD = 256 * 1024


class _Goal(Enum):
    """What the task waits for: the whole response, its head, or more of its body."""

    WHOLE = 1
    HEAD = 2
    BODY = 3


_WHOLE, _HEAD, _BODY = _Goal


class AsyncConnection(asyncio.Protocol):
    """Sends requests and receives their responses. Used by one task at a time."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.reader = ResponseReader(limit)
        self._goal = _WHOLE
        self._busy = False
        self._paused = False
        self._untaken = 0
        self._failure: HttpError | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._heard = 0.0
        self._read_timeout = 0.0
        self._timer: asyncio.TimerHandle
        self.used = False
        self.released = 0.0
        #: done when the connection is closed
        self.gone: asyncio.Future[None] = self._loop.create_future()

    def is_closed(self) -> bool:
        """Whether the connection can no longer be used."""
        return self._transport is None or self._transport.is_closing()

    def has_unread_data(self) -> bool:
        """Whether the service has sent data or closed the connection, and the event loop has not read that yet."""
        if self._transport is None or self._transport.is_closing():
            return False
        wire = self._transport.get_extra_info("socket")
        return wire is not None and _is_readable(wire.fileno())

    def send(self, data: bytes, read_timeout: float, *, whole: bool) -> Coroutine[Any, Any, None]:
        """Send a request and wait for the whole response or, without `whole`, for its head.

        If nothing is received for more than `read_timeout` seconds, the call fails and the connection is closed.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionLost("The connection was closed.", sent=False, stale=self.used)
        self._busy = True
        self._untaken = 0
        self._goal = _WHOLE if whole else _HEAD
        self._transport.write(data)
        return self._wait(read_timeout)

    async def receive(self, read_timeout: float) -> bytes:
        """The next part of the body; empty at its end."""
        self._goal = _BODY
        if not self.reader.pending and not self.reader.done:
            if self._failure is not None:
                raise self._failure
            await self._wait(read_timeout)
        self._untaken = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return self.reader.take()

    def rest(self) -> None:
        """Mark the connection as idle, after the response was read to its end."""
        self._busy = False
        self.used = True
        self.released = self._loop.time()

    def abort(self) -> None:
        """Close the connection at once, even during a request."""
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, read_timeout: float) -> None:
        waiting: asyncio.Future[None] = self._loop.create_future()
        self._waiting = waiting
        self._heard = self._loop.time()
        self._read_timeout = read_timeout
        self._timer = self._loop.call_at(self._heard + read_timeout, self._check_timeout)
        try:
            await waiting
        except BaseException:
            self.abort()
            raise
        finally:
            self._timer.cancel()
            self._waiting = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if not self._busy or self.reader.done:
            # Data without a request, such as the reason for closing the connection.
            self.reader.keep_alive = False
            self.abort()
            return
        self._heard = self._loop.time()
        try:
            done = self.reader.feed(data)
        except HttpError as error:
            self._fail(error)
            return
        if done or self._goal is not _WHOLE:
            self._progress(len(data))

    def eof_received(self) -> None:
        """Called by the loop: the service will send no more data."""
        if not self._busy:
            return
        try:
            self.reader.end()
        except ConnectionLost as error:
            self._lose(error)
        else:
            self._progress(0)

    def resume_writing(self) -> None:
        """Called by the loop when a large request is nearly sent, which starts the read timeout."""
        self._heard = self._loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop: the connection is closed."""
        if self._busy and not self.reader.done:
            self._lose(ConnectionLost(f"The response was lost: {exc or 'the connection was closed'}."))
        if not self.gone.done():
            self.gone.set_result(None)

    def _progress(self, size: int) -> None:
        """Wake the waiting task if its goal is reached, and stop receiving while too much data is unread."""
        reader = self.reader
        reached = reader.done or (reader.opened if self._goal is _HEAD else reader.pending)
        if reached and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        self._untaken += size
        if self._untaken > _MAX_UNREAD and not reader.done and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _check_timeout(self) -> None:
        """Fail if nothing was received for too long; otherwise check again later."""
        if self._waiting is None or self._waiting.done():
            return
        limit = self._heard + self._read_timeout
        if self._loop.time() < limit:
            self._timer = self._loop.call_at(limit, self._check_timeout)
        else:
            self._fail(ResponseTimedOut("The service did not answer in time."))

    def _lose(self, error: ConnectionLost) -> None:
        error.stale = self.used and not self.reader.begun
        self._fail(error)

    def _fail(self, error: HttpError) -> None:
        """Raise the error in the waiting task, or in the next one that waits."""
        self._failure = self._failure or error
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(self._failure)


async def connect_loop(make: Callable[[], AsyncConnection], address: Address, tls: ssl.SSLContext | None) -> AsyncConnection:
    """Open a TCP connection in the running loop, encrypted with `tls` if it is not None."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(make, address.host, address.port, ssl=tls)
    return connection


class AsyncPool(PoolBase[AsyncConnection]):
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
        super().__init__(address, tls, keep)
        self._connect = connect
        self._make = partial(AsyncConnection, limit)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def exchange(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> Response:
        """Send a request and return the whole response. Raises `HttpError`. A cancelled call closes its connection."""
        connection = await self._send(data, timeouts, deadline, whole=True)
        response = connection.reader.finish()
        self.release(connection, reusable=response.keep_alive)
        return response

    async def open(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> AsyncStreamedResponse:
        """Send a request and return the response once its head was received. Raises `HttpError`. A cancelled call closes its connection."""
        return AsyncStreamedResponse(self, await self._send(data, timeouts, deadline, whole=False))

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
        close_oldest(list(idle))
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
        try:
            async with asyncio.timeout(timeout):
                return await self._connect(self._make, self.address, self._tls_settings())
        except OSError as error:
            raise no_connection(self.address, error) from error


class AsyncStreamedResponse(StreamBase[AsyncConnection]):
    """A response whose head was received, and whose body is read in pieces."""

    async def receive(self, timeout: float) -> bytes:
        """The next part of the body; empty at its end."""
        if self._connection is None:
            return b""
        body = await self._connection.receive(timeout)
        if not body:
            self.close()
        return body


class AsyncClient:
    """As `Client`, for asyncio. The tasks of an event loop share its connections; another loop opens new ones."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pools: dict[Address, AsyncPool] = {}

    async def open(self, request: HttpRequest, timeouts: Timeouts, deadline: Deadline | None = None) -> AsyncStreamedResponse:
        """Send a request and return the response once its head was received. Retries once if an idle connection turns out to be closed."""
        data, pool = request.encode(), self._pool(request.address)
        try:
            return await pool.open(data, timeouts, deadline)
        except ConnectionLost as lost:
            if not lost.stale:
                raise
        return await pool.open(data, timeouts, deadline)

    async def close(self) -> None:
        """Close the idle connections, and wait until they are closed."""
        for pool in list(self._pools.values()):
            await pool.close()

    def _pool(self, address: Address) -> AsyncPool:
        return self._pools.get(address) or self._pools.setdefault(address, AsyncPool(address, limit=self._limit))


def _is_readable(number: int) -> bool:
    """Whether a file descriptor has data to read, or is at its end."""
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))
