"""The protocols `Objects` and `AsyncObjects`: the same methods, sync and async.

Descriptions of objects, pages of listings, and byte ranges.

Content of any kind as chunks, with a verified digest.

Content type and metadata of an object, validated so that every store can keep them.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

from gateleg.objects.errors import BadMetadata, Damaged, RangeOutside

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from gateleg.objects.links import UploadForm

__all__ = ["content_type_of"]


@runtime_checkable
class Readable(Protocol):
    """An open binary file, or anything with such a `read`."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes; empty at the end."""
        ...


#: Accepted content: bytes, the path of a file, an open file, or an iterable of chunks.
Body = bytes | bytearray | memoryview | os.PathLike[str] | Readable | Iterable[bytes]
AsyncBody = Body | AsyncIterable[bytes]


class Upload(Protocol):
    """An object that is written in chunks. It becomes visible when `finish` returns.

    Leaving the context manager without `finish` aborts the upload. So does an error in `write` or `finish`, such as a full disk or a lost
    connection.
    """

    def write(self, chunk: bytes | memoryview) -> None:
        """Append a chunk to the content."""
        ...

    def finish(self) -> ObjectInfo:
        """Create or replace the object, which is durable when this returns."""
        ...

    def abort(self) -> None:
        """Remove the written content. Does nothing after `finish`."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *details: object) -> None: ...


class Download(Protocol):
    """An object that is read in chunks: iterate over it and close it, or use it as a context manager.

    It reads the object that it opened, even if another one is written under the same key meanwhile. An object that is read completely is
    verified against its digest.
    """

    @property
    def info(self) -> ObjectInfo:
        """The object."""
        ...

    @property
    def start(self) -> int:
        """The offset of the first byte."""
        ...

    @property
    def stop(self) -> int:
        """The offset after the last byte."""
        ...

    def __iter__(self) -> Iterator[bytes]: ...

    def close(self) -> None:
        """Close the file or connection."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *details: object) -> None: ...


class AsyncDownload(Protocol):
    """As `Download`, for asyncio."""

    @property
    def info(self) -> ObjectInfo:
        """The object."""
        ...

    @property
    def start(self) -> int:
        """The offset of the first byte."""
        ...

    @property
    def stop(self) -> int:
        """The offset after the last byte."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None:
        """Close the file or connection."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *details: object) -> None: ...


