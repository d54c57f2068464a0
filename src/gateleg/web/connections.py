"""Limits on connections before authentication: size and time of headers, rate of the body, number of open connections."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateleg.host.errors import BadRequest, HeadTooLarge, TooManyConnections, TooSlow
from gateleg.web.envelope import error_response
from gateleg.web.websockets import MESSAGE_LIMIT

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from gateleg.host.errors import Refusal
    from gateleg.host.settings import Settings

#: Seconds and bytes for which a refused connection is still read, so that the client sees the response.
_LINGER, _LINGER_BYTES = 1.0, 1_000_000
#: Seconds for which a client may leave a response unread. Long, because browsers do so while a video is paused.
_UNREAD = 300.0
#: Bytes passed to the parser at once while it reads headers: it would buffer all of them before it reports any.
_PIECE = 16_384


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on a connection, and on the number of connections."""

    #: bytes of the request line and the headers
    head: int
    #: seconds for the headers; in each such period, a body has to bring `pace` bytes per second
    seconds: float
    pace: int
    #: open connections, in total and from one address
    total: int
    each: int
    #: addresses that stand for many clients
    proxies: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        """The limits of the settings."""
        return cls(
            head=settings.head_limit,
            seconds=settings.request_seconds,
            pace=settings.body_pace,
            total=settings.connections,
            each=settings.address_connections,
            proxies=frozenset(settings.proxies),
        )


