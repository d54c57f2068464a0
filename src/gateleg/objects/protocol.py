"""The protocols `Objects` and `AsyncObjects`: the same methods, sync and async."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from datetime import timedelta

    from gateleg.objects.links import UploadForm
    from gateleg.objects.values import ByteRange, Entry, Method, ObjectInfo, ObjectPage


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
