"""A connection pool on plain sockets: persistent connections to one address, shared by threads.

HTTP requests as values, and their encoding.

Parse responses from received bytes, whole or in pieces. No I/O.

Parse streams of JSON events, as server-sent events or lines, from received bytes.

TLS settings: which servers to trust, and client certificates.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
import weakref
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

import httptools
import orjson

from gateleg.net.errors import BadHeader, BadResponse, ConnectionLost, HttpError, NotConnected, ResponseTimedOut, ResponseTooLarge
from gateleg.net.guard import Address

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.net.backoff import Deadline

__all__ = ["Response", "connect_socket"]


#: The characters that paths may contain unencoded (RFC 3986). Some services have colons in paths and do not accept them encoded.
_PATH = "/-_.~%:@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. A deadline limits a whole call."""

    #: for opening a connection, including the TLS handshake
    connect: float = 5.0
    #: for the next bytes of a response
    read: float = 10.0
    #: how long an idle connection is reused; services close idle connections too, and a request may be lost then
    idle: float = 20.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to a URL."""

    url: str
    body: bytes = b""
    #: not in the `repr`, because they may contain a key
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"

    @property
    def address(self) -> Address:
        """The address of the server."""
        parts = urlsplit(self.url)
        return Address.parse(f"{parts.scheme}://{parts.netloc}")

    @property
    def target(self) -> str:
        """The path and query of the request line."""
        parts = urlsplit(self.url)
        path = quote(parts.path, safe=_PATH) or "/"
        return f"{path}?{parts.query}" if parts.query else path

    def encode(self) -> bytes:
        """The bytes of the request. Raises `BadHeader` for a header with control or non-ASCII characters."""
        headers = {
            "host": self.address.authority,
            "accept-encoding": "identity",
            "content-length": str(len(self.body)),
            **self.headers,
        }
        for name, value in headers.items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise BadHeader(f"The header {name} cannot be sent: it contains a control character or a non-ASCII character.")
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body


#: The default maximum size of a response.
LIMIT = 64 * 1024 * 1024


class Response(NamedTuple):
    """A complete response: headers by lower-case name, and the body as it was sent."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    #: whether the connection can be used for another request
    keep_alive: bool


class ResponseReader:
    """Parses the responses of one connection, one after the other."""

    __slots__ = ("_limit", "_parser", "_pieces", "_size", "done", "headers", "keep_alive", "opened", "status")

    def __init__(self, limit: int = LIMIT) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._limit = limit
        self.restart()

    def restart(self) -> None:
        """Prepare for the next response."""
        self._pieces: list[bytes] = []
        self._size = 0
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        #: whether the head is complete
        self.opened = False
        #: whether the response is complete
        self.done = False
        self.keep_alive = False

    @property
    def begun(self) -> bool:
        """Whether a part of a response was received."""
        return self._size > 0

    @property
    def pending(self) -> bool:
        """Whether a part of the body was received and not yet taken."""
        return bool(self._pieces)

    def feed(self, data: bytes) -> bool:
        """Add received bytes, and return whether the response is complete. Raises `BadResponse`."""
        self._size += len(data)
        if self._size > self._limit:
            raise ResponseTooLarge(f"The response is larger than {self._limit:,} bytes.")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise BadResponse(f"The response is not HTTP: {error}.") from None
        return self.done

    def end(self) -> None:
        """Handle the end of the connection, which ends a response without a length. Raises `ConnectionLost` for other responses."""
        if self.done:
            return
        if not self.opened or b"content-length" in self.headers or b"transfer-encoding" in self.headers:
            raise ConnectionLost("The connection was closed in the middle of the response." if self._size else "The connection was closed.")
        self.done = True

    def take(self) -> bytes:
        """The part of the body that was received since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def finish(self) -> Response:
        """Return the complete response, and prepare for the next one."""
        response = Response(self.status, self.headers, self.take(), self.keep_alive)
        self.restart()
        return response

    def on_message_begin(self) -> None:
        """Called by the parser. Only one response is expected at a time."""
        if self.done:
            raise BadResponse("The server sent more than one response.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Called by the parser, which knows only now whether the connection stays open."""
        self.status = self._parser.get_status_code()
        self.opened = self.status >= 200
        self.keep_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Called by the parser. An interim response (1xx) is followed by the real one."""
        if self.opened:
            self.done = True
        else:
            self.headers.clear()


def text_headers(headers: dict[bytes, bytes]) -> dict[str, str]:
    """Headers as `str`."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}


_CHUNK = 64 * 1024


class Socket(Protocol):
    """The methods of a socket that are used, so that tests and benchmarks can replace it."""

    def sendall(self, data: bytes, /) -> None:
        """Send all bytes."""
        ...

    def recv(self, size: int, /) -> bytes:
        """Receive up to `size` bytes; empty at the end. Raises `BlockingIOError` if it must not wait."""
        ...

    def settimeout(self, seconds: float | None, /) -> None:
        """Set how long the other methods may wait."""
        ...

    def close(self) -> None:
        """Close the socket."""
        ...


