"""HTTP/1.1 as the endpoint speaks it: requests are read from bytes, within limits, and responses become bytes, compressed or not."""

import itertools
import secrets
import zlib
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus

import orjson
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from gateleg.engine import EngineError

AMZ_JSON = b"application/x-amz-json-1.0"
PLAIN_JSON = b"application/json"

#: DynamoDB's response to an oversized body, sent before it is complete: no request id, no error document.
TOO_LARGE = b"HTTP/1.1 413 Request Entity Too Large\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
#: The response to invalid HTTP or an oversized head; also without an error document.
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

#: Bytes of chunk sizes and extensions that each byte of a body may take: small chunks need five.
_MOST_FRAMING = 16

_STATUS = {status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus}
_HEAD = (
    b"HTTP/1.1 %b\r\nServer: Server\r\nDate: %b\r\n%bContent-Length: %d\r\nConnection: %b\r\n"
    b"x-amzn-RequestId: %b\r\nx-amz-crc32: %d\r\n\r\n%b"
)
_ID_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: Shorter responses are not compressed.
MIN_COMPRESSED_BYTES = 4096

#: zlib's window argument for each encoding; adding 16 selects the gzip format.
_WINDOW = {b"gzip": 31, b"deflate": 15}

#: The maximum number of members in a gzip body. Each takes time, so a million empty ones would be an attack.
MAX_GZIP_MEMBERS = 1024
#: The number of bytes to decompress at once. The rest of a piece after the end of a member is copied, so pieces must be short.
_CHUNK_BYTES = 16 * 1024

#: Level 1 takes a third of the time of level 6, for a few percent more bytes.
_LEVEL = 1


@dataclass(slots=True)
class IncomingRequest:
    """An HTTP request. Header names are in lower case; the values of a repeated header are joined by commas."""

    method: bytes = b""
    #: the request target: path and query
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    keep_alive: bool = True
    #: the first of several Accept-Encoding lines, the only one that DynamoDB considers (while a signature covers all)
    accepts: bytes | None = None

    @property
    def path(self) -> bytes:
        """The target without its query."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """The part of the target after the question mark."""
        return self.target.partition(b"?")[2]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of each connection, in bytes and seconds."""

    #: bytes of a body, before and after decompression
    body: int = 16 * 1024 * 1024
    #: bytes of the request line and headers
    head: int = 16 * 1024
    #: seconds between requests
    idle: float = 120.0
    #: seconds for the head of a request to arrive
    head_time: float = 30.0
    #: seconds for the body of a request to arrive
    body_time: float = 300.0
    #: seconds that a client may leave a response unread
    send: float = 60.0
    #: seconds to keep a refused connection open, so that the client can read the reason
    linger: float = 10.0
    #: seconds for requests in progress to finish when the server stops
    drain: float = 30.0


