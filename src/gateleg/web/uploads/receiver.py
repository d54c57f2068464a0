"""Receives files into a folder or the object store; counts, hashes and identifies them as they arrive.

Parses multipart forms as they arrive, holding only the current chunk in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING, Generic

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from gateleg.objects import plain_name, sniff, sniff_file
from gateleg.objects.sniffing import HEAD
from gateleg.web.uploads.fields import BadForm, Fields, FormFields, UploadRules, check_field, check_file_field, merge_fields

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request

    from gateleg.objects import AsyncObjects, ObjectInfo


#: Bytes that are buffered before a thread writes them.
_BUFFER_BYTES = 1 << 20
#: The maximum size of a form without its files.
_FORM_OVERHEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class ReceivedFile:
    """A received file: its sanitised name, its path, and its type by content."""

    name: str
    path: Path
    size: int
    sha256: str
    content_type: str


@dataclass(frozen=True)
class ReceivedForm(Generic[Fields]):
    """The files and the fields of a request."""

    files: list[ReceivedFile]
    fields: Fields


async def receive_files(request: Request, folder: Path, rules: UploadRules) -> list[ReceivedFile]:
    """Receive the files of a request to a route without fields of its own; see `receive_form`."""
    return (await receive_form(request, folder, rules, FormFields())).files


async def receive_form(request: Request, folder: Path, rules: UploadRules, query: Fields) -> ReceivedForm[Fields]:
    """Receive the files of a request, each into a folder of its own below `folder`, so that they keep their names, and its fields.

    The request is a form with files, or one file as its body, named by `Content-Disposition`. `query` holds the fields that came in the
    query; those of the form are added to them. Fields that its model does not declare are refused, and so are two values for one field.
    A violation of the rules is refused as early as possible: by Content-Length, by the name of a field, by the first bytes of a file, or
    by the bytes received. The caller removes the folder.
    """
    content_type = request.headers.get("content-type", "")
    rules.check_size(_content_length(request) - (_FORM_OVERHEAD_BYTES if _is_form(content_type) else 0))
    found: list[ReceivedFile] = []
    fields: list[tuple[str, str]] = []
    writer: _FileWriter | None = None
    received = 0
    async for event in _events(request, content_type):
        if isinstance(event, MultipartField):
            check_field(type(query), event.name)
            fields.append((event.name, event.value))
        elif isinstance(event, FileStart):
            if event.field is not None:
                check_file_field(type(query), event.field)
            if writer is not None:
                found.append(await writer.finish(rules))
            if len(found) == rules.files:
                raise BadForm(f"At most {rules.files} files are accepted in one request.", fix="Send the files in several requests.")
            writer = _FileWriter(folder / str(len(found)), plain_name(event.name))
        elif isinstance(event, bytes) and writer is not None:
            received += len(event)
            rules.check_size(received)
            await writer.write(event, rules)
    if writer is not None:
        found.append(await writer.finish(rules))
    merged = merge_fields(query, fields)
    if not found:
        raise BadForm("The request contains no file.")
    return ReceivedForm(found, merged)


async def receive_object(request: Request, objects: AsyncObjects, key: str, rules: UploadRules, *, name: str = "") -> ObjectInfo:
    """Store the body of a request as an object while it arrives. Nothing is stored if it is incomplete or breaks the rules.

    The type of the object is detected from its content.
    """
    rules.check_size(_content_length(request))
    chunks = request.stream().__aiter__()
    head = b""
    while len(head) < HEAD:
        try:
            head += await anext(chunks)
        except StopAsyncIteration:
            break
    rules.check_size(len(head))
    shown = name or key.rpartition("/")[2]
    found = sniff(head)
    rules.check_type(shown, found, empty=not head)
    return await objects.put(key, _limited(head, chunks, rules), content_type=found)


async def _limited(head: bytes, chunks: AsyncIterator[bytes], rules: UploadRules) -> AsyncIterator[bytes]:
    received = len(head)
    yield head
    async for chunk in chunks:
        received += len(chunk)
        rules.check_size(received)
        if chunk:
            yield chunk


async def _events(request: Request, content_type: str) -> AsyncIterator[object]:
    if _is_form(content_type):
        async for event in read_form(content_type, request.stream()):
            yield event
        return
    name = parse_file_name(request.headers.get("content-disposition", ""))
    if not name and _media_type(content_type) == "application/x-www-form-urlencoded":
        raise BadForm(
            "The body was sent as application/x-www-form-urlencoded, a form that cannot contain files.",
            fix="Send a form with files (curl -F file=@name), or the file as the body with its own Content-Type (curl -T name).",
        )
    yield FileStart(name)
    async for chunk in request.stream():
        yield chunk


def _is_form(content_type: str) -> bool:
    return _media_type(content_type) == "multipart/form-data"


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _content_length(request: Request) -> int:
    """The Content-Length of a request; 0 if it is missing."""
    length = request.headers.get("content-length", "")
    return int(length[:18]) if length.isascii() and length.isdigit() else 0


def parse_file_name(disposition: str) -> str:
    """The file name of a `Content-Disposition` header, in any script."""
    message = Message()
    message["content-disposition"] = disposition
    return message.get_filename("")


class _FileWriter:
    """A file that is being written to disk."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(mode=0o700)
        self.path = folder / name
        self._file = self.path.open("wb")
        self._digest = hashlib.sha256()
        self._buffer = bytearray()
        self._size = 0
        self._checked = False

    async def write(self, piece: bytes, rules: UploadRules) -> None:
        self._buffer += piece
        self._size += len(piece)
        if not self._checked and self._size >= HEAD:
            self._checked = True
            rules.check_start(self.path.name, sniff(bytes(self._buffer[:HEAD])))
        if len(self._buffer) >= _BUFFER_BYTES:
            await self._flush()

    async def _flush(self) -> None:
        block, self._buffer = bytes(self._buffer), bytearray()
        await asyncio.to_thread(self._append, block)

    def _append(self, block: bytes) -> None:
        self._file.write(block)
        self._digest.update(block)

    async def finish(self, rules: UploadRules) -> ReceivedFile:
        await self._flush()
        self._file.close()
        found = await asyncio.to_thread(sniff_file, self.path)
        rules.check_type(self.path.name, found, empty=not self._size)
        return ReceivedFile(self.path.name, self.path, self._size, self._digest.hexdigest(), found)

    def __del__(self) -> None:
        self._file.close()


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
