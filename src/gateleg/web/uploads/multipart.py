"""Forms with files, read as they arrive: nothing is held but the piece at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from gateleg.web.uploads.rules import BadForm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

#: Bytes of all fields that are not files; forms have few and short ones.
_FIELDS = 100_000


@dataclass(frozen=True)
class FileBegins:
    """A file begins; its pieces follow. The name is as it was sent."""

    name: str


@dataclass(frozen=True)
class Field:
    """A field of the form that is not a file."""

    name: str
    value: str


Event = FileBegins | Field | bytes


async def read_form(content_type: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """What is in a form, in order: fields, and files piece by piece. Raises `BadForm`."""
    reading = _Reading(content_type)
    async for chunk in chunks:
        for event in reading.feed(chunk):
            yield event
    reading.finish()


class _Reading:
    """Turns the parser's callbacks into events."""

    def __init__(self, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise BadForm("The body is not a form with files.")
        self._events: list[Event] = []
        self._headers: dict[bytes, bytes] = {}
        self._header = [b"", b""]
        self._is_file = False
        self._field = b""
        self._value = bytearray()
        self._fields = 0
        self._whole = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": lambda data, start, end: self._collect(0, data[start:end]),
                "on_header_value": lambda data, start, end: self._collect(1, data[start:end]),
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_end,
                "on_part_data": lambda data, start, end: self._data(data[start:end]),
                "on_part_end": self._part_ends,
                "on_end": self._ends,
            },
        )

    def feed(self, chunk: bytes) -> list[Event]:
        self._events = []
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise BadForm("The form cannot be read.") from None
        return self._events

    def finish(self) -> None:
        if not self._whole:
            raise BadForm("The form ends in the middle.")

    def _part_begins(self) -> None:
        self._headers, self._header = {}, [b"", b""]

    def _collect(self, place: int, piece: bytes) -> None:
        self._header[place] += piece

    def _header_ends(self) -> None:
        self._headers[self._header[0].lower()] = self._header[1]
        self._header = [b"", b""]

    def _headers_end(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._field, self._value = options.get(b"name", b""), bytearray()
        self._is_file = b"filename" in options
        if self._is_file:
            self._events.append(FileBegins(options[b"filename"].decode("utf-8", "replace")))

    def _data(self, piece: bytes) -> None:
        if self._is_file:
            self._events.append(bytes(piece))
            return
        self._fields += len(piece)
        if self._fields > _FIELDS:
            raise BadForm("The fields of the form are too long.")
        self._value += piece

    def _part_ends(self) -> None:
        if not self._is_file:
            self._events.append(Field(self._field.decode("utf-8", "replace"), self._value.decode("utf-8", "replace")))

    def _ends(self) -> None:
        self._whole = True
