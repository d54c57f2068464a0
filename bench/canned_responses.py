"""Responses without a network, for every library that is measured: one for writes, one for queries."""

import asyncio
import io
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gateleg.net.http import AsyncConnection

WROTE = b"{}"


def rendered(body: bytes) -> bytes:
    """An answer as DynamoDB sends it."""
    return (
        b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Sun, 01 Mar 2026 10:00:00 GMT\r\nContent-Type: application/x-amz-json-1.0\r\n"
        b"Content-Length: %d\r\nConnection: keep-alive\r\nx-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\n\r\n"
        % (len(body), b"A" * 52, zlib.crc32(body))
    ) + body


def is_query(head: bytes) -> bool:
    """Whether a request asks for items."""
    return b".Query\r" in head[:1000]


def _pieces(answer: bytes) -> list[bytes]:
    return [answer[start : start + 65_536] for start in range(0, len(answer), 65_536)]


class CannedSocket:
    """Swallows requests and has an answer to each, in pieces as a network would bring it."""

    def __init__(self, page: bytes) -> None:
        self._answers = tuple(_pieces(rendered(body)) for body in (WROTE, page))
        self._pieces: Iterator[bytes] = iter(())

    def sendall(self, data: bytes, /) -> None:
        self._pieces = iter(self._answers[is_query(data)])

    def recv(self, size: int, /) -> bytes:
        for piece in self._pieces:
            return piece
        raise BlockingIOError

    def settimeout(self, seconds: float | None, /) -> None: ...

    def close(self) -> None: ...


class CannedTransport(asyncio.Transport):
    """The same for asyncio: the answer comes in the next turn of the loop."""

    def __init__(self, page: bytes, protocol: AsyncConnection) -> None:
        super().__init__()
        self._answers = (rendered(WROTE), rendered(page))
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        asyncio.get_running_loop().call_soon(self._protocol.data_received, self._answers[is_query(bytes(data))])

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self._protocol.connection_lost(None)


def canned_connection(page: bytes) -> Callable[..., Any]:
    """The `connect` of an asynchronous transport that goes nowhere."""

    async def connect(make: Callable[[], AsyncConnection], *_: Any) -> AsyncConnection:
        connection = make()
        connection.connection_made(CannedTransport(page, connection))
        return connection

    return connect


def answer_botocore(events: Any, page: bytes) -> None:
    """Have a botocore client answered before it sends anything."""
    from botocore.awsrequest import AWSResponse

    class Raw(io.BytesIO):
        def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
            yield self.read()

    def respond(request: Any, **_: Any) -> Any:
        target = request.headers["X-Amz-Target"]
        body = page if (target if isinstance(target, bytes) else target.encode()).endswith(b".Query") else WROTE
        return AWSResponse(request.url, 200, {"x-amzn-requestid": "r", "x-amz-crc32": str(zlib.crc32(body))}, Raw(body))

    events.register("before-send.dynamodb", respond)


@contextmanager
def canned_server(page: bytes) -> Iterator[str]:
    """A server for libraries whose sockets are out of reach, in a process of its own; the kernel's share of the work comes on top."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(page)
    process.stdin.close()
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def serve(connection: socket.socket, answers: tuple[bytes, bytes]) -> None:
    """Answer the requests of one connection."""
    with connection:
        while data := connection.recv(65_536):
            while b"\r\n\r\n" not in data:
                data += connection.recv(65_536)
            head, _, body = data.partition(b"\r\n\r\n")
            head = head.lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            while len(body) < length:
                body += connection.recv(65_536)
            connection.sendall(answers[b".query" in head])


def main() -> None:
    """Serve the page that comes by standard input; print the port."""
    answers = (rendered(WROTE), rendered(sys.stdin.buffer.read()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], answers), daemon=True).start()


if __name__ == "__main__":
    main()
