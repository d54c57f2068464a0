"""Parse responses from received bytes, whole or in pieces. No I/O."""

from __future__ import annotations

from typing import NamedTuple

import httptools

from gateleg.net.http.errors import BadResponse, ConnectionLost, ResponseTooLarge

__all__ = ["Response"]

#: The default maximum size of a response.
LIMIT = 64 * 1024 * 1024


class Response(NamedTuple):
    """A complete response: headers by lower-case name, and the body as it was sent."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    #: whether the connection can be used for another request
    keep_alive: bool


class ResponseReader:
    """Parses the responses of one connection, one after the other."""

    __slots__ = ("_limit", "_parser", "_pieces", "_size", "done", "headers", "keep_alive", "opened", "status")

    def __init__(self, limit: int = LIMIT) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._limit = limit
        self.restart()

    def restart(self) -> None:
        """Prepare for the next response."""
        self._pieces: list[bytes] = []
        self._size = 0
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        #: whether the head is complete
        self.opened = False
        #: whether the response is complete
        self.done = False
        self.keep_alive = False

    @property
    def begun(self) -> bool:
        """Whether a part of a response was received."""
        return self._size > 0

    @property
    def pending(self) -> bool:
        """Whether a part of the body was received and not yet taken."""
        return bool(self._pieces)

    def feed(self, data: bytes) -> bool:
        """Add received bytes, and return whether the response is complete. Raises `BadResponse`."""
        self._size += len(data)
        if self._size > self._limit:
            raise ResponseTooLarge(f"The response is larger than {self._limit:,} bytes.")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise BadResponse(f"The response is not HTTP: {error}.") from None
        return self.done

    def end(self) -> None:
        """Handle the end of the connection, which ends a response without a length. Raises `ConnectionLost` for other responses."""
        if self.done:
            return
        if not self.opened or b"content-length" in self.headers or b"transfer-encoding" in self.headers:
            raise ConnectionLost("The connection was closed in the middle of the response." if self._size else "The connection was closed.")
        self.done = True

    def take(self) -> bytes:
        """The part of the body that was received since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def finish(self) -> Response:
        """Return the complete response, and prepare for the next one."""
        response = Response(self.status, self.headers, self.take(), self.keep_alive)
        self.restart()
        return response

    def on_message_begin(self) -> None:
        """Called by the parser. Only one response is expected at a time."""
        if self.done:
            raise BadResponse("The server sent more than one response.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Called by the parser, which knows only now whether the connection stays open."""
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
    """Headers as `str`."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
