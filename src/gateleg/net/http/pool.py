"""A connection pool on plain sockets: persistent connections to one address, shared by threads."""

from __future__ import annotations

import os
import socket
import ssl
import time
import weakref
from typing import TYPE_CHECKING, Protocol

from gateleg.net.http.errors import ConnectionLost, HttpError, NotConnected, ResponseTimedOut
from gateleg.net.http.responses import LIMIT, ResponseReader, text_headers
from gateleg.net.http.tls import default_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.net.addresses import Address
    from gateleg.net.clocks import Deadline
    from gateleg.net.http.requests import Timeouts
    from gateleg.net.http.responses import Response

__all__ = ["connect_socket"]

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