def connect_socket(address: Address, timeout: float, tls: ssl.SSLContext | None) -> Socket:
    """Open a TCP connection, encrypted with `tls` if it is not None."""
    plain = socket.create_connection((address.host, address.port), timeout)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if tls is not None:
            return tls.wrap_socket(plain, server_hostname=address.host)
    except BaseException:
        plain.close()
        raise
    return plain


def time_left(seconds: float, deadline: Deadline | None, *, sent: bool = True) -> float:
    """The maximum seconds of a step, limited by a timeout and the deadline of the call. Raises `ResponseTimedOut` after the deadline."""
    if deadline is None:
        return seconds
    left = deadline.left()
    if left <= 0:
        raise ResponseTimedOut("The call timed out.", sent=sent)
    return min(seconds, left)


def no_connection(address: Address, error: OSError) -> NotConnected:
    """The error for a failed connection; permanent if the certificate is not trusted."""
    reason = f"No connection to {address.url}: {error or 'it took too long'}."
    return NotConnected(reason, sent=False, permanent=isinstance(error, ssl.SSLCertVerificationError))


class _Connection:
    """A socket, and the reader of its responses."""

    __slots__ = ("reader", "released", "socket", "used")

    def __init__(self, socket: Socket, limit: int) -> None:
        self.socket = socket
        self.reader = ResponseReader(limit)
        self.used = False
        self.released = 0.0

    def is_closed(self) -> bool:
        """Whether the service has closed the connection, or has sent data without a request."""
        try:
            self.socket.settimeout(0.0)
            self.socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            pass
        return True

    def send(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None, *, whole: bool) -> None:
        """Send a request, and read the whole response or, without `whole`, its head."""
        timeout = timeouts.read if deadline is None else time_left(timeouts.read, deadline, sent=False)
        try:
            self.socket.settimeout(timeout)
            self.socket.sendall(data)
        except TimeoutError as error:
            raise ResponseTimedOut("The request could not be sent in time.", sent=False) from error
        except OSError as error:
            # The service did not receive the last byte, so it did not execute the request.
            raise ConnectionLost(f"The request could not be sent: {error}.", sent=False, stale=self.used) from error
        self.read(timeouts.read, deadline, whole=whole)

    def read(self, timeout: float, deadline: Deadline | None, *, whole: bool) -> None:
        """Read the whole response or, without `whole`, until something new of it was received."""
        reader, wire = self.reader, self.socket
        try:
            while True:
                data = wire.recv(_CHUNK)
                if not data:
                    reader.end()
                    return
                if reader.feed(data) or (not whole and reader.opened):
                    return
                if deadline is not None:
                    wire.settimeout(time_left(timeout, deadline))
        except TimeoutError as error:
            raise ResponseTimedOut("The service did not answer in time.") from error
        except OSError as error:
            raise ConnectionLost(f"The response was lost: {error}.", stale=self.used and not reader.begun) from error
        except ConnectionLost as error:
            error.stale = self.used and not reader.begun
            raise


class StreamedResponse:
    """A response whose head was received, and whose body is read in pieces."""

    def __init__(self, pool: Pool, connection: _Connection) -> None:
        self._pool = pool
        self._connection: _Connection | None = connection
        self.status = connection.reader.status
        #: by lower-case name
        self.headers = text_headers(connection.reader.headers)

    def receive(self, timeout: float) -> bytes:
        """The next part of the body; empty at its end."""
        connection = self._connection
        if connection is None:
            return b""
        reader = connection.reader
        while not reader.pending and not reader.done:
            connection.socket.settimeout(timeout)
            connection.read(timeout, None, whole=False)
        body = reader.take()
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