class Objects(Protocol):
    """An object store: content by key. An invalid key raises `S3KeyRefused`, a missing object `ObjectMissing`."""

    def put(
        self,
        key: str,
        body: Body,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        if_absent: bool = False,
    ) -> ObjectInfo:
        """Store or replace an object atomically. It is durable when this returns.

        By default, the key's extension determines the content type. With `sha256`, other content raises `DigestMismatch`. With `if_absent`,
        an existing object is kept and `ObjectExists` is raised; of several concurrent writers, exactly one succeeds.
        """
        ...

    def upload(
        self,
        key: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        size: int | None = None,
        if_absent: bool = False,
    ) -> Upload:
        """Start writing an object. `size` is a hint for very large objects; `if_absent` works as in `put`, and is checked by `finish`."""
        ...

    def get(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> bytes:
        """Read the content, or a range of it, into memory. Raises `NotModified` if the object has the etag `unless_etag`."""
        ...

    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> Download:
        """Read the content, or a range of it, in chunks. Raises `NotModified` if the object has the etag `unless_etag`."""
        ...

    def head(self, key: str) -> ObjectInfo:
        """Read the description of an object: size, etag, type and metadata."""
        ...

    def exists(self, key: str) -> bool:
        """Whether an object with the key exists."""
        ...

    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = 1000) -> ObjectPage:
        """List a page of the objects whose keys start with `prefix`.

        With a delimiter, keys that contain it after `prefix` are grouped by their common prefixes. `limit`, at most 1,000, counts objects
        and prefixes. Pass the page's `cursor` to get the next page.
        """
        ...

    def walk(self, prefix: str = "") -> Iterator[Entry]:
        """Iterate over all objects whose keys start with `prefix`, read page by page."""
        ...

    def delete(self, key: str) -> None:
        """Delete an object. A missing object is not an error."""
        ...

    def delete_many(self, keys: Iterable[str]) -> None:
        """Delete any number of objects. An invalid key raises `S3KeyRefused` before anything is deleted."""
        ...

    def copy(self, source: str, target: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
        """Store a copy under another key. By default, it has the same content type and metadata."""
        ...

    def presign(
        self,
        key: str,
        *,
        method: Method = "GET",
        expires: float = 3600,
        content_type: str | None = None,
        length: int | None = None,
        download: str | None = None,
        sha256: str | None = None,
    ) -> str:
        """A URL that lets its holder read (GET) or write (PUT) one object for at least `expires` seconds.

        Within a window of at most 15 minutes, the same call returns the same URL, so that players and caches do not load an object twice;
        the URL is valid for up to that much longer. A PUT can require a `content_type` and an exact `length` in bytes, which the headers of
        the request must then repeat. With `download`, browsers save the response under that name. With `sha256`, the URL serves only this
        content: `ContentDiffers` is raised if the object has another, and a folder refuses the request if it was replaced since.
        """
        ...

    def presign_upload(
        self, key: str, *, max_bytes: int, expires: float = 3600, content_type: str | None = None, once: bool = False
    ) -> UploadForm:
        """A form that lets its holder upload one object of at most `max_bytes` bytes for at least `expires` seconds.

        Send it with the form's method. If it has fields, send them as multipart/form-data with the file as the last field, `file`;
        otherwise the file is the body. With `once`, the form only creates the object and never replaces it, if the store can enforce this:
        a folder does, and a bucket does not. So copy what was uploaded to a key of its own before anything relies on it.
        """
        ...

    def sweep(self, *, older_than: timedelta = ...) -> int:
        """Remove unfinished uploads that were not written to for `older_than` (by default a day). Returns their number."""
        ...

    def close(self) -> None:
        """Close connections and threads."""
        ...


class AsyncObjects(Protocol):
    """As `Objects`, awaited."""

    async def put(
        self,
        key: str,
        body: AsyncBody,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        if_absent: bool = False,
    ) -> ObjectInfo:
        """See `Objects.put`. Chunks may also come from an async iterator; if the task is cancelled before its end, nothing is stored.

        Other content is written by a thread, which finishes even if the task is cancelled.
        """
        ...

    async def get(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> bytes:
        """See `Objects.get`."""
        ...

    async def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> AsyncDownload:
        """See `Objects.stream`."""
        ...

    async def head(self, key: str) -> ObjectInfo:
        """See `Objects.head`."""
        ...

    async def exists(self, key: str) -> bool:
        """See `Objects.exists`."""
        ...

    async def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = 1000) -> ObjectPage:
        """See `Objects.list`."""
        ...

    def walk(self, prefix: str = "") -> AsyncIterator[Entry]:
        """See `Objects.walk`."""
        ...

    async def delete(self, key: str) -> None:
        """See `Objects.delete`."""
        ...

    async def delete_many(self, keys: Iterable[str]) -> None:
        """See `Objects.delete_many`."""
        ...

    async def copy(
        self, source: str, target: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> ObjectInfo:
        """See `Objects.copy`."""
        ...

    async def presign(
        self,
        key: str,
        *,
        method: Method = "GET",
        expires: float = 3600,
        content_type: str | None = None,
        length: int | None = None,
        download: str | None = None,
        sha256: str | None = None,
    ) -> str:
        """See `Objects.presign`."""
        ...

    async def presign_upload(
        self, key: str, *, max_bytes: int, expires: float = 3600, content_type: str | None = None, once: bool = False
    ) -> UploadForm:
        """See `Objects.presign_upload`."""
        ...

    async def sweep(self, *, older_than: timedelta = ...) -> int:
        """See `Objects.sweep`."""
        ...

    async def close(self) -> None:
        """See `Objects.close`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *details: Any) -> None: ...


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
