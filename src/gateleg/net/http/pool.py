"""Connections that are kept open and used again: what the pools for threads and for asyncio share, and the pool for threads.

A pool has the connections to one address. A client has a pool for each address.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
import weakref
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from gateleg.net.errors import ConnectionLost, HttpError, NotConnected, ResponseTimedOut
from gateleg.net.http.messages import LIMIT, ResponseReader, text_headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.net.backoff import Deadline
    from gateleg.net.guard import Address
    from gateleg.net.http.messages import HttpRequest, Response

__all__ = ["connect_socket"]

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds. A deadline limits a whole call."""

    #: for opening a connection, including the TLS handshake
    connect: float = 5.0
    #: for the next bytes of a response
    read: float = 10.0
    #: how long an idle connection is reused; services close idle connections too, and a request may be lost then
    idle: float = 20.0


class Connection(Protocol):
    """What pools do with a connection of either kind."""

    reader: ResponseReader
    #: when it became idle
    released: float

    def rest(self) -> None:
        """Mark the connection as idle, after the response was read to its end."""

    def abort(self) -> None:
        """Close the connection at once, even during a request."""


C = TypeVar("C", bound=Connection)


class PoolBase(Generic[C]):
    """The idle connections to one address. Each request in progress uses one connection, which is not among them."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None, keep: int) -> None:
        self.address = address
        self._tls = tls
        self._keep = keep
        # No lock is needed, because list methods are atomic.
        self._idle: list[C] = []

    def release(self, connection: C, *, reusable: bool) -> None:
        """Keep a connection for the next request, or close it."""
        if not reusable:
            connection.abort()
            return
        connection.rest()
        self._idle.append(connection)
        if len(self._idle) > self._keep:
            close_oldest(self._idle, self._keep)

    def _tls_settings(self) -> ssl.SSLContext | None:
        """The settings of the connection; None for one without TLS."""
        return (self._tls or default_context()) if self.address.secure else None


def close_oldest(idle: list[C], keep: int = 0) -> None:
    """Close idle connections, oldest first, until `keep` are left."""
    while len(idle) > keep:
        try:
            idle.pop(0).abort()
        except IndexError:
            # Another thread was faster.
            return


class StreamBase(Generic[C]):
    """A response whose head was received, and whose body is read in pieces."""

    def __init__(self, pool: PoolBase[C], connection: C) -> None:
        self._pool = pool
        self._connection: C | None = connection
        self.status = connection.reader.status
        #: by lower-case name
        self.headers = text_headers(connection.reader.headers)

    def close(self) -> None:
        """Keep the connection if the response was read to its end; close it otherwise."""
        connection, self._connection = self._connection, None
        if connection is not None:
            reader = connection.reader
            reusable = reader.done and reader.keep_alive
            reader.restart()
            self._pool.release(connection, reusable=reusable)


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


class SocketConnection:
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

    def rest(self) -> None:
        """Mark the connection as idle, after the response was read to its end."""
        self.used = True
        self.released = time.monotonic()

    def abort(self) -> None:
        """Close the connection, even during a request."""
        self.socket.close()

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


class Pool(PoolBase[SocketConnection]):
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
        super().__init__(address, tls, keep)
        self._connect = connect
        self._limit = limit
        _pools.add(self)
        # Close idle connections of a pool that is deleted without being closed.
        weakref.finalize(self, close_oldest, self._idle)

    def exchange(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> Response:
        """Send a request and return the whole response. Raises `HttpError`."""
        connection = self._send(data, timeouts, deadline, whole=True)
        response = connection.reader.finish()
        self.release(connection, reusable=response.keep_alive)
        return response

    def open(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None = None) -> StreamedResponse:
        """Send a request and return the response once its head was received. Raises `HttpError`."""
        return StreamedResponse(self, self._send(data, timeouts, deadline, whole=False))

    def close(self) -> None:
        """Close the idle connections. The others are closed when their calls have ended and the pool is deleted."""
        close_oldest(self._idle)

    def _send(self, data: bytes, timeouts: Timeouts, deadline: Deadline | None, *, whole: bool) -> SocketConnection:
        connection = self._take(timeouts.idle) or self._open(time_left(timeouts.connect, deadline, sent=False))
        try:
            connection.send(data, timeouts, deadline, whole=whole)
        except BaseException as error:
            # After any error, including Ctrl-C, so that the next request does not read an abandoned response.
            connection.abort()
            if isinstance(error, HttpError) and error.stale:
                self.close()
            raise
        return connection

    def _take(self, longest: float) -> SocketConnection | None:
        """The most recently used idle connection that is still open, or None."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            # Find out whether the service closed the connection before a request is sent on it.
            if time.monotonic() - connection.released < longest and not connection.is_closed():
                return connection
            connection.abort()

    def _open(self, timeout: float) -> SocketConnection:
        try:
            return SocketConnection(self._connect(self.address, timeout, self._tls_settings()), self._limit)
        except OSError as error:
            raise no_connection(self.address, error) from error


class StreamedResponse(StreamBase[SocketConnection]):
    """A response whose head was received, and whose body is read in pieces."""

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


class Client:
    """Sends requests; threads may share it. Redirects are not followed, because they would get the request's API key."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pools: dict[Address, Pool] = {}

    def open(self, request: HttpRequest, timeouts: Timeouts, deadline: Deadline | None = None) -> StreamedResponse:
        """Send a request and return the response once its head was received. Retries once if an idle connection turns out to be closed."""
        data, pool = request.encode(), self._pool(request.address)
        try:
            return pool.open(data, timeouts, deadline)
        except ConnectionLost as lost:
            if not lost.stale:
                raise
        return pool.open(data, timeouts, deadline)

    def close(self) -> None:
        """Close the idle connections."""
        for pool in list(self._pools.values()):
            pool.close()

    def _pool(self, address: Address) -> Pool:
        return self._pools.get(address) or self._pools.setdefault(address, Pool(address, limit=self._limit))


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
    botocore = find_spec("botocore")
    if botocore is not None and botocore.origin is not None:
        bundle = Path(botocore.origin).with_name("cacert.pem")
        if bundle.exists():
            context.load_verify_locations(bundle)


@cache
def default_context() -> ssl.SSLContext:
    """The default settings, cached because reading the certificates is slow."""
    return tls_context()


#: All pools. After a fork, the child closes its copies of connections, because two processes would read each other's responses.
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _close_all() -> None:
    for pool in list(_pools):
        pool.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
