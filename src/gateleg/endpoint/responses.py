"""Responses and their wire format."""

import itertools
import secrets
import zlib
from dataclasses import dataclass
from http import HTTPStatus

import orjson

from gateleg.endpoint.encoding import MIN_COMPRESSED_BYTES, choose_encoding, compress
from gateleg.endpoint.requests import IncomingRequest
from gateleg.engine import EngineError

__all__ = ["AMZ_JSON", "OutgoingResponse", "encode_body", "error_response"]

AMZ_JSON = b"application/x-amz-json-1.0"
PLAIN_JSON = b"application/json"

#: DynamoDB's response to an oversized body, sent before it is complete: no request id, no error document.
TOO_LARGE = b"HTTP/1.1 413 Request Entity Too Large\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
#: The response to invalid HTTP or an oversized head; also without an error document.
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS = {status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus}
_HEAD = (
    b"HTTP/1.1 %b\r\nServer: Server\r\nDate: %b\r\n%bContent-Length: %d\r\nConnection: %b\r\n"
    b"x-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\n\r\n%b"
)
_ID_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class OutgoingResponse:
    """An HTTP response: status, body and headers."""

    status: int
    body: bytes = b""
    content_type: bytes | None = None
    #: additional header lines, each ending in CRLF
    headers: bytes = b""


NOT_FOUND = OutgoingResponse(404, b"<UnknownOperationException/>\n")


def error_response(error: EngineError, content_type: bytes) -> OutgoingResponse:
    """The response for an error."""
    return OutgoingResponse(error.status, orjson.dumps(error.body()), content_type)


class RequestIds:
    """Request ids of 52 capitals and digits like DynamoDB's: a random prefix and a counter, which is fast."""

    def __init__(self) -> None:
        self._prefix = "".join(secrets.choice(_ID_ALPHABET) for _ in range(40)).encode()
        self._count = itertools.count()

    def next(self) -> bytes:
        """A new id."""
        return b"%b%012X" % (self._prefix, next(self._count))


def encode_body(request: IncomingRequest, response: OutgoingResponse) -> tuple[bytes, bytes | None]:
    """The body to send and its encoding: compressed if the client accepts it and the body is large enough."""
    body = response.body
    if len(body) >= MIN_COMPRESSED_BYTES and b"accept-encoding" in request.headers:
        encoding = choose_encoding(request.accepts or request.headers[b"accept-encoding"])
        if encoding is not None:
            smaller = compress(body, encoding)
            if len(smaller) < len(body):
                return smaller, encoding
    return body, None


def render(request: IncomingRequest, response: OutgoingResponse, *, date: bytes, request_id: bytes, keep_alive: bool, cors: bytes) -> bytes:
    """The bytes of a response. `cors` are CORS header lines."""
    body, encoding = encode_body(request, response)
    extra = response.headers + cors
    if encoding is not None:
        extra += b"Content-Encoding: " + encoding + b"\r\n"
    if response.content_type is not None:
        extra += b"Content-Type: " + response.content_type + b"\r\n"
    # SDKs verify the checksum of the bytes as sent, compressed or not.
    return _HEAD % (
        _STATUS[response.status],
        date,
        extra,
        len(body),
        b"keep-alive" if keep_alive else b"close",
        request_id,
        zlib.crc32(body),
        body if request.method != b"HEAD" else b"",
    )