@dataclass
class Connections:
    """The open connections of a server, by address."""

    bounds: ConnectionLimits
    _open: Counter[str] = field(default_factory=Counter)
    _total: int = 0
    #: the connections whose first line or headers are incomplete, with their addresses, oldest first
    _heads: dict[BoundedHttp, str] = field(default_factory=dict)

    def enter(self, address: str) -> bool:
        """Count a connection. False, and nothing is counted, if there are too many.

        The oldest connection that has not sent its whole head gives way to a new one: half heads of one client do not shut out the others
        at its address.
        """
        if self._total >= self.bounds.total and not self._make_room(lambda _: True):
            return False
        if address not in self.bounds.proxies and self._open[address] >= self.bounds.each and not self._make_room(address.__eq__):
            return False
        self._open[address] += 1
        self._total += 1
        return True

    def _make_room(self, among: Callable[[str], object]) -> bool:
        oldest = next((head for head, address in self._heads.items() if among(address) and not head.is_answering), None)
        if oldest is not None:
            oldest.give_way()
        return oldest is not None

    def head_begins(self, head: BoundedHttp, address: str) -> None:
        """Note that a connection has not sent its whole head."""
        self._heads[head] = address

    def head_ends(self, head: BoundedHttp) -> None:
        """Note that a connection has sent its head, or was closed."""
        self._heads.pop(head, None)

    def leave(self, address: str) -> None:
        """Uncount a connection that was closed."""
        self._total -= 1
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits, which neither it nor its parser has."""

    def __init__(self, *, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._shared = connections
        self._bounds = connections.bounds
        self._address: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        #: bytes of the headers being read, or of the body since the last check
        self._received = 0
        #: bytes since the last body data: chunk sizes and trailers
        self._between = 0
        self._in_head = True
        self._upgraded = False
        self._refused: Refusal | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and start the timer for its first request."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if not self._shared.enter(address):
            self._refuse(TooManyConnections("The host has too many open connections."), linger=False)
            return
        self._address = address
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the slot of the connection."""
        self._stop_watching()
        self.resume_writing()
        self._release()
        super().connection_lost(exc)

    def _release(self) -> None:
        if self._address is not None:
            self._shared.leave(self._address)
            self._address = None

    @property
    def is_answering(self) -> bool:
        """Whether an earlier request of this connection has no complete response yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def give_way(self) -> None:
        """Close this connection, which has not sent its head, for another one."""
        self._release()
        self._refuse(TooManyConnections("The host has too many open connections, and this one was the slowest."), linger=False)

    def data_received(self, data: bytes) -> None:
        """Pass data to the parser; headers in small pieces, each of which is counted before the next."""
        if self._refused:
            self._received += len(data)
            if self._received > _LINGER_BYTES:
                self.transport.abort()
            return
        while data and not (self._refused or self._upgraded or self.transport.is_closing()):
            piece, data = (data[:_PIECE], data[_PIECE:]) if self._in_head else (data, b"")
            self._received += len(piece)
            self._between += len(piece)
            super().data_received(piece)
            if self._refused or self._upgraded:
                continue
            if self._in_head:
                self._check_head()
            elif self._between > self._bounds.head + _PIECE:
                self._break_off(self._too_large())

    def _check_head(self) -> None:
        if self._received > self._bounds.head + _PIECE:
            self._refuse(self._too_large())
        elif self._timer is None:
            # An idle connection has become active, if only with an empty line.
            self._watch_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header. Trailers after a chunked body are ignored."""
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._between = 0
        super().on_body(body)

    def _too_large(self) -> HeadTooLarge:
        return HeadTooLarge(
            f"The request line and the headers exceed the limit of {self._bounds.head:,} bytes.", details={"limit": self._bounds.head}
        )

    def on_headers_complete(self) -> None:
        """Measure the exact size of the headers, then let the request begin."""
        if sum(name == b"host" for name, _ in self.headers) > 1:
            # Proxies and applications may each take another one.
            self._refused = BadRequest("The request has several Host headers.")
            raise self._refused
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self._bounds.head:
            self._refused = self._too_large()
            # The parser passes it to `send_400_response`, which responds with it.
            raise self._refused
        self._in_head = False
        self._stop_watching()
        self._received = self._between = 0
        self._timer = self.loop.call_later(self._bounds.seconds, self._check_pace)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._in_head = True
        self._received = 0
        self._stop_watching()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A body that is still arriving after its response gets one more period, and is not read after that."""
        super().on_response_complete()
        if not self._in_head and self.cycle.response_complete and not self.transport.is_closing():
            self._stop_watching()
            self._timer = self.loop.call_later(self._bounds.seconds, self.transport.close)

    def handle_websocket_upgrade(self) -> None:
        """Pass the connection on, with its slot."""
        self._stop_watching()
        self._upgraded = True
        address, self._address = self._address, None
        super().handle_websocket_upgrade()
        protocol = self.transport.get_protocol()
        if address is not None and isinstance(protocol, BoundedWebSocket):
            protocol.counted = (self._shared, address)

    def send_400_response(self, msg: str) -> None:
        """Respond to invalid HTTP, or to a violated limit, with the error envelope. An incomplete body's request has no other response."""
        error = self._refused or BadRequest("The request is not valid HTTP.")
        if self._in_head or self.cycle is None or self.cycle.response_complete:
            self._refuse(error)
        else:
            self._break_off(error)

    def pause_writing(self) -> None:
        """Start the timer of a client that does not read its response."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(_UNREAD, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer of a client that reads again."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _watch_head(self) -> None:
        # Not after a whole request, before anything of the next one.
        if self._address is not None and (self._received or self.cycle is None):
            self._shared.head_begins(self, self._address)
        self._timer = self.loop.call_later(self._bounds.seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            # Respond first; no other request follows.
            self.cycle.keep_alive = False
        else:
            self._refuse(TooSlow(f"The request was not complete within {self._bounds.seconds:g} seconds."))

    def _check_pace(self) -> None:
        """Check the rate of a body. A body that is not being read, because its route is busy, passes."""
        late = not self.flow.read_paused and self._received < self._bounds.pace * self._bounds.seconds
        self._received = 0
        if not late:
            self._timer = self.loop.call_later(self._bounds.seconds, self._check_pace)
            return
        self._timer = None
        self._break_off(TooSlow(f"The body arrived at less than {self._bounds.pace:,} bytes per second."))

    def _break_off(self, error: Refusal) -> None:
        """End a request whose body is still arriving: with an error, unless its response has started."""
        if self.cycle.response_started:
            self.transport.abort()
            return
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        self._refuse(error)

    def _stop_watching(self) -> None:
        self._shared.head_ends(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, error: Refusal, *, linger: bool = True) -> None:
        """Respond with an error, read nothing more, and close."""
        self._refused = error
        self._received = 0
        self._stop_watching()
        if self.transport.is_closing():
            return
        response = error_response(error)
        headers = [*response.raw_headers, (b"connection", b"close")]
        self.transport.write(
            STATUS_LINE[response.status_code] + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n" + bytes(response.body)
        )
        if linger and self.transport.can_write_eof():
            # Closing while the client still sends would discard the response.
            self.transport.write_eof()
            self._timer = self.loop.call_later(_LINGER, self.transport.abort)
        else:
            self.transport.close()


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's websocket, which releases its slot at the end, and lets the host limit the messages of somebody who is not known yet."""

    #: where the connection was counted, and under which address
    counted: tuple[Connections, str] | None = None

    async def run_asgi(self) -> None:
        """Run the application."""
        extensions: dict[str, Any] = {**(self.scope.get("extensions") or {}), MESSAGE_LIMIT: self._limit_messages}
        self.scope["extensions"] = extensions
        await super().run_asgi()

    def _limit_messages(self, size: int | None) -> None:
        """Refuse larger messages; None for the server's own limit."""
        self.conn.max_message_size = self.config.ws_max_size if size is None else size

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the slot of the connection."""
        if self.counted is not None:
            connections, address = self.counted
            self.counted = None
            connections.leave(address)
        super().connection_lost(exc)


def bounded_http(settings: Settings) -> Any:
    """The HTTP protocol of a server with the limits of the settings. Its connections are counted together."""
    return functools.partial(BoundedHttp, connections=Connections(ConnectionLimits.of(settings)))
