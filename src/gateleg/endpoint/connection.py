"""One client connection: requests in, answers out, in order."""

import asyncio
from typing import TYPE_CHECKING, cast

from gateleg.endpoint.answers import CONTINUE, Answer, RequestIds, render
from gateleg.endpoint.backend import Backend, execute
from gateleg.endpoint.commits import Commits
from gateleg.endpoint.gate import Gate
from gateleg.endpoint.limits import Limits
from gateleg.endpoint.origins import Origins
from gateleg.endpoint.reader import Phase, Reader
from gateleg.endpoint.requests import Request
from gateleg.endpoint.targets import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

#: Requests that a client may send ahead before the connection stops reading.
_AHEAD = 16


class Shared:
    """What the connections of a server have in common."""

    def __init__(self, backend: Backend, gate: Gate, origins: Origins, commits: Commits, limits: Limits) -> None:
        self.backend = backend
        self.gate = gate
        self.origins = origins
        self.commits = commits
        self.limits = limits
        self.request_ids = RequestIds()
        self.connections: set[Connection] = set()
        #: loop time and HTTP date, renewed every second
        self.now = 0.0
        self.date = b""
        self.draining = False
        self.on_empty: Callable[[], None] | None = None


class Connection(asyncio.Protocol):
    """Has requests decided and executed one after the other, and writes their answers."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._reader = Reader(shared.limits)
        self._queue = self._reader.requests
        self._transport: asyncio.Transport | None = None
        #: the request that waits for its commit
        self._busy: Request | None = None
        #: whether the client reads what it asked for
        self._writable = True
        #: whether we read what the client sends
        self._reading = True
        #: the last word is said; what still comes in is thrown away, so that the client gets to read it
        self._lingering = False
        #: loop time after which the connection is closed
        self.deadline = shared.now + shared.limits.idle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._shared.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection. A write under way goes on: it was asked for."""
        self._transport = None
        self._queue.clear()
        shared = self._shared
        shared.connections.discard(self)
        if shared.on_empty is not None and not shared.connections:
            shared.on_empty()

    def pause_writing(self) -> None:
        """The client does not read what it asked for: stop working for it."""
        self._writable = False
        self.deadline = self._shared.now + self._shared.limits.send

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable = True
        self._rest()
        self._work()

    def data_received(self, data: bytes) -> None:
        """Read what came in, then do what can be done."""
        reader = self._reader
        if reader.ended:
            return
        before = reader.phase
        reader.feed(data)
        if reader.phase is not before:
            limits = self._shared.limits
            self.deadline = self._shared.now + (limits.head_time if reader.phase is Phase.HEAD else limits.body_time)
        self._work()

    def eof_received(self) -> bool:
        """The client has sent all it will; it may still wait for answers."""
        transport = self._transport
        if transport is None or self._lingering or not self._waiting():
            return False
        self._reader.end()
        return transport.can_write_eof()

    def drain(self) -> None:
        """The server stops: finish what is under way, then close."""
        if self._lingering:
            self.expire()
            return
        if self._reader.phase is Phase.BETWEEN:
            self._reader.end()
        self._flow()

    def expire(self) -> None:
        """The client's time is up."""
        if self._transport is not None:
            self._transport.abort()

    def _work(self) -> None:
        """Serve requests in the order in which they came, until one has to wait."""
        queue = self._queue
        while queue and self._busy is None and self._writable:
            self._serve(queue.popleft())
        self._flow()

    def _serve(self, request: Request) -> None:
        shared = self._shared
        ruling = shared.origins.refusal(request) or shared.gate.decide(request)
        if isinstance(ruling, Answer):
            self._send(request, ruling)
        elif ruling.kind is Kind.READ:
            self._send(request, execute(shared.backend, ruling))
        else:
            self._busy = request
            self.deadline = float("inf")
            shared.commits.submit(ruling, self._reply)

    def _reply(self, answer: Answer) -> None:
        """Answer the write that was waited for."""
        request, self._busy = self._busy, None
        if request is not None and self._transport is not None:
            self._send(request, answer)
            self._work()

    def _send(self, request: Request, answer: Answer) -> None:
        shared = self._shared
        if self._transport is None:
            return
        keep_alive = request.keep_alive and not shared.draining
        cors = shared.origins.headers(request)
        self._transport.write(
            render(request, answer, date=shared.date, request_id=shared.request_ids.next(), keep_alive=keep_alive, cors=cors)
        )
        if not keep_alive:
            self._queue.clear()
            self._reader.end()
        self._rest()

    def _rest(self) -> None:
        """Set the time by which the client must do something."""
        if self._writable and self._busy is None:
            limits = self._shared.limits
            self.deadline = self._shared.now + (limits.idle if self._reader.phase is Phase.BETWEEN else limits.body_time)

    def _waiting(self) -> bool:
        return self._busy is not None or bool(self._queue)

    def _flow(self) -> None:
        """After work: close, stop or go on reading, or ask for the body, as things are."""
        transport, reader = self._transport, self._reader
        if transport is None or self._lingering:
            return
        if reader.ended:
            if not self._waiting():
                self._finish(transport)
            return
        if reader.asks_to_go_on and not self._waiting():
            reader.asks_to_go_on = False
            transport.write(CONTINUE)
        if self._reading is not (self._writable and (not self._queue or self._has_room())):
            self._reading = not self._reading
            if self._reading:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _has_room(self) -> bool:
        """Whether the client may send more requests ahead."""
        return len(self._queue) < _AHEAD and sum(len(request.body) for request in self._queue) < self._shared.limits.body

    def _finish(self, transport: asyncio.Transport) -> None:
        """Say the last word, if there is one, and close."""
        limits = self._shared.limits
        last_word = self._reader.last_word
        if last_word is None:
            self.deadline = self._shared.now + limits.send
            transport.close()
            return
        transport.write(last_word)
        self._lingering = True
        self.deadline = self._shared.now + limits.linger
        # Closing at once would reset the connection under a client that is still sending, and it would not see the answer.
        if transport.can_write_eof():
            transport.write_eof()
        if not self._reading:
            self._reading = True
            transport.resume_reading()
