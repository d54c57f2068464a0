"""DynamoDB over HTTP, on plain sockets: connections are kept and shared by any number of threads."""

from __future__ import annotations

import os
import socket
import ssl
import time
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.store.transports.answers import AnswerReader, Unreadable
from gateleg.store.transports.line import STREAMS, Line, Options, no_connection
from gateleg.store.transports.retries import Failure
from gateleg.store.transports.texts import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.transports.addresses import Address
    from gateleg.store.transports.answers import Answer
    from gateleg.store.transports.signing import Clock

#: Connections without work that are kept.
_KEEP = 64
_CHUNK = 64 * 1024


class Socket(Protocol):
    """The part of a socket that is used; a test or a benchmark may bring its own."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""
        ...

    def recv(self, size: int, /) -> bytes:
        """What has come, at most `size` bytes; nothing at the end. Raises `BlockingIOError` if it may not wait."""
        ...

    def settimeout(self, seconds: float | None, /) -> None:
        """How long the other methods may wait."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def connect_socket(address: Address, timeout: float, tls: ssl.SSLContext | None) -> Socket:
    """A TCP connection, encrypted if the address asks for it."""
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


class _Connection:
    """A socket, and the reader of what comes over it."""

    __slots__ = ("reader", "released", "socket", "used")

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.reader = AnswerReader()
        self.used = False
        self.released = 0.0

    def is_closed(self) -> bool:
        """Whether the service has closed it, or has sent what nobody asked for."""
        try:
            self.socket.settimeout(0.0)
            self.socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            pass
        return True


class _Pool:
    """The connections to one address that have no work. The list's own methods are atomic, so that no lock is needed."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[_Connection] = []

    def take(self, longest: float) -> _Connection | None:
        """The connection that was used last, if it still is one."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            # A service closes connections as it likes. What it has closed already is found here, before a request is lost on it.
            if time.monotonic() - connection.released < longest and not connection.is_closed():
                return connection
            connection.socket.close()

    def put(self, connection: _Connection) -> None:
        """Keep a connection for later."""
        connection.released = time.monotonic()
        self._idle.append(connection)
        if len(self._idle) > _KEEP:
            self.shed(_KEEP)

    def shed(self, keep: int = 0) -> None:
        """Close connections, those that have been idle longest first, until so many are left."""
        while len(self._idle) > keep:
            try:
                self._idle.pop(0).socket.close()
            except IndexError:
                return


#: After a fork the child closes its copies: two processes on one connection would read each other's answers.
_pools: weakref.WeakSet[_Pool] = weakref.WeakSet()


def _shed_all() -> None:
    for pool in list(_pools):
        pool.shed()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shed_all)


class WireTransport:
    """Sends requests to Amazon DynamoDB, or to any endpoint that speaks its protocol.

    Any number of threads may use one; each call under way has a connection of its own. `connect` replaces the network.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        connect: Callable[[Address, float, ssl.SSLContext | None], Socket] = connect_socket,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._line = Line(options or Options(), clock)
        self._timeouts = self._line.options.timeouts
        self._connect = connect
        self._sleep = sleep
        self._pool, self._streams = _Pool(self._line.address), _Pool(self._line.streams)
        _pools.update((self._pool, self._streams))

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The answer to a request. `timeout` is in seconds, retries included."""
        body = encode(operation, request)
        deadline = self._line.deadline(timeout)
        try:
            return self._attempt(operation, body, deadline)
        except Failure as failed:
            failure = failed
        trial = self._line.trial(operation, request, deadline)
        while True:
            self._sleep(trial.after(failure))
            try:
                return self._attempt(operation, body, deadline)
            except Failure as failed:
                failure = failed

    def close(self) -> None:
        """Close the connections that have no work. The others are closed when their calls are over and the transport is let go."""
        self._pool.shed()
        self._streams.shed()

    def _attempt(self, operation: str, body: bytes, deadline: float | None) -> dict[str, Any]:
        line = self._line
        credentials = line.source.current() or line.source.load()
        pool = self._streams if operation in STREAMS else self._pool
        connection = pool.take(self._timeouts.idle)
        if connection is None:
            connection = self._open(pool.address, deadline)
        try:
            answer = self._exchange(connection, line.write(operation, body, credentials), deadline)
        except BaseException as error:
            # Whatever it was, also Ctrl-C: an answer that nobody waits for must not be met by the next request.
            connection.socket.close()
            if isinstance(error, Failure) and error.stale:
                pool.shed()
            raise
        if answer.keep_alive:
            connection.used = True
            pool.put(connection)
        else:
            connection.socket.close()
        return line.read(answer)

    def _open(self, address: Address, deadline: float | None) -> _Connection:
        timeout = self._remaining(self._timeouts.connect, deadline, sent=False)
        try:
            return _Connection(self._connect(address, timeout, self._line.tls))
        except OSError as error:
            raise no_connection(address, error) from error

    def _exchange(self, connection: _Connection, data: bytes, deadline: float | None) -> Answer:
        wire, reader = connection.socket, connection.reader
        try:
            wire.settimeout(self._remaining(self._timeouts.read, deadline, sent=False))
            wire.sendall(data)
        except OSError as error:
            # The service has not had the last byte, so it has not acted on any of them.
            raise Failure(f"The request could not be sent: {error}.", sent=False, stale=connection.used) from error
        try:
            while True:
                received = wire.recv(_CHUNK)
                answer = reader.feed(received) if received else reader.end()
                if answer is not None:
                    return answer
                if deadline is not None:
                    wire.settimeout(self._remaining(self._timeouts.read, deadline))
        except TimeoutError as error:
            raise Failure("The service did not answer in time.") from error
        except (OSError, Unreadable) as error:
            raise Failure(f"The answer was lost: {error}", stale=connection.used and not reader.begun) from error

    def _remaining(self, longest: float, deadline: float | None, *, sent: bool = True) -> float:
        """The seconds that a step may take."""
        if deadline is None:
            return longest
        rest = deadline - self._line.options.retries.ticks()
        if rest <= 0:
            raise Failure("The time for the call was over.", sent=sent)
        return min(longest, rest)
