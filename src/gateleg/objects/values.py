"""The values of object stores: descriptions of objects, byte ranges, content, content types and metadata.

Content types and metadata are validated so that every store can keep them. Keys are validated by the model's `check_object_key`.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from gateleg.objects.errors import BadMetadata, Damaged, RangeOutside

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["content_type_of"]

Method = Literal["GET", "PUT"]
_RANGE = re.compile(r"\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", re.ASCII | re.IGNORECASE)
#: The maximum number of digits in a header; longer numbers, which exceed the size of any object, are truncated.
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in a listing."""

    key: str
    size: int
    #: changes whenever the content does; opaque, without quotes
    etag: str
    modified: datetime


@dataclass(frozen=True, slots=True)
class ObjectInfo(Entry):
    """The description of an object."""

    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict)
    #: the SHA-256 digest of the content in hexadecimal, if the store knows it
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """A page of a listing, ordered by the bytes of the keys."""

    objects: tuple[Entry, ...]
    #: with a delimiter: the common prefixes of grouped keys
    prefixes: tuple[str, ...] = ()
    #: the cursor for the next `list`; None at the end
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A byte range as in HTTP: from `first` to `last` inclusive; without `first`, the last `last` bytes."""

    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if self.first is None and self.last is None:
            raise ValueError("ByteRange needs first, last or both.")
        if min(self.first or 0, self.last or 0) < 0:
            raise ValueError("first and last of a ByteRange must not be negative.")
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError("last of a ByteRange must not be before first.")

    @classmethod
    def parse(cls, header: str) -> ByteRange | None:
        """The range of a `Range` header. None for several ranges and for invalid ones, which HTTP servers ignore."""
        match = _RANGE.fullmatch(header)
        if match is None:
            return None
        first, last = (int(number[:_DIGITS]) if number else None for number in match.groups())
        try:
            return cls(first, last)
        except ValueError:
            return None

    @property
    def header(self) -> str:
        """The range as the value of a `Range` header."""
        return f"bytes={'' if self.first is None else self.first}-{'' if self.last is None else self.last}"

    def within(self, size: int) -> tuple[int, int]:
        """The offsets of the first byte and after the last one, in an object of this size. Raises `RangeOutside`."""
        if self.first is None:
            start, stop = max(0, size - (self.last or 0)), size
        else:
            start, stop = self.first, size if self.last is None else min(size, self.last + 1)
        if start >= stop:
            raise RangeOutside(f"The range {self.header} is outside the object, which has {size:,} bytes.", size=size)
        return start, stop


@runtime_checkable
class Readable(Protocol):
    """An open binary file, or anything with such a `read`."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes; empty at the end."""
        ...


#: Accepted content: bytes, the path of a file, an open file, or an iterable of chunks.
Body = bytes | bytearray | memoryview | os.PathLike[str] | Readable | Iterable[bytes]
AsyncBody = Body | AsyncIterable[bytes]
#: Large enough that the cost of a call does not matter, small enough that many uploads fit into memory.
CHUNK_SIZE = 256 * 1024


def chunks_of(body: Body) -> Iterator[bytes | memoryview]:
    """The content in chunks. An iterable's own chunks are passed on unchanged."""
    if isinstance(body, str):
        raise TypeError("The content must not be a str: encode it, or pass a Path to read a file.")
    if isinstance(body, bytes | bytearray | memoryview):
        view = memoryview(body).cast("B")
        yield from (view[start : start + CHUNK_SIZE] for start in range(0, len(view), CHUNK_SIZE))
    elif isinstance(body, os.PathLike):
        with open(body, "rb") as file:
            while chunk := file.read(CHUNK_SIZE):
                yield chunk
    elif isinstance(body, Readable):
        while chunk := body.read(CHUNK_SIZE):
            yield chunk
    else:
        yield from body


def size_of(body: object) -> int | None:
    """The size of the content, if it is known without reading it."""
    if isinstance(body, bytes | bytearray | memoryview):
        return memoryview(body).nbytes
    return os.stat(body).st_size if isinstance(body, os.PathLike) else None


def digest_of(body: Body) -> str:
    """The SHA-256 digest of content that can be read twice."""
    digest = hashlib.sha256()
    for chunk in chunks_of(body):
        digest.update(chunk)
    return digest.hexdigest()


def verify_chunks(chunks: Iterator[bytes], info: ObjectInfo) -> Iterator[bytes]:
    """The chunks of a whole object. Its digest, if known, is verified at the end."""
    if info.sha256 is None:
        yield from chunks
        return
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != info.sha256:
        raise Damaged(f"The content of {info.key!r} does not match its digest.")


#: Metadata names with this prefix are reserved for the stores.
RESERVED_PREFIX = "gateleg-"
#: The maximum size of all names and values together, as S3 counts it.
MAX_METADATA_BYTES = 2048

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?|")
_CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+( *; *[\w.+-]+=(\"[ !#-\[\]-~]*\"|[\w.+-]+))*", re.ASCII)
#: Types of formats that browsers play or show and that Python's table lacks in some versions.
_EXTRA_TYPES = {
    ".avif": "image/avif",
    ".flac": "audio/flac",
    ".gltf": "model/gltf+json",
    ".jsonl": "application/jsonl",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".mkv": "video/x-matroska",
    ".ogg": "audio/ogg",
    ".parquet": "application/vnd.apache.parquet",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".yaml": "application/yaml",
}


def _table() -> mimetypes.MimeTypes:
    # Without the machine's tables, so that a key has the same type on every machine.
    table = mimetypes.MimeTypes(filenames=(), strict=False)
    for suffix, kind in _EXTRA_TYPES.items():
        table.add_type(kind, suffix)
    return table


_TYPES = _table()


def content_type_of(key: str, content_type: str | None = None) -> str:
    """The content type, validated; by default that of the key's extension. Raises `BadMetadata`."""
    if content_type is None:
        _, dot, ending = key.rpartition("/")[2].rpartition(".")
        guessed, encoding = _TYPES.guess_type(f"name{dot}{ending.lower()}", strict=False)
        return guessed if guessed is not None and encoding is None else "application/octet-stream"
    if len(content_type) > 255 or not _CONTENT_TYPE.fullmatch(content_type):
        raise BadMetadata(
            f"{content_type[:60]!r} is not a valid content type.", fix="Use a type such as image/png or text/html; charset=utf-8."
        )
    return content_type


def validate_metadata(metadata: Mapping[str, str] | None) -> Mapping[str, str]:
    """A validated copy of the metadata. Raises `BadMetadata`."""
    kept = dict(metadata or {})
    for name, value in kept.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadMetadata(f"{name!r} is not a valid metadata name.")
        if name.startswith(RESERVED_PREFIX):
            raise BadMetadata(f"{name!r} begins with {RESERVED_PREFIX!r}, which is reserved.")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise BadMetadata(f"The value of {name!r} is not printable ASCII.")
    if sum(len(name) + len(value) for name, value in kept.items()) > MAX_METADATA_BYTES:
        raise BadMetadata(f"The metadata has more than {MAX_METADATA_BYTES:,} bytes.")
    return kept
