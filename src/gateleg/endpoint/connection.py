"""One client connection: HTTP/1.1 in, answers out, in order."""

import asyncio
from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from gateleg.endpoint.answers import BAD_REQUEST, CONTINUE, TOO_LARGE, Answer, RequestIds, render
from gateleg.endpoint.backend import Backend, execute
from gateleg.endpoint.commits import Commits
from gateleg.endpoint.gate import Gate
from gateleg.endpoint.limits import Limits
from gateleg.endpoint.requests import Request
from gateleg.endpoint.targets import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

#: Requests that a client may send ahead before the connection stops reading.
_AHEAD = 16


class _State(Enum):
    OPEN = "open"
    #: answers what it has, reads no more
    LAST = "last"
    #: has said its last word; what still comes in is thrown away, so that the client gets to read it
    LINGERING = "lingering"


class Shared:
    """What the connections of a server have in common."""

    def __init__(self, backend: Backend, gate: Gate, commits: Commits, limits: Limits) -> None:
        self.backend = backend
        self.gate = gate
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
    """Reads requests, has them decided and executed one after the other, and writes their answers."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._parser = HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._state = _State.OPEN
        self._queue: deque[Request] = deque()
        #: a write of this connection waits for its commit
        self._busy: Request | None = None
        self._writable = True
        self._reading = True
        self._request = Request()
        self._headers: dict[bytes, bytes] = self._request.headers
        self._in_message = False
        self._in_head = False
        #: bytes of an unfinished head, from the second piece on
        self._head_size: int | None = None
        self._chunks: list[bytes] = []
        self._body_size = 0
        self._owes_continue = False
        #: what to say after the last answer, when the client did something that ends the connection
        self._last_word: bytes | None = None
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
        """Parse what came in, then do what can be done."""
        if self._state is not _State.OPEN:
            return
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except HttpParserError:
            self._end(BAD_REQUEST)
        if self._in_head:
            self._bound_head(len(data))
        self._work()

    def eof_received(self) -> bool:
        """The client has sent all it will; it may still wait for answers."""
        transport = self._transport
        if transport is None or self._state is _State.LINGERING or (self._busy is None and not self._queue):
            return False
        self._end(None)
        return transport.can_write_eof()

    def _bound_head(self, received: int) -> None:
        """Refuse a head that does not end. The piece in which it began is not counted: it may hold much else."""
        if self._head_size is None:
            self._head_size = 0
            return
        self._head_size += received
        if self._head_size > self._shared.limits.head:
            self._end(BAD_REQUEST)

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read the request again as one that asks for no other protocol, which a server may do that speaks none."""
        request = self._request
        if request.method == b"CONNECT" or self._state is not _State.OPEN:
            self._end(BAD_REQUEST)
            return
        lines = [b"%b: %b\r\n" % line for line in request.headers.items() if line[0] not in (b"upgrade", b"connection")]
        self._parser = HttpRequestParser(self)
        self.data_received(b"%b %b HTTP/1.1\r\n%b\r\n" % (request.method, request.target, b"".join(lines)) + rest)

    def on_message_begin(self) -> None:
        """A request starts."""
        self._request = Request()
        self._headers = self._request.headers
        self._in_message = self._in_head = True
        self._head_size = None
        self.deadline = self._shared.now + self._shared.limits.head_time

    def on_url(self, url: bytes) -> None:
        """A part of the request's target, most often all of it."""
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header line. Trailers after a chunked body mean nothing here."""
        if not self._in_head:
            return
        name = name.lower()
        headers = self._headers
        headers[name] = value if name not in headers else headers[name] + b"," + value

    def on_headers_complete(self) -> None:
        """The head is there: refuse what is too large before it is sent."""
        self._in_head = False
        request = self._request
        headers = request.headers
        limits = self._shared.limits
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive()
        if len(request.target) + sum(map(len, headers)) + sum(map(len, headers.values())) + 4 * len(headers) > limits.head:
            self._end(BAD_REQUEST)
            return
        length = headers.get(b"content-length")
        if length is not None and int(length) > limits.body:
            self._end(TOO_LARGE)
            return
        self.deadline = self._shared.now + limits.body_time
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self._owes_continue = True

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if self._state is not _State.OPEN:
            return
        self._owes_continue = False
        self._body_size += len(body)
        if self._body_size > self._shared.limits.body:
            self._chunks.clear()
            self._end(TOO_LARGE)
            return
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        """A request is whole, unless it asks for another protocol: then it is read again."""
        if self._state is not _State.OPEN or self._parser.should_upgrade():
            return
        chunks = self._chunks
        if chunks:
            self._request.body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            self._chunks = []
            self._body_size = 0
        self._owes_continue = self._in_message = False
        self._queue.append(self._request)
        if not self._request.keep_alive:
            self._state = _State.LAST

    def _work(self) -> None:
        """Serve requests in the order in which they came, until one has to wait."""
        queue = self._queue
        while queue and self._busy is None and self._writable:
            self._serve(queue.popleft())
        self._flow()

    def _serve(self, request: Request) -> None:
        shared = self._shared
        ruling = shared.gate.decide(request)
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
        self._transport.write(render(request, answer, date=shared.date, request_id=shared.request_ids.next(), keep_alive=keep_alive))
        if not keep_alive:
            self._queue.clear()
            self._end(None)
        self._rest()

    def _rest(self) -> None:
        """Set the time by which the client must do something."""
        if self._state is _State.OPEN and self._writable and self._busy is None and not self._in_message:
            self.deadline = self._shared.now + self._shared.limits.idle

    def _flow(self) -> None:
        """After work: close, stop or go on reading, or ask for the body, as the state has it."""
        transport = self._transport
        if transport is None or self._state is _State.LINGERING:
            return
        waiting = bool(self._queue) or self._busy is not None
        if self._state is _State.LAST:
            if not waiting:
                self._finish(transport)
            return
        if self._owes_continue and not waiting:
            self._owes_continue = False
            transport.write(CONTINUE)
        if self._reading is not (len(self._queue) < _AHEAD and self._writable):
            self._reading = not self._reading
            if self._reading:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _end(self, last_word: bytes | None) -> None:
        """Take no more requests; answer what there is, then say the last word, if there is one, and close."""
        if self._state is _State.OPEN:
            self._state = _State.LAST
            self._last_word = last_word
            self._in_message = self._in_head = False

    def _finish(self, transport: asyncio.Transport) -> None:
        if self._last_word is None:
            transport.close()
            return
        transport.write(self._last_word)
        self._state = _State.LINGERING
        self.deadline = self._shared.now + self._shared.limits.linger
        # Closing at once would reset the connection under a client that is still sending, and it would not see the answer.
        if transport.can_write_eof():
            transport.write_eof()
        if not self._reading:
            self._reading = True
            transport.resume_reading()

    def drain(self) -> None:
        """The server stops: finish what is under way, then close."""
        if not self._in_message:
            self._end(None)
        self._flow()

    def expire(self) -> None:
        """The client's time is up."""
        if self._transport is not None:
            self._transport.abort()
