"""A scripted service: one act for each request that it reads."""

import contextlib
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson


@dataclass(frozen=True)
class Act:
    """The reaction to a request: send bytes in pieces, then keep, close or reset the connection, or stop responding."""

    pieces: tuple[bytes, ...] = ()
    end: str = "keep"


RESET = Act(end="reset")
CLOSE = Act(end="close")
SILENCE = Act(end="silence")


def answer(body: bytes = b"{}", status: int = 200, end: str = "keep", **headers: str) -> Act:
    """An answer with a length and a checksum, unless other headers are given."""
    lines = {"content-length": str(len(body)), "x-amz-crc32": str(zlib.crc32(body))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return Act((f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body,), end)


def refusal(code: str, status: int = 400, message: str = "why", **headers: str) -> Act:
    """A response with an error."""
    return answer(orjson.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}), status, **headers)


@dataclass
class Service:
    """Follows its script, and then answers every request with an empty object."""

    script: list[Act]
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    #: set when a client closes a connection on which the service was silent
    left: threading.Event = field(default_factory=threading.Event)
    #: set when the service has closed a connection
    closed: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()

    def _serve_one(self, connection: socket.socket) -> None:
        self._play(connection)
        self.closed.set()

    def _play(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while (request := read_request(connection)) is not None:
                self.requests.append(request)
                act = self.script.pop(0) if self.script else answer()
                for piece in act.pieces:
                    connection.sendall(piece)
                if act.end == "silence":
                    if not connection.recv(1):
                        self.left.set()
                    return
                if act.end == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if act.end != "keep":
                    return


def read_request(connection: socket.socket) -> bytes | None:
    """A request with its body, or None at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    length = next(lengths, 0)
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def service(*script: Act, tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    """A service on a free port of this machine."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        play = Service(list(script), url=f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}")
        if tls is not None:
            listener = stack.enter_context(tls.wrap_socket(listener, server_side=True))
        thread = threading.Thread(target=play.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield play
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
