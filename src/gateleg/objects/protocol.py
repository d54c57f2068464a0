"""`Objects`, the base class of object stores, with `Upload` and `Download`; and `AsyncObjects`, the same methods, awaited.

Each public method has its signature here, once. A store implements the abstract ones; those that take many arguments reach it as a value
that has been validated: `NewObject`, or the `Grant` of a link.

File I/O and botocore both block. So stores are written once, synchronously, and `ThreadedObjects` makes them awaitable with threads. A
thread is occupied for one chunk at a time, never while a slow client sends or receives.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import hmac
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from gateleg.model.types import check_object_key
from gateleg.objects.errors import ContentDiffers, DigestMismatch, ObjectMissing
from gateleg.objects.links import Grant
from gateleg.objects.values import chunks_of, content_type_of, digest_of, size_of, validate_metadata, verify_chunks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
    from types import CoroutineType

    from gateleg.objects.links import UploadForm
    from gateleg.objects.values import AsyncBody, Body, ByteRange, Entry, Method, ObjectInfo, ObjectPage

P = ParamSpec("P")
R = TypeVar("R")
#: The maximum size of a page of a listing.
PAGE = 1000
DAY = timedelta(days=1)
_SHA256 = re.compile("[0-9a-f]{64}")
#: The threads of a `ThreadedObjects`.
_THREADS = 16


class Objects(ABC):
    """An object store: content by key. An invalid key raises `S3KeyRefused`, a missing object `ObjectMissing`.

    Close it at the end, or use it as a context manager.
    """

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
        size = size_of(body)
        if sha256 is None and size is not None and self._needs_digest(size):
            check_object_key(key)
            sha256 = digest_of(body)
        with self.upload(key, content_type=content_type, metadata=metadata, sha256=sha256, size=size, if_absent=if_absent) as upload:
            for chunk in chunks_of(body):
                upload.write(chunk)
            return upload.finish()

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
        check_object_key(key)
        return self._upload(NewObject(key, content_type_of(key, content_type), validate_metadata(metadata), sha256, size, if_absent))

    def get(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> bytes:
        """Read the content, or a range of it, into memory. Raises `NotModified` if the object has the etag `unless_etag`."""
        with self.stream(key, range=range, unless_etag=unless_etag) as download:
            return b"".join(download)

    @abstractmethod
    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> Download:
        """Read the content, or a range of it, in chunks. Raises `NotModified` if the object has the etag `unless_etag`."""

    @abstractmethod
    def head(self, key: str) -> ObjectInfo:
        """Read the description of an object: size, etag, type and metadata."""

    def exists(self, key: str) -> bool:
        """Whether an object with the key exists."""
        try:
            self.head(key)
        except ObjectMissing:
            return False
        return True

    @abstractmethod
    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = PAGE) -> ObjectPage:
        """List a page of the objects whose keys start with `prefix`.

        With a delimiter, keys that contain it after `prefix` are grouped by their common prefixes. `limit`, at most 1,000, counts objects
        and prefixes. Pass the page's `cursor` to get the next page.
        """

    def walk(self, prefix: str = "") -> Iterator[Entry]:
        """Iterate over all objects whose keys start with `prefix`, read page by page."""
        cursor: str | None = None
        while True:
            page = self.list(prefix, cursor=cursor)
            yield from page.objects
            cursor = page.cursor
            if cursor is None:
                return

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete an object. A missing object is not an error."""

    def delete_many(self, keys: Iterable[str]) -> None:
        """Delete any number of objects. An invalid key raises `S3KeyRefused` before anything is deleted."""
        for key in [check_object_key(key) for key in keys]:
            self.delete(key)

    @abstractmethod
    def copy(self, source: str, target: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
        """Store a copy under another key. By default, it has the same content type and metadata."""

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
        content: `ContentDiffers` is raised if the object has another, and a folder refuses the request if it was replaced since. A bucket
        cannot compare the content again, and a URL that was signed with temporary credentials stops working when they expire.
        """
        grant = Grant(key, method, content_type, length, download, sha256=sha256)
        if sha256 is not None:
            self._require_content(key, sha256)
        return self._presigned(grant, expires)

    def presign_upload(
        self, key: str, *, max_bytes: int, expires: float = 3600, content_type: str | None = None, once: bool = False
    ) -> UploadForm:
        """A form that lets its holder upload one object of at most `max_bytes` bytes for at least `expires` seconds.

        Send it with the form's method. If it has fields, send them as multipart/form-data with the file as the last field, `file`;
        otherwise the file is the body. With `once`, the form only creates the object and never replaces it, if the store can enforce this:
        a folder does, and a bucket does not. So copy what was uploaded to a key of its own before anything relies on it.
        """
        return self._upload_form(Grant(key, "PUT", content_type, max_bytes=max_bytes, once=once), expires)

    @abstractmethod
    def sweep(self, *, older_than: timedelta = DAY) -> int:
        """Remove unfinished uploads that were not written to for `older_than` (by default a day). Returns their number."""

    @abstractmethod
    def close(self) -> None:
        """Close files, connections and threads."""

    @abstractmethod
    def _upload(self, new: NewObject) -> Upload:
        """Start writing an object."""

    def _needs_digest(self, size: int) -> bool:
        """Whether the digest of content of this size must be known before it is written."""
        return False

    @abstractmethod
    def _presigned(self, grant: Grant, expires: float) -> str:
        """The URL for a grant."""

    @abstractmethod
    def _upload_form(self, grant: Grant, expires: float) -> UploadForm:
        """The form for the grant of an upload."""

    def _require_content(self, key: str, sha256: str) -> None:
        """Raise `ContentDiffers` unless the object has this digest. The content is read if the store does not know its digest."""
        digest = self.head(key).sha256
        if digest is None:
            with self.stream(key) as download:
                digest = digest_of(iter(download))
        if digest != sha256:
            raise ContentDiffers(f"The content of {key!r} has the SHA-256 digest {digest}, not {sha256}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object that is to be written, with what its caller said of it."""

    key: str
    content_type: str
    metadata: Mapping[str, str]
    #: the expected digest, if it is known
    sha256: str | None = None
    #: the expected size, if it is known
    size: int | None = None
    if_absent: bool = False

    def __post_init__(self) -> None:
        if self.sha256 is not None and not _SHA256.fullmatch(self.sha256):
            raise ValueError("sha256 must be 64 lower-case hexadecimal digits.")


class Upload(ABC):
    """An object that is written in chunks. It becomes visible when `finish` returns. Any thread may abort it.

    Leaving the context manager without `finish` aborts the upload. So does an error in `write` or `finish`, such as a full disk or a lost
    connection: the upload cannot continue, because the amount of written content is unknown.
    """

    def __init__(self, new: NewObject) -> None:
        self.new = new
        self.key = new.key
        #: the number of bytes written so far
        self.size = 0
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._open = True

    def write(self, chunk: bytes | memoryview) -> None:
        """Append a chunk to the content."""
        with self._lock:
            self._require_open()
            if isinstance(chunk, memoryview):
                chunk = chunk.cast("B")  # so that its length is the number of bytes
            with self._abort_on_error():
                self._write(chunk)
            self._digest.update(chunk)
            self.size += len(chunk)

    def finish(self) -> ObjectInfo:
        """Create or replace the object, which is durable when this returns."""
        with self._lock:
            self._require_open()
            digest = self._digest.hexdigest()
            if self.new.sha256 is not None and not hmac.compare_digest(digest, self.new.sha256):
                raise DigestMismatch(f"The content of {self.key!r} does not match the announced SHA-256 digest.")
            with self._abort_on_error():
                info = self._finish(digest)
            self._open = False
            return info

    def abort(self) -> None:
        """Remove the written content. Does nothing after `finish`."""
        with self._lock:
            if self._open:
                self._open = False
                self._abort()

    @abstractmethod
    def _write(self, chunk: bytes | memoryview) -> None: ...

    @abstractmethod
    def _finish(self, digest: str) -> ObjectInfo: ...

    @abstractmethod
    def _abort(self) -> None: ...

    @contextmanager
    def _abort_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._open = False
            # The caller needs the original error; `sweep` removes what remains.
            with suppress(OSError):
                self._abort()
            raise

    def _require_open(self) -> None:
        if not self._open:
            raise ValueError(f"The upload of {self.key!r} has ended; start another one.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.abort()


class Download(ABC):
    """An object that is read in chunks: iterate over it and close it, or use it as a context manager.

    It reads the object that it opened, even if another one is written under the same key meanwhile. An object that is read completely is
    verified against its digest.
    """

    #: the object
    info: ObjectInfo
    #: the offset of the first byte
    start: int
    #: the offset after the last byte
    stop: int

    def __iter__(self) -> Iterator[bytes]:
        return verify_chunks(self._chunks(), self.info) if self.stop - self.start == self.info.size else self._chunks()

    @abstractmethod
    def _chunks(self) -> Iterator[bytes]: ...

    @abstractmethod
    def close(self) -> None:
        """Close the file or connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def validate_limit(limit: int) -> int:
    """Return the limit of a page; raise `ValueError` if it is invalid."""
    if not 1 <= limit <= PAGE:
        raise ValueError(f"limit must be 1 to {PAGE:,}.")
    return limit


def _awaited(verb: Callable[Concatenate[Objects, P], R]) -> Callable[Concatenate[AsyncObjects, P], CoroutineType[Any, Any, R]]:
    """An awaitable method from a blocking one, typed as the `async def` that checkers expect."""

    # Not with its attributes, among them the mark of abstract methods.
    @functools.wraps(verb, updated=())
    async def awaited(self: AsyncObjects, /, *args: P.args, **options: P.kwargs) -> R:
        result: R = await self.run(functools.partial(getattr(self.objects, verb.__name__), *args, **options))
        return result

    return cast("Callable[Concatenate[AsyncObjects, P], CoroutineType[Any, Any, R]]", awaited)


class AsyncObjects(ABC):
    """As `Objects`, awaited."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects

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
        described: dict[str, Any] = {"content_type": content_type, "metadata": metadata, "sha256": sha256, "if_absent": if_absent}
        if not isinstance(body, AsyncIterable):
            return await self.run(functools.partial(self.objects.put, key, body, **described))
        begin = functools.partial(self.objects.upload, key, **described, size=size_of(body))
        return await self._write_chunks(await self.run(begin, lambda upload: upload.abort()), body)

    get = _awaited(Objects.get)

    async def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> AsyncDownload:
        """See `Objects.stream`."""
        begin = functools.partial(self.objects.stream, key, range=range, unless_etag=unless_etag)
        return AsyncDownload(self, await self.run(begin, lambda download: download.close()))

    head = _awaited(Objects.head)
    exists = _awaited(Objects.exists)
    list = _awaited(Objects.list)

    async def walk(self, prefix: str = "") -> AsyncIterator[Entry]:
        """See `Objects.walk`."""
        cursor: str | None = None
        while True:
            page = await self.list(prefix, cursor=cursor)
            for entry in page.objects:
                yield entry
            cursor = page.cursor
            if cursor is None:
                return

    delete = _awaited(Objects.delete)
    delete_many = _awaited(Objects.delete_many)
    copy = _awaited(Objects.copy)
    presign = _awaited(Objects.presign)
    presign_upload = _awaited(Objects.presign_upload)
    sweep = _awaited(Objects.sweep)

    @abstractmethod
    async def run(self, work: Callable[[], R], undo: Callable[[R], object] | None = None) -> R:
        """Run a blocking function. If the task is cancelled meanwhile, `undo` is called with the unused result."""

    @abstractmethod
    async def _write_chunks(self, upload: Upload, chunks: AsyncIterable[bytes]) -> ObjectInfo:
        """Write and finish an upload. If the task is cancelled meanwhile, the upload is aborted."""

    @abstractmethod
    async def close(self) -> None:
        """See `Objects.close`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.close()


class AsyncDownload:
    """As `Download`, for asyncio."""

    def __init__(self, owner: AsyncObjects, download: Download) -> None:
        self._owner = owner
        self._download = download

    @property
    def info(self) -> ObjectInfo:
        """The object."""
        return self._download.info

    @property
    def start(self) -> int:
        """The offset of the first byte."""
        return self._download.start

    @property
    def stop(self) -> int:
        """The offset after the last byte."""
        return self._download.stop

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks: Iterator[bytes] = iter(self._download)
        while (chunk := await self._owner.run(functools.partial(next, chunks, None))) is not None:
            yield chunk

    async def close(self) -> None:
        """Close the file or connection."""
        self._download.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.close()


class ThreadedObjects(AsyncObjects):
    """An async object store that runs another store in threads: `ThreadedObjects(open_objects("s3://bucket"))`. Closing it closes both."""

    def __init__(self, objects: Objects, *, threads: int = _THREADS) -> None:
        super().__init__(objects)
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="gateleg-objects")

    async def run(self, work: Callable[[], R], undo: Callable[[R], object] | None = None) -> R:
        """Run a function in a thread. If the task is cancelled meanwhile, `undo` is called with the unused result."""
        future = self._executor.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if undo is not None:
                future.add_done_callback(functools.partial(_undo_result, undo))
            raise

    async def _write_chunks(self, upload: Upload, chunks: AsyncIterable[bytes]) -> ObjectInfo:
        try:
            async for chunk in chunks:
                await self.run(functools.partial(upload.write, chunk))
            return await self.run(upload.finish)
        except BaseException:
            # Not awaited, because the task may be cancelled. The upload itself waits for a step in progress.
            self._executor.submit(upload.abort)
            raise

    async def close(self) -> None:
        """Close the store once all threads have finished."""
        await asyncio.get_running_loop().run_in_executor(None, self._executor.shutdown)
        self.objects.close()


def _undo_result(undo: Callable[[Any], object], future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        undo(future.result())
