"""Streams of JSON: server-sent events, and lines. What was received is fed in; whole events come out."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from gateleg.net.http.errors import BadResponse

#: One event holds a few words, or the arguments of a tool.
_LONGEST = 8 * 1024 * 1024


class Framing(Protocol):
    """Cuts a stream into events."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The events that are whole now."""
        ...

    def end(self) -> list[dict[str, Any]]:
        """The events that the end of the stream makes whole."""
        ...


class JsonLines:
    """One JSON object on each line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The events that are whole now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        _bound(self._rest)
        return [_object(line) for line in lines if line.strip()]

    def end(self) -> list[dict[str, Any]]:
        """The last line may lack its end."""
        rest, self._rest = self._rest, b""
        return [_object(rest)] if rest.strip() else []


class ServerSentEvents:
    """`text/event-stream` whose data are JSON objects; `[DONE]`, comments and the other fields are passed over."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The events that are whole now. A line may end with CR, LF or both; a CR at the end of what came waits for its LF."""
        text = self._rest + data
        held = text.endswith(b"\r")
        *lines, rest = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + b"\r" if held else rest
        _bound(self._rest)
        return [event for line in lines for event in self._take(line)]

    def end(self) -> list[dict[str, Any]]:
        """An event that is not followed by an empty line counts too: some services end so."""
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
    if len(data) > _LONGEST:
        raise BadResponse(f"An event of the stream is larger than {_LONGEST:,} bytes.")


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise BadResponse("An event of the stream is not a JSON object.")
    return found
