"""A fast HTTP client that sends the given requests over and over on several keep-alive connections. Prints responses per second.

python bench/http_load.py URL CONNECTIONS SECONDS OPERATION < bodies.jsonl
"""

import asyncio
import contextlib
import sys
import time
from itertools import cycle
from typing import cast
from urllib.parse import urlsplit

AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)


def request(host: str, operation: str, body: bytes) -> bytes:
    """The request's bytes, with the headers that SDKs send."""
    head = (
        f"POST / HTTP/1.1\r\nHost: {host}\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"X-Amz-Date: 20260101T000000Z\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Client(asyncio.Protocol):
    """One connection that asks again as soon as it is answered; a server that hangs up is called again."""

    def __init__(self, host: str, port: int, messages: list[bytes]) -> None:
        self._where = (host, port)
        self._next = cycle(messages).__next__
        self._buffer = b""
        self._redial: asyncio.Task[None] | None = None
        self.answers = 0
        self.failures = 0

    async def dial(self) -> None:
        """Connect."""
        await asyncio.get_running_loop().create_connection(lambda: self, *self._where)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = cast("asyncio.Transport", transport)
        self._buffer = b""
        self._transport.write(self._next())

    def data_received(self, data: bytes) -> None:
        """Count a whole answer, and ask again."""
        buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end >= 0 and len(buffer) >= end + 4 + _length(buffer[:end]):
            self.answers += 1
            if buffer[9:12] != b"200":
                self.failures += 1
            self._buffer = b""
            if not self._transport.is_closing():
                self._transport.write(self._next())
        else:
            self._buffer = buffer

    def connection_lost(self, exc: Exception | None) -> None:
        """Call again."""
        self._redial = asyncio.ensure_future(self.dial())


def _length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    if at < 0:
        raise SystemExit("the server does not say how long its answers are")
    return int(head[at + 15 :].split(b"\r\n", 1)[0])


async def load(url: str, connections: int, seconds: float, operation: str, bodies: list[bytes]) -> float:
    """Answers per second."""
    where = urlsplit(url)
    assert where.hostname is not None
    messages = [request(where.netloc, operation, body) for body in bodies]
    clients = [Client(where.hostname, where.port or 80, messages) for _ in range(connections)]
    for client in clients:
        await client.dial()
    await asyncio.sleep(seconds / 5)
    before, began = sum(c.answers for c in clients), time.perf_counter()
    await asyncio.sleep(seconds)
    rate = (sum(c.answers for c in clients) - before) / (time.perf_counter() - began)
    if not rate:
        raise SystemExit("the server gave no answer")
    if any(c.failures for c in clients):
        raise SystemExit(f"{sum(c.failures for c in clients)} answers were errors")
    return rate


if __name__ == "__main__":
    with contextlib.suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    _, url, connections, seconds, operation = sys.argv
    print(asyncio.run(load(url, int(connections), float(seconds), operation, sys.stdin.buffer.read().splitlines())))
