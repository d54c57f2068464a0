"""Parses multipart forms as they arrive, holding only the current chunk in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from gateleg.web.uploads.rules import BadForm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

#: The maximum size of all fields that are not files.
_MAX_FIELD_BYTES = 100_000
#: The maximum number of fields and files. Parsing this many takes some 10 ms.
_MAX_PARTS = 1_000


@dataclass(frozen=True)
class FileStart:
    """The start of a file, followed by its chunks. The name is as the client sent it; `field` is None for a body that is not a form."""

    name: str
    field: str | None = None


@dataclass(frozen=True)
class MultipartField:
    """A field of the form that is not a file."""

    name: str
    value: str


Event = FileStart | MultipartField | bytes


async def read_form(content_type: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """The fields and files of a form, in order; files in chunks. Raises `BadForm`."""
    reading = _FormParser(content_type)
    async for chunk in chunks:
        for event in reading.feed(chunk):
            yield event
    reading.finish()


class _FormParser:
    """Turns the parser's callbacks into events."""

    def __init__(self, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise BadForm("The body is not multipart/form-data.")
        self._events: list[Event] = []
        self._headers: dict[bytes, bytes] = {}
        self._header = [b"", b""]
        self._is_file = False
        self._field = b""
        self._value = bytearray()
        self._fields = 0
        self._parts = 0
        self._complete = False
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
                "on_end": self._form_ends,
            },
        )

    def feed(self, chunk: bytes) -> list[Event]:
        self._events = []
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise BadForm("The form is not valid multipart/form-data.") from None
        return self._events

    def finish(self) -> None:
        if not self._complete:
            raise BadForm("The form is incomplete.")

    def _part_begins(self) -> None:
        self._headers, self._header = {}, [b"", b""]
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise BadForm(f"The form has more than {_MAX_PARTS:,} fields and files.", fix="Send the files in several requests.")

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
            self._events.append(FileStart(options[b"filename"].decode("utf-8", "replace"), self._field.decode("utf-8", "replace")))

    def _data(self, piece: bytes) -> None:
        if self._is_file:
            self._events.append(bytes(piece))
            return
        self._fields += len(piece)
        if self._fields > _MAX_FIELD_BYTES:
            raise BadForm(f"The fields of the form have more than {_MAX_FIELD_BYTES:,} bytes.")
        self._value += piece

    def _part_ends(self) -> None:
        if not self._is_file:
            self._events.append(MultipartField(self._field.decode("utf-8", "replace"), self._value.decode("utf-8", "replace")))

    def _form_ends(self) -> None:
        self._complete = True
