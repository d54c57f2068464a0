"""A fake engine that records calls, and a client that writes raw HTTP."""

import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from gateleg.engine.errors import EngineError
from gateleg.engine.schema import Namespace

WRITES = frozenset({"PutItem", "UpdateItem"})

HEADERS = {
    "Host": "localhost",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "DynamoDB_20120810.GetItem",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=abc",
}


class FakeGroup:
    def __init__(self, engine: "FakeEngine") -> None:
        self._engine = engine

    def commit(self) -> None:
        self._engine.commit_allowed.wait(10)
        self._engine.commits.append(self._engine.uncommitted)
        self._engine.uncommitted = 0
        if self._engine.commit_error is not None:
            raise self._engine.commit_error

    def roll_back(self) -> None:
        self._engine.uncommitted = 0


@dataclass
class FakeEngine:
    """Answers each call with `answer`, or raises `error`."""

    durability: str = "relaxed"
    path: str = "data.db"
    answer: bytes = b'{"Item":{}}'
    error: Exception | None = None
    commit_error: Exception | None = None
    begin_error: Exception | None = None
    #: somebody else is writing
    busy: bool = False
    calls: list[tuple[str, bytes, Namespace | None]] = field(default_factory=list)
    #: how many writes each commit made durable
    commits: list[int] = field(default_factory=list)
    uncommitted: int = 0
    commit_allowed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.commit_allowed.set()

    def is_write(self, operation: str) -> bool:
        return operation in WRITES

    def call_json(self, operation: str, body: bytes, namespace: Namespace | None = None) -> bytes:
        self.calls.append((operation, body, namespace))
        if operation in WRITES:
            self.uncommitted += 1
        if self.error is not None:
            raise self.error
        if body == b'{"refuse":true}':
            raise EngineError("ConditionalCheckFailedException", "The conditional request failed")
        return self.answer

    def try_begin_group(self) -> FakeGroup | None:
        return None if self.busy else self.begin_group()

    def begin_group(self) -> FakeGroup:
        if self.begin_error is not None:
            raise self.begin_error
        return FakeGroup(self)


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


def message(
    body: bytes = b"{}", headers: Mapping[str, str | None] | None = None, method: str = "POST", target: str = "/", version: str = "1.1"
) -> bytes:
    """A request; `headers` replace the usual ones, and `None` leaves one out."""
    lines = {**HEADERS, "Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"{method} {target} HTTP/{version}\r\n{head}\r\n".encode("latin-1") + body


class Wire:
    """A raw connection to a server, for which tests write every byte."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=10)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self, *, head_only: bool = False) -> Response:
        """The next response."""
        line = self._file.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        status = int(line.split()[1])
        headers = {}
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if head_only or status == 100:
            return Response(status, headers, b"")
        return Response(status, headers, self._body(headers))

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self._file.read(int(headers["content-length"]))
        body = b""
        while size := int(self._file.readline(), 16):
            body += self._file.read(size)
            self._file.readline()
        self._file.readline()
        return body

    def at_end(self) -> bool:
        """Whether the server has closed the connection and all data was read."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def ask(
        self, body: bytes = b"{}", headers: Mapping[str, str | None] | None = None, method: str = "POST", target: str = "/"
    ) -> Response:
        self.send(message(body, headers, method, target))
        return self.receive(head_only=method == "HEAD")
