"""HTTP/1.1 without I/O: requests as values, responses parsed from received bytes, and streams of JSON events in their bodies."""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

import httptools
import orjson

from gateleg.net.errors import BadHeader, BadResponse, ConnectionLost, ResponseTooLarge
from gateleg.net.guard import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The default maximum size of a response.
LIMIT = 64 * 1024 * 1024
#: The maximum size of an event. Events normally contain a few words, or the arguments of a tool.
_MAX_EVENT = 8 * 1024 * 1024
#: The characters that paths may contain unencoded (RFC 3986). Some services have colons in paths and do not accept them encoded.
_PATH = "/-_.~%:@!$&'()*+,;="
#: Bytes of a message of an event stream before its headers: two lengths and their checksum.
_PRELUDE = 12
#: The largest message of an event stream that the services send.
_MAX_MESSAGE = 24 * 1024 * 1024
#: Lengths of the header values of an event stream by their type, for those of a fixed length.
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to a URL."""

    url: str
    body: bytes = b""
    #: not in the `repr`, because they may contain a key
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    method: str = "POST"

    @property
    def address(self) -> Address:
        """The address of the server."""
        parts = urlsplit(self.url)
        return Address.parse(f"{parts.scheme}://{parts.netloc}")

    @property
    def target(self) -> str:
        """The path and query of the request line."""
        parts = urlsplit(self.url)
        path = quote(parts.path, safe=_PATH) or "/"
        return f"{path}?{parts.query}" if parts.query else path

    def encode(self) -> bytes:
        """The bytes of the request. Raises `BadHeader` for a header with control or non-ASCII characters."""
        headers = {
            "host": self.address.authority,
            "accept-encoding": "identity",
            "content-length": str(len(self.body)),
            **self.headers,
        }
        for name, value in headers.items():
            if not (name + value).isascii() or not (name + value).isprintable():
                raise BadHeader(f"The header {name} cannot be sent: it contains a control character or a non-ASCII character.")
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + self.body


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


class Framing(Protocol):
    """Splits a stream into events."""

    #: why no event can be read after those that were returned
    failure: BadResponse | None

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete."""
        ...

    def end(self) -> list[dict[str, Any]]:
        """End the stream, and return the events that this completes."""
        ...


class EventFraming(ABC):
    """What all framings share: an event that cannot be read does not lose those before it, however the bytes arrive."""

    def __init__(self) -> None:
        self._rest = b""
        self.failure: BadResponse | None = None

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete. Raises `BadResponse` if the first of them cannot be read."""
        return self._complete(self._split(data))

    def end(self) -> list[dict[str, Any]]:
        """End the stream, and return the events that this completes."""
        return self._complete(self._split_end())

    def _complete(self, events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.failure is not None:
            raise self.failure
        complete = []
        try:
            for event in events:
                complete.append(event)  # noqa: PERF402 - those before an error are kept
        except BadResponse as error:
            if not complete:
                raise
            self.failure = error
        return complete

    @abstractmethod
    def _split(self, data: bytes) -> Iterator[dict[str, Any]]: ...

    @abstractmethod
    def _split_end(self) -> Iterator[dict[str, Any]]: ...


class JsonLines(EventFraming):
    """A stream with one JSON object per line; the last line needs no line break."""

    def _split(self, data: bytes) -> Iterator[dict[str, Any]]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        _bound(self._rest)
        return (_object(line) for line in lines if line.strip())

    def _split_end(self) -> Iterator[dict[str, Any]]:
        rest, self._rest = self._rest, b""
        return (_object(line) for line in [rest] if line.strip())


class ServerSentEvents(EventFraming):
    """A `text/event-stream` whose data are JSON objects; `[DONE]`, comments and other fields are ignored."""

    def __init__(self) -> None:
        super().__init__()
        self._data: list[bytes] = []

    def _split(self, data: bytes) -> Iterator[dict[str, Any]]:
        # Lines end with CR, LF or both, which may arrive separately.
        text = self._rest + data
        held = text.endswith(b"\r")
        *lines, rest = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + b"\r" if held else rest
        _bound(self._rest)
        return (event for line in lines for event in self._take(line))

    def _split_end(self) -> Iterator[dict[str, Any]]:
        # Some services omit the empty line after the last event.
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        return (event for line in ([rest, b""] if rest else [b""]) for event in self._take(line))

    def _take(self, line: bytes) -> list[dict[str, Any]]:
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                _bound(value)
            return []
        whole, self._data = b"\n".join(self._data), []
        return [] if not whole.strip() or whole.strip() == b"[DONE]" else [_object(whole)]


class EventStream(EventFraming):
    """Amazon's event streams: messages with lengths, checksums, typed headers and a JSON body.

    An event is `{its type: its body}`, and an exception `{"error": {"type": ..., "message": ...}}`.
    """

    def _split(self, data: bytes) -> Iterator[dict[str, Any]]:
        self._rest += data
        while len(self._rest) >= _PRELUDE:
            size, headers, checksum = struct.unpack("!III", self._rest[:_PRELUDE])
            if zlib.crc32(self._rest[: _PRELUDE - 4]) != checksum or not _PRELUDE + headers + 4 <= size <= _MAX_MESSAGE:
                raise BadResponse("The event stream is damaged: the lengths of a message are wrong.")
            if len(self._rest) < size:
                return
            message, self._rest = self._rest[:size], self._rest[size:]
            if zlib.crc32(message[:-4]) != int.from_bytes(message[-4:], "big"):
                raise BadResponse("The event stream is damaged: the checksum of a message is wrong.")
            yield _event(_headers(message[_PRELUDE : _PRELUDE + headers]), message[_PRELUDE + headers : -4])

    def _split_end(self) -> Iterator[dict[str, Any]]:
        if self._rest:
            raise BadResponse("The event stream ended in the middle of a message.")
        yield from ()


def _event(headers: dict[str, str], body: bytes) -> dict[str, Any]:
    kind = headers.get(":message-type")
    if kind == "error":
        return {"error": {"type": headers.get(":error-code", ""), "message": headers.get(":error-message", "")}}
    content = _object(body) if body else {}
    if kind == "exception":
        return {"error": {"type": headers.get(":exception-type", ""), "message": content.get("message") or ""}}
    return {headers.get(":event-type", ""): content}


def _headers(data: bytes) -> dict[str, str]:
    """The headers of a message that are texts; the others, such as dates, are not needed."""
    headers: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            name = data[place + 1 : place + 1 + data[place]].decode()
            place += 1 + data[place]
            kind, place = data[place], place + 1
            if kind in _FIXED:
                place += _FIXED[kind]
                continue
            size = int.from_bytes(data[place : place + 2], "big")
            if kind == 7:
                headers[name] = data[place + 2 : place + 2 + size].decode()
            place += 2 + size
    except (IndexError, UnicodeDecodeError):
        raise BadResponse("The event stream is damaged: the headers of a message are not readable.") from None
    return headers


def _bound(data: bytes) -> None:
    if len(data) > _MAX_EVENT:
        raise BadResponse(f"An event of the stream is larger than {_MAX_EVENT:,} bytes.")


def _object(data: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError:
        event = None
    if not isinstance(event, dict):
        raise BadResponse("An event of the stream is not a JSON object.")
    return event
