"""DynamoDB over HTTP, in asyncio: connections are kept and shared by the tasks of an event loop."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Any

from gateleg.store.transports import Unreachable
from gateleg.store.transports.answers import Answer, AnswerReader, Unreadable
from gateleg.store.transports.line import STREAMS, Line, Options, no_connection
from gateleg.store.transports.retries import Failure
from gateleg.store.transports.texts import encode

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from gateleg.store.transports.addresses import Address
    from gateleg.store.transports.credentials import Credentials
    from gateleg.store.transports.signing import Clock


class Connection(asyncio.Protocol):
    """One connection: sends a request, waits for its answer. Used by one task at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader = AnswerReader()
        self._waiting: asyncio.Future[Answer] | None = None
        self._heard = 0.0
        self._patience = 0.0
        self._timer: asyncio.TimerHandle
        self.used = False
        self.released = 0.0
        #: done when the connection is gone
        self.gone: asyncio.Future[None] = self._loop.create_future()

    async def is_usable(self) -> bool:
        """Whether it can carry a request. What the service has closed is found here, before a request is lost on it."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return False
        wire = transport.get_extra_info("socket")
        if wire is not None and _has_news(wire.fileno()):
            # The loop has not looked yet. It reads after the tasks that are ready, so it takes two turns.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return not transport.is_closing()

    async def exchange(self, data: bytes, patience: float) -> Answer:
        """The answer to a request; a silence of more than `patience` seconds is a failure. Closed if it does not come to an end."""
        if self._transport is None or self._transport.is_closing():
            raise Failure("The connection was closed.", sent=False, stale=self.used)
        waiting: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting = waiting
        self._heard = self._loop.time()
        self._patience = patience
        self._timer = self._loop.call_at(self._heard + patience, self._look)
        try:
            self._transport.write(data)
            return await waiting
        except BaseException:
            self.abort()
            raise
        finally:
            self._timer.cancel()
            self._waiting = None

    def abort(self) -> None:
        """Close at once; what is under way is lost."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if self._waiting is None:
            # Nothing was asked: the service says why it closes, or it is confused.
            self.abort()
            return
        self._heard = self._loop.time()
        try:
            answer = self._reader.feed(data)
        except Unreadable as error:
            self._fail(Failure(str(error)))
            return
        if answer is not None and not self._waiting.done():
            self._waiting.set_result(answer)

    def eof_received(self) -> None:
        """Called by the loop: the service sends no more."""
        if self._waiting is None or self._waiting.done():
            return
        try:
            self._waiting.set_result(self._reader.end())
        except Unreadable as error:
            self._fail(Failure(f"The answer was lost: {error}", stale=self.used and not self._reader.begun))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop: the connection is gone."""
        self._fail(Failure(f"The answer was lost: {exc or 'The connection was closed.'}", stale=self.used and not self._reader.begun))
        if not self.gone.done():
            self.gone.set_result(None)

    def _look(self) -> None:
        """Give up if nothing came for too long, or look again later."""
        if self._waiting is None or self._waiting.done():
            return
        limit = self._heard + self._patience
        if self._loop.time() < limit:
            self._timer = self._loop.call_at(limit, self._look)
        else:
            self._fail(Failure("The service did not answer in time."))

    def _fail(self, failure: Failure) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(failure)


def _has_news(number: int) -> bool:
    """Whether something can be read from a file, be it the end."""
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))


async def connect_loop(make: Callable[[], Connection], address: Address, tls: ssl.SSLContext | None) -> Connection:
    """A TCP connection of the running loop, encrypted if the address asks for it."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(make, address.host, address.port, ssl=tls)
    return connection


class AsyncWireTransport:
    """Sends requests to Amazon DynamoDB, or to any endpoint that speaks its protocol.

    At most `connections` requests are under way at once; further ones wait for their turn. A cancelled call closes its connection, and
    whether its write was done is not known. `connect` replaces the network.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        connections: int = 100,
        connect: Callable[[Callable[[], Connection], Address, ssl.SSLContext | None], Awaitable[Connection]] = connect_loop,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._line = Line(options or Options(), clock)
        self._timeouts = self._line.options.timeouts
        self._limit = connections
        self._connect = connect
        self._sleep = sleep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns = asyncio.Semaphore(connections)
        self._idle: dict[Address, list[Connection]] = {}
        self._loading: asyncio.Future[Credentials] | None = None

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The answer to a request. `timeout` is in seconds, retries and the wait for a connection included."""
        if timeout is None:
            return await self._call(operation, request, None)
        try:
            async with asyncio.timeout(timeout):
                return await self._call(operation, request, self._line.deadline(timeout))
        except TimeoutError:
            raise Unreachable("The time for the call was over.") from None

    async def close(self) -> None:
        """Close the connections that have no work, and wait until they are gone."""
        idle = [connection for connections in self._idle.values() for connection in connections]
        self._idle.clear()
        for connection in idle:
            connection.abort()
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(connection.gone for connection in idle))

    async def _call(self, operation: str, request: dict[str, Any], deadline: float | None) -> dict[str, Any]:
        body = encode(operation, request)
        try:
            return await self._attempt(operation, body)
        except Failure as failed:
            failure = failed
        trial = self._line.trial(operation, request, deadline)
        while True:
            await self._sleep(trial.after(failure))
            try:
                return await self._attempt(operation, body)
            except Failure as failed:
                failure = failed

    async def _attempt(self, operation: str, body: bytes) -> dict[str, Any]:
        line = self._line
        if self._loop is not asyncio.get_running_loop():
            self._settle()
        async with self._turns:
            credentials = line.source.current() or await self._load()
            address = line.streams if operation in STREAMS else line.address
            connection = await self._take(address) or await self._open(address)
            try:
                answer = await connection.exchange(line.write(operation, body, credentials), self._timeouts.read)
            except Failure as failure:
                if failure.stale:
                    self._shed(address)
                raise
            if answer.keep_alive:
                connection.used = True
                connection.released = self._now()
                self._idle.setdefault(address, []).append(connection)
            else:
                connection.abort()
        return line.read(answer)

    def _now(self) -> float:
        return self._loop.time() if self._loop is not None else 0.0

    def _settle(self) -> None:
        """Begin anew in another event loop: what belonged to the last one went with it."""
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(self._limit)
        self._idle = {}
        self._loading = None

    async def _take(self, address: Address) -> Connection | None:
        """The connection that was used last, if it still is one."""
        idle = self._idle.get(address, [])
        while idle:
            connection = idle.pop()
            if connection.released + self._timeouts.idle <= self._now():
                connection.abort()
            elif await connection.is_usable():
                return connection
        return None

    def _shed(self, address: Address) -> None:
        for connection in self._idle.pop(address, []):
            connection.abort()

    async def _open(self, address: Address) -> Connection:
        try:
            async with asyncio.timeout(self._timeouts.connect):
                return await self._connect(Connection, address, self._line.tls)
        except OSError as error:
            raise no_connection(address, error) from error

    async def _load(self) -> Credentials:
        """Get credentials in a thread, as that may take a request of its own; all tasks wait for the same one."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._line.source.load))
        return await asyncio.shield(self._loading)
