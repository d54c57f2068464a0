"""Responses from bytes, whole or piece by piece. No I/O here: what was received is fed in."""

from __future__ import annotations

from typing import NamedTuple

import httptools

from gateleg.net.http.errors import BadResponse, ConnectionLost, ResponseTooLarge

__all__ = ["Response"]

#: The largest response, unless a client says otherwise.
LIMIT = 64 * 1024 * 1024


class Response(NamedTuple):
    """A whole response: headers by their names in lower case, and the body as it was sent."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    #: whether the connection may carry another request
    keep_alive: bool


class ResponseReader:
    """Reads the responses that come over one connection, one after the other."""

    __slots__ = ("_limit", "_parser", "_pieces", "_size", "done", "headers", "keep_alive", "opened", "status")

    def __init__(self, limit: int = LIMIT) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._limit = limit
        self.restart()

    def restart(self) -> None:
        """Be ready for the next response."""
        self._pieces: list[bytes] = []
        self._size = 0
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        #: the head has been read
        self.opened = False
        #: the response is whole
        self.done = False
        self.keep_alive = False

    @property
    def begun(self) -> bool:
        """Whether a part of a response has come."""
        return self._size > 0

    @property
    def pending(self) -> bool:
        """Whether a part of the body waits to be taken."""
        return bool(self._pieces)

    def feed(self, data: bytes) -> bool:
        """Take in what was received; whether the response is whole now."""
        self._size += len(data)
        if self._size > self._limit:
            raise ResponseTooLarge(f"The response is larger than {self._limit:,} bytes.")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise BadResponse(f"The response is not HTTP: {error}.") from None
        return self.done

    def end(self) -> None:
        """The connection is at its end, which is also the response's if it has no length."""
        if self.done:
            return
        if not self.opened or b"content-length" in self.headers or b"transfer-encoding" in self.headers:
            raise ConnectionLost("The connection was closed in the middle of the response." if self._size else "The connection was closed.")
        self.done = True

    def take(self) -> bytes:
        """What has come of the body since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def finish(self) -> Response:
        """The whole response. The reader is ready for the next one."""
        response = Response(self.status, self.headers, self.take(), self.keep_alive)
        self.restart()
        return response

    def on_message_begin(self) -> None:
        """Called by the parser. One response is expected at a time."""
        if self.done:
            raise BadResponse("There is more than one response.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Called by the parser, which forgets at the end of a response whether another may follow."""
        self.status = self._parser.get_status_code()
        self.opened = self.status >= 200
        self.keep_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Called by the parser. An interim response (1xx) is followed by the real one."""
        if self.opened:
            self.done = True
        else:
            self.headers.clear()


def text_headers(headers: dict[bytes, bytes]) -> dict[str, str]:
    """Headers as texts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
