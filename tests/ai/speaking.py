"""Answers of services, in the bytes of their documented protocols, and what was asked of them."""

import struct
import zlib
from typing import Any

import orjson

from tests.net.http.faulty import Act, Service, answer


def said(body: Any, status: int = 200, **headers: str) -> Act:
    """A JSON answer."""
    return answer(orjson.dumps(body), status, content_type="application/json", **headers)


def streamed(pieces: list[bytes], kind: str, end: str = "keep", whole: bool = True) -> Act:
    """A chunked answer; without its end if it is not to be whole."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]
    return Act((head, *chunks, *([b"0\r\n\r\n"] if whole else [])), end)


def events(*bodies: Any, done: bool = True, **options: Any) -> Act:
    """Server-sent events."""
    pieces = [b"data: " + orjson.dumps(body) + b"\n\n" for body in bodies]
    return streamed([*pieces, *([b"data: [DONE]\n\n"] if done else [])], "text/event-stream", **options)


def lines(*bodies: Any, **options: Any) -> Act:
    """Lines of JSON."""
    return streamed([orjson.dumps(body) + b"\n" for body in bodies], "application/x-ndjson", **options)


def framed(kind: str, name: str, body: dict[str, Any]) -> bytes:
    """One message of Amazon's event streams: lengths, checksums, headers and a body."""
    headers = b""
    for header, value in ((":message-type", kind), (f":{kind}-type", name), (":content-type", "application/json")):
        headers += struct.pack("!B", len(header)) + header.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
    payload = orjson.dumps(body)
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


def asked(service: Service, number: int = -1) -> dict[str, Any]:
    """The JSON body of a request that the service has had."""
    found: dict[str, Any] = orjson.loads(service.requests[number].partition(b"\r\n\r\n")[2])
    return found


def head(service: Service, number: int = -1) -> str:
    """The head of a request that the service has had, in small letters."""
    return service.requests[number].partition(b"\r\n\r\n")[0].decode().lower()
