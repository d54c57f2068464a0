"""An answer, and how it is written on the wire."""

import itertools
import secrets
import zlib
from dataclasses import dataclass
from http import HTTPStatus

import orjson

from gateleg.endpoint.encoding import COMPRESS_FROM, choose_encoding, compress
from gateleg.endpoint.requests import Request
from gateleg.engine import EngineError

__all__ = ["AMZ_JSON", "Answer", "error_answer", "packed"]

AMZ_JSON = b"application/x-amz-json-1.0"
PLAIN_JSON = b"application/json"

#: What DynamoDB answers to a body over its limit, before it has read all of it: no request id, no error document.
TOO_LARGE = b"HTTP/1.1 413 Request Entity Too Large\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
#: What cannot be read as HTTP, or has a head over the limit, gets no error document either.
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS = {status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus}
_HEAD = (
    b"HTTP/1.1 %b\r\nServer: Server\r\nDate: %b\r\n%bContent-Length: %d\r\nConnection: %b\r\n"
    b"x-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\n\r\n%b"
)
_ID_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body and what else the answer's head holds."""

    status: int
    body: bytes = b""
    content_type: bytes | None = None
    #: further header lines, each ended by CRLF
    headers: bytes = b""


NOT_FOUND = Answer(404, b"<UnknownOperationException/>\n")


def error_answer(error: EngineError, content_type: bytes) -> Answer:
    """The answer that carries an error."""
    return Answer(error.status, orjson.dumps(error.body()), content_type)


class RequestIds:
    """Ids of 52 capitals and digits, as DynamoDB has them: a random run, then a count, so that making one costs little."""

    def __init__(self) -> None:
        self._run = "".join(secrets.choice(_ID_ALPHABET) for _ in range(40)).encode()
        self._count = itertools.count()

    def next(self) -> bytes:
        """An id that was not given before."""
        return b"%b%012X" % (self._run, next(self._count))


def packed(request: Request, answer: Answer) -> tuple[bytes, bytes | None]:
    """The body as it is sent, and its encoding: compressed if the client accepts it and the body is large enough to gain by it."""
    body = answer.body
    if len(body) >= COMPRESS_FROM and b"accept-encoding" in request.headers:
        encoding = choose_encoding(request.accepts or request.headers[b"accept-encoding"])
        if encoding is not None:
            smaller = compress(body, encoding)
            if len(smaller) < len(body):
                return smaller, encoding
    return body, None


def render(request: Request, answer: Answer, *, date: bytes, request_id: bytes, keep_alive: bool, cors: bytes) -> bytes:
    """The answer as bytes; `cors` are the header lines for a browser's script."""
    body, encoding = packed(request, answer)
    extra = answer.headers + cors
    if encoding is not None:
        extra += b"Content-Encoding: " + encoding + b"\r\n"
    if answer.content_type is not None:
        extra += b"Content-Type: " + answer.content_type + b"\r\n"
    # The checksum is of the bytes as sent, compressed or not: that is what the SDKs verify.
    return _HEAD % (
        _STATUS[answer.status],
        date,
        extra,
        len(body),
        b"keep-alive" if keep_alive else b"close",
        request_id,
        zlib.crc32(body),
        body if request.method != b"HEAD" else b"",
    )
