"""Parse HTTP/1.1 requests from bytes, within limits."""

from collections import deque
from enum import Enum

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from gateleg.endpoint.limits import Limits
from gateleg.endpoint.requests import IncomingRequest
from gateleg.endpoint.responses import BAD_REQUEST, TOO_LARGE

#: Bytes of chunk sizes and extensions that each byte of a body may take: small chunks need five.
_MOST_FRAMING = 16


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
