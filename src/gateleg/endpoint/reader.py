"""Bytes in, requests out: HTTP/1.1 within limits."""

from collections import deque
from enum import Enum

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from gateleg.endpoint.answers import BAD_REQUEST, TOO_LARGE
from gateleg.endpoint.limits import Limits
from gateleg.endpoint.requests import Request


class Phase(Enum):
    """How far the request is that is being read."""

    BETWEEN = "between"
    HEAD = "head"
    BODY = "body"


class Reader:
    """Reads the requests of one connection. What is too large is noticed before it is all there."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parser = HttpRequestParser(self)
        self._request = Request()
        #: bytes that the head may still have
        self._head_left = 0
        #: bytes of an unfinished head, from the second piece on
        self._head_size: int | None = None
        self._body: bytes | bytearray = b""
        self.phase = Phase.BETWEEN
        #: requests that are whole, in order
        self.requests: deque[Request] = deque()
        #: whether there will be no more requests: the client said so, or did something that ends the connection
        self.ended = False
        #: what to tell a client that did such a thing, after the answers to its requests
        self.last_word: bytes | None = None
        #: whether the client waits to be told that it may send the body
        self.asks_to_go_on = False

    def feed(self, data: bytes) -> None:
        """Take what came in."""
        piece = data
        while piece and not self.ended:
            try:
                self._parser.feed_data(piece)
                break
            except HttpParserUpgrade as upgrade:
                piece = self._without_upgrade(piece[upgrade.args[0] :])
            except HttpParserError:
                self._refuse(BAD_REQUEST)
        if self.phase is Phase.HEAD:
            self._bound_head(len(data))

    def end(self) -> None:
        """Read no more."""
        self.ended = True

    def _refuse(self, last_word: bytes) -> None:
        if not self.ended:
            self.ended = True
            self.last_word = last_word
            self.phase = Phase.BETWEEN
            self._body = b""

    def _bound_head(self, received: int) -> None:
        """Refuse a head that does not end. The piece in which it began is not counted: it may hold much else."""
        if self._head_size is None:
            self._head_size = 0
            return
        self._head_size += received
        if self._head_size > self._limits.head:
            self._refuse(BAD_REQUEST)

    def _without_upgrade(self, rest: bytes) -> bytes:
        """What to read instead of a request that asks for another protocol: the same without that wish, which a server may pass over."""
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
        """A request starts."""
        if self.ended:
            return
        self._request = Request()
        self.phase = Phase.HEAD
        self._head_size = None
        self._head_left = self._limits.head
        self._body = b""

    def on_url(self, url: bytes) -> None:
        """A part of the request's target, most often all of it."""
        self._head_left -= len(url)
        if self._head_left < 0:
            self._refuse(BAD_REQUEST)
            return
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header line. Trailers after a chunked body mean nothing here."""
        if self.phase is not Phase.HEAD:
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
        """The head is there: refuse a body that is too large before it is sent."""
        if self.ended:
            return
        request = self._request
        headers = request.headers
        self.phase = Phase.BODY
        request.method = self._parser.get_method()
        request.keep_alive = self._parser.should_keep_alive()
        length = headers.get(b"content-length")
        if length is not None and int(length) > self._limits.body:
            self._refuse(TOO_LARGE)
        elif b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self.asks_to_go_on = True

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if self.ended:
            return
        self.asks_to_go_on = False
        if not self._body:
            self._body = body
        else:
            # A buffer that grows: a body in many small pieces would take far more memory as a list of them.
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += body
        if len(self._body) > self._limits.body:
            self._refuse(TOO_LARGE)

    def on_message_complete(self) -> None:
        """A request is whole, unless it asks for another protocol: then it is read again."""
        if self.ended or self._parser.should_upgrade():
            return
        request = self._request
        request.body = bytes(self._body)
        self._body = b""
        self.asks_to_go_on = False
        self.phase = Phase.BETWEEN
        self.requests.append(request)
        self.ended = not request.keep_alive
