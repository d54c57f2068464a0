"""HTTP on plain sockets: connections are kept and shared by any number of threads."""

from __future__ import annotations

import os
import select
import time
import weakref
from typing import TYPE_CHECKING

from gateleg.ai.errors import ModelUnreachable
from gateleg.ai.http.failures import Stale, lost, no_connection, silent
from gateleg.ai.http.reader import AnswerPieces
from gateleg.ai.http.requests import wire_form
from gateleg.store.transports.addresses import tls_context
from gateleg.store.transports.wire import connect_socket

if TYPE_CHECKING:
    import socket as sockets
    import ssl

    from gateleg.ai.http.requests import HttpRequest, Limits
    from gateleg.store.transports.addresses import Address
    from gateleg.store.transports.wire import Socket

_CHUNK = 64 * 1024
#: Connections without work that are kept, and for how many seconds: services close them too.
KEEP = 32
IDLE = 15.0


class OpenedAnswer:
    """An answer that is being read from a socket."""

    def __init__(self, client: Client, address: Address, socket: Socket, used: bool) -> None:
        self._client = client
        self._address = address
        self._socket: Socket | None = socket
        self._used = used
        self._pieces = AnswerPieces()
        self.status = 0
        self.headers: dict[str, str] = {}

    def begin(self, data: bytes, silence: float) -> None:
        """Send the request and read until the head of the answer is there."""
        assert self._socket is not None
        try:
            self._socket.settimeout(silence)
            self._socket.sendall(data)
            while not self._pieces.opened:
                self._more()
        except TimeoutError:
            raise silent(self._address) from None
        except (OSError, ModelUnreachable) as error:
            if self._used and not self._pieces.begun:
                raise Stale from error
            raise (lost(error) if isinstance(error, OSError) else error) from error
        self.status, self.headers = self._pieces.status, self._pieces.headers

    def receive(self, silence: float) -> bytes:
        """More of the body; nothing at its end."""
        body = self._pieces.take()
        try:
            while not body and not self._pieces.done and self._socket is not None:
                self._socket.settimeout(silence)
                self._more()
                body = self._pieces.take()
        except TimeoutError:
            raise silent(self._address) from None
        except OSError as error:
            raise lost(error) from error
        if not body:
            self.close()
        return body

    def _more(self) -> None:
        assert self._socket is not None
        data = self._socket.recv(_CHUNK)
        if data:
            self._pieces.feed(data)
        else:
            self._pieces.end()

    def close(self) -> None:
        """Keep the connection if the answer was read to its end; close it otherwise."""
        socket, self._socket = self._socket, None
        if socket is None:
            return
        if self._pieces.done and self._pieces.keep_alive:
            self._client.keep(self._address, socket)
        else:
            socket.close()


class Client:
    """Sends requests. Any number of threads may use one."""

    def __init__(self) -> None:
        self._idle: dict[Address, list[tuple[float, int, Socket]]] = {}
        self._tls: ssl.SSLContext | None = None
        # Who forgets to close it leaves no connections behind.
        weakref.finalize(self, _close_all, self._idle)

    def open(self, request: HttpRequest, limits: Limits) -> OpenedAnswer:
        """Send a request; the answer, when its head is there."""
        data, address = wire_form(request), request.address
        silence = min(limits.silence, limits.left)
        kept = self._take(address)
        if kept is not None:
            try:
                return self._begin(OpenedAnswer(self, address, kept, used=True), data, silence)
            except Stale:
                pass
        try:
            socket = connect_socket(address, min(limits.connect, limits.left), self._context() if address.secure else None)
        except OSError as error:
            raise no_connection(address, error) from error
        return self._begin(OpenedAnswer(self, address, socket, used=False), data, silence)

    def keep(self, address: Address, socket: Socket) -> None:
        """Keep a connection for the next request."""
        idle = self._idle.setdefault(address, [])
        idle.append((time.monotonic(), os.getpid(), socket))
        if len(idle) > KEEP:
            idle.pop(0)[2].close()

    def close(self) -> None:
        """Close the connections that have no work."""
        _close_all(self._idle)

    def _begin(self, answer: OpenedAnswer, data: bytes, silence: float) -> OpenedAnswer:
        try:
            answer.begin(data, silence)
        except BaseException:
            answer.close()
            raise
        return answer

    def _take(self, address: Address) -> Socket | None:
        """The connection that was used last, if it still is one. After a fork the parent's are not ours to use."""
        idle = self._idle.get(address, [])
        while idle:
            try:
                since, process, socket = idle.pop()
            except IndexError:
                break
            if process == os.getpid() and time.monotonic() - since < IDLE and not _has_news(socket):
                return socket
            socket.close()
        return None

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls_context()
        return self._tls


def _close_all(idle: dict[Address, list[tuple[float, int, Socket]]]) -> None:
    while idle:
        for _, _, socket in idle.popitem()[1]:
            socket.close()


def _has_news(socket: Socket) -> bool:
    """Whether something can be read from an idle connection: its end, or what nobody asked for."""
    poll = getattr(select, "poll", None)
    wire: sockets.socket = socket  # type: ignore[assignment]
    if poll is None:
        return bool(select.select([wire], [], [], 0)[0])
    looking = select.poll()
    looking.register(wire.fileno(), select.POLLIN)
    return bool(looking.poll(0))
