"""Parse streams of JSON events, as server-sent events or lines, from received bytes."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from gateleg.net.http.errors import BadResponse

#: The maximum size of an event. Events normally contain a few words, or the arguments of a tool.
_MAX_EVENT = 8 * 1024 * 1024


class Framing(Protocol):
    """Splits a stream into events."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete."""
        ...

    def end(self) -> list[dict[str, Any]]:
        """End the stream, and return the events that this completes."""
        ...


class JsonLines:
    """A stream with one JSON object per line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        _bound(self._rest)
        return [_object(line) for line in lines if line.strip()]

    def end(self) -> list[dict[str, Any]]:
        """The event of a last line without a line break."""
        rest, self._rest = self._rest, b""
        return [_object(rest)] if rest.strip() else []


class ServerSentEvents:
    """A `text/event-stream` whose data are JSON objects; `[DONE]`, comments and other fields are ignored."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Add received bytes, and return the events that they complete. Lines end with CR, LF or both, which may arrive separately."""
        text = self._rest + data
        held = text.endswith(b"\r")
        *lines, rest = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + b"\r" if held else rest
        _bound(self._rest)
        return [event for line in lines for event in self._take(line)]

    def end(self) -> list[dict[str, Any]]:
        """The last event, even without an empty line after it: some services omit that."""
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        return [*self._take(rest), *self._take(b"")] if rest else self._take(b"")

    def _take(self, line: bytes) -> list[dict[str, Any]]:
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                _bound(value)
            return []
        whole, self._data = b"\n".join(self._data), []
        return [] if not whole.strip() or whole.strip() == b"[DONE]" else [_object(whole)]


def _bound(data: bytes) -> None:
    if len(data) > _MAX_EVENT:
        raise BadResponse(f"An event of the stream is larger than {_MAX_EVENT:,} bytes.")


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise BadResponse("An event of the stream is not a JSON object.")
    return found