class ReadPhase(Enum):
    """The part of a request that is being read."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"


class RequestReader:
    """Reads the requests of one connection. Oversized requests are refused before they are complete."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parser = HttpRequestParser(self)
        self._request = IncomingRequest()
        #: the remaining bytes allowed for the head
        self._head_left = 0
        #: the bytes of an unfinished head, from the second piece on
        self._head_size: int | None = None
        self._body: bytes | bytearray = b""
        #: bytes of chunk sizes, their extensions and trailers, without those of the first piece
        self._framing = 0
        self.phase = ReadPhase.IDLE
        #: complete requests, in order
        self.requests: deque[IncomingRequest] = deque()
        #: whether no more requests follow, because the client closes the connection or sent an invalid request
        self.ended = False
        #: the response to an invalid request, to send after all other responses
        self.final_response: bytes | None = None
        #: whether the client waits for 100 Continue before it sends the body
        self.expects_continue = False

    def feed(self, data: bytes) -> None:
        """Parse received bytes."""
        if self.phase is ReadPhase.BODY:
            self._framing += len(data)
        piece = data
        while piece and not self.ended:
            try:
                self._parser.feed_data(piece)
                break
            except HttpParserUpgrade as upgrade:
                piece = self._without_upgrade(piece[upgrade.args[0] :])
            except HttpParserError:
                self._refuse(BAD_REQUEST)
        if self.phase is ReadPhase.HEAD:
            self._limit_head(len(data))
        elif self.phase is ReadPhase.BODY and self._framing > self._limits.head + _MOST_FRAMING * len(self._body):
            self._refuse(BAD_REQUEST)

    def end(self) -> None:
        """Stop reading."""
        self.ended = True

    def _refuse(self, final_response: bytes) -> None:
        if not self.ended:
            self.ended = True
            self.final_response = final_response
            self.phase = ReadPhase.IDLE
            self._body = b""

    def _limit_head(self, received: int) -> None:
        """Refuse a head that is too long. Its first piece is not counted, because it may contain earlier requests."""
        if self._head_size is None:
            self._head_size = 0
            return
        self._head_size += received
        if self._head_size > self._limits.head:
            self._refuse(BAD_REQUEST)

    def _without_upgrade(self, rest: bytes) -> bytes:
        """The bytes of a request without its Upgrade headers, which a server may ignore."""
        request = self._request
        if request.method == b"CONNECT":
            self._refuse(BAD_REQUEST)
            return b""
        headers = {name: value for name, value in request.headers.items() if name not in (b"upgrade", b"connection")}
        if not request.keep_alive:
            headers[b"connection"] = b"close"
        lines = b"".join(b"%b: %b\r\n" % line for line in headers.items())
        self._parser = HttpRequestParser(self)
        return b"%b %b HTTP/1.1\r\n%b\r\n%b" % (request.method, request.target, lines, rest)

    def on_message_begin(self) -> None:
        """Parser callback: a request starts."""
        if self.ended:
            return
        self._request = IncomingRequest()
        self.phase = ReadPhase.HEAD
        self._head_size = None
        self._head_left = self._limits.head
        self._body = b""

    def on_url(self, url: bytes) -> None:
        """Parser callback: a part of the request target."""
        self._head_left -= len(url)
        if self._head_left < 0:
            self._refuse(BAD_REQUEST)
            return
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser callback: a header. Trailers after a chunked body are ignored."""
        if self.phase is not ReadPhase.HEAD:
            return
        self._head_left -= len(name) + len(value) + 4
        if self._head_left < 0:
            self._refuse(BAD_REQUEST)
            return
        name = name.lower()
        headers = self._request.headers
        if name not in headers:
            headers[name] = value
        else:
            if name == b"accept-encoding" and self._request.accepts is None:
                self._request.accepts = headers[name]
            headers[name] += b"," + value

    def on_headers_complete(self) -> None:
        """Parser callback: the head is complete. Refuses a body that is too large before it is sent."""
        if self.ended:
            return
        request = self._request
        headers = request.headers
        self.phase = ReadPhase.BODY
        self._framing = 0
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive()
        length = headers.get(b"content-length")
        if length is not None and int(length) > self._limits.body:
            self._refuse(TOO_LARGE)
        elif b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self.expects_continue = True

    def on_body(self, body: bytes) -> None:
        """Parser callback: a part of the body."""
        if self.ended:
            return
        self.expects_continue = False
        self._framing -= len(body)
        if not self._body:
            self._body = body
        else:
            # Append to one buffer: a list of many small pieces would take far more memory.
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += body
        if len(self._body) > self._limits.body:
            self._refuse(TOO_LARGE)

    def on_message_complete(self) -> None:
        """Parser callback: a request is complete. Upgrade requests are parsed again without the upgrade."""
        if self.ended or self._parser.should_upgrade():
            return
        request = self._request
        request.body = bytes(self._body)
        self._body = b""
        self.expects_continue = False
        self.phase = ReadPhase.IDLE
        self.requests.append(request)
        self.ended = not request.keep_alive


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


def choose_encoding(accepted: bytes) -> bytes | None:
    """The encoding of the response: the highest weight in `Accept-Encoding`; among equals, names before `*`, then the first one."""
    named: dict[str, float] = {}
    others = 0.0
    for part in accepted.decode("latin-1").lower().split(","):
        name, _, parameters = part.strip().partition(";")
        name = name.strip()
        quality = _quality(parameters)
        if name == "*":
            others = quality
        elif name in ("gzip", "deflate"):
            named[name] = max(quality, named.get(name, 0.0))
    candidates = [*named.items(), *((name, others) for name in ("gzip", "deflate") if name not in named)]
    best, quality = max(candidates, key=lambda candidate: candidate[1])
    return best.encode() if quality > 0 else None


def _quality(parameters: str) -> float:
    """The weight in an encoding's parameters, parsed as leniently as DynamoDB does: the first `q=` anywhere, 1 if it is not a number."""
    _, weight, rest = parameters.partition("q=")
    if not weight:
        return 1.0
    text = rest.partition(";")[0].strip()
    digits = text.removeprefix("-").replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()):
        return 1.0
    return min(float(text), 1.0)


def compress(body: bytes, encoding: bytes) -> bytes:
    """Compress a body with `gzip` or `deflate`."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW[encoding])
    return packer.compress(body) + packer.flush()


def decompress(body: bytes, encoding: bytes, limit: int) -> bytes:
    """Decompress a body. Raises `UndecodableBody`, or `OversizedBody` beyond `limit` bytes, without decompressing much more."""
    encoding = encoding.strip().lower()
    if encoding in (b"", b"identity"):
        return body
    window = _WINDOW.get(encoding)
    if window is None:
        raise UndecodableBody(f"{encoding.decode('latin-1')!r} is not gzip, deflate or identity")
    plain = bytearray()
    stream, members = zlib.decompressobj(window), 1
    for start in range(0, len(body), _CHUNK_BYTES):
        piece = body[start : start + _CHUNK_BYTES]
        while piece:
            if stream.eof:
                if encoding == b"deflate" or members == MAX_GZIP_MEMBERS:
                    raise UndecodableBody("the body has data after its end")
                stream, members = zlib.decompressobj(window), members + 1
            try:
                plain += stream.decompress(piece, limit + 1 - len(plain))
            except zlib.error as error:
                raise UndecodableBody(str(error)) from error
            if len(plain) > limit:
                raise OversizedBody
            piece = stream.unused_data
    if not stream.eof:
        raise UndecodableBody("the compressed body is truncated")
    return bytes(plain)


class UndecodableBody(Exception):
    """The body does not match its `Content-Encoding`, or the encoding is unknown."""


class OversizedBody(Exception):
    """The decompressed body exceeds the limit."""