class Pool:
    """Sends requests to one address. Each request in progress uses one connection.

    `connect` replaces the network, for tests. `limit` is the maximum size of a response, and `keep` the maximum number of idle connections.
    """

    def __init__(
        self,
        address: Address,
        *,
        tls: ssl.SSLContext | None = None,
        connect: Callable[[Address, float, ssl.SSLContext | None], Socket] = connect_socket,
        limit: int = LIMIT,
        keep: int = 64,
    ) -> None:
        self.address = address
        self._tls = tls
        self._connect = connect
        self._limit = limit
        self._keep = keep
        # No lock is needed, because list methods are atomic.
        self._idle: list[_Connection] = []
        _pools.add(self)
        # Close idle connections of a pool that is deleted without being closed.
        weakref.finalize(self, _close_oldest, self._idle)

    def exchange(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> Response:
        """Send a request and return the whole response. Raises `HttpError`."""
        connection = self._send(data, timeouts, deadline, whole=True)
        response = connection.reader.finish()
        self.release(connection, reusable=response.keep_alive)
        return response

    def open(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> StreamedResponse:
        """Send a request and return the response once its head was received. Raises `HttpError`."""
        return StreamedResponse(self, self._send(data, timeouts, deadline, whole=False))

    def release(self, connection: _Connection, *, reusable: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if not reusable:
            connection.socket.close()
            return
        connection.used = True
        connection.released = time.monotonic()
        self._idle.append(connection)
        if len(self._idle) > self._keep:
            _close_oldest(self._idle, self._keep)

    def close(self) -> None:
        """Close the idle connections. The others are closed when their calls have ended and the pool is deleted."""
        _close_oldest(self._idle)

    def _send(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None, *, whole: bool) -> _Connection:
        connection = self._take(timeouts.idle) or self._open(timeouts.connect, deadline)
        try:
            connection.send(data, timeouts, deadline, whole=whole)
        except BaseException as error:
            # After any error, including Ctrl-C, so that the next request does not read an abandoned response.
            connection.socket.close()
            if isinstance(error, HttpError) and error.stale:
                self.close()
            raise
        return connection

    def _take(self, longest: float) -> _Connection | None:
        """The most recently used idle connection that is still open, or None."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            # Find out whether the service closed the connection before a request is sent on it.
            if time.monotonic() - connection.released < longest and not connection.is_closed():
                return connection
            connection.socket.close()

    def _open(self, timeout: float, deadline: Deadline | None) -> _Connection:
        address = self.address
        tls = (self._tls or default_context()) if address.secure else None
        try:
            return _Connection(self._connect(address, time_left(timeout, deadline, sent=False), tls), self._limit)
        except OSError as error:
            raise no_connection(address, error) from error


def _close_oldest(idle: list[_Connection], keep: int = 0) -> None:
    """Close idle connections, oldest first, until `keep` are left."""
    while len(idle) > keep:
        try:
            idle.pop(0).socket.close()
        except IndexError:
            return


#: All pools. After a fork, the child closes its copies of connections, because two processes would read each other's responses.
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _close_all() -> None:
    for pool in list(_pools):
        pool.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)


#: The maximum size of an event. Events normally contain a few words, or the arguments of a tool.
_MAX_EVENT = 8 * 1024 * 1024


class Framing(Protocol):
    """Splits a stream into events."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete."""
        ...

    def end(self) -> list[dict[str, Any]]:
        """End the stream, and return the events that this completes."""
        ...


class JsonLines:
    """A stream with one JSON object per line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        _bound(self._rest)
        return [_object(line) for line in lines if line.strip()]

    def end(self) -> list[dict[str, Any]]:
        """The event of a last line without a line break."""
        rest, self._rest = self._rest, b""
        return [_object(rest)] if rest.strip() else []


class ServerSentEvents:
    """A `text/event-stream` whose data are JSON objects; `[DONE]`, comments and other fields are ignored."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete. Lines end with CR, LF or both, which may arrive separately."""
        text = self._rest + data
        held = text.endswith(b"\r")
        *lines, rest = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + b"\r" if held else rest
        _bound(self._rest)
        return [event for line in lines for event in self._take(line)]

    def end(self) -> list[dict[str, Any]]:
        """The last event, even without an empty line after it: some services omit that."""
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        return [*self._take(rest), *self._take(b"")] if rest else self._take(b"")

    def _take(self, line: bytes) -> list[dict[str, Any]]:
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                _bound(value)
            return []
        whole, self._data = b"\n".join(self._data), []
        return [] if not whole.strip() or whole.strip() == b"[DONE]" else [_object(whole)]


def _bound(data: bytes) -> None:
    if len(data) > _MAX_EVENT:
        raise BadResponse(f"An event of the stream is larger than {_MAX_EVENT:,} bytes.")


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise BadResponse("An event of the stream is not a JSON object.")
    return found


def tls_context(
    authorities: str | Path | None = None, *, certificate: str | Path | None = None, key: str | Path | None = None
) -> ssl.SSLContext:
    """TLS settings that verify the server.

    `authorities` is a file with the certificates to trust; by default those of the system, or botocore's if the system has none.
    `certificate` and `key` are files of a client certificate, for servers that require one.
    """
    context = ssl.create_default_context(cafile=authorities)
    if authorities is None and not context.cert_store_stats()["x509_ca"]:
        _trust_bundle_of_botocore(context)
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _trust_bundle_of_botocore(context: ssl.SSLContext) -> None:
    found = find_spec("botocore")
    if found is not None and found.origin is not None:
        bundle = Path(found.origin).with_name("cacert.pem")
        if bundle.exists():
            context.load_verify_locations(bundle)


@cache
def default_context() -> ssl.SSLContext:
    """The default settings, cached because reading the certificates is slow."""
    return tls_context()
