"""Base classes of object stores: methods that are built on other methods, and the life cycle of uploads.

`ThreadedObjects`: any `Objects` as `AsyncObjects`, by running each step in a thread.

File I/O and botocore both block. So the logic is written once, synchronously, and only this module uses asyncio. A thread is occupied for
one chunk at a time, never while a slow client sends or receives.
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
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from gateleg.model.types import check_object_key
from gateleg.objects.errors import ContentDiffers, DigestMismatch, ObjectMissing
from gateleg.objects.protocol import Objects, chunks_of, content_type_of, digest_of, size_of, validate_metadata

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from types import CoroutineType

    from gateleg.objects.protocol import AsyncBody, Body, ByteRange, Download, Entry, ObjectInfo, ObjectPage, Upload

P = ParamSpec("P")
R = TypeVar("R")

_SHA256 = re.compile("[0-9a-f]{64}")
PAGE = 1000


class Verbs(ABC):
    """Base class of object stores, with the methods that are the same in all of them."""

    @abstractmethod
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
        """Start writing an object."""

    @abstractmethod
    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> Download:
        """Read the content in chunks."""

    @abstractmethod
    def head(self, key: str) -> ObjectInfo:
        """Read the description of an object."""

    @abstractmethod
    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = PAGE) -> ObjectPage:
        """List a page of objects."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

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
        """Store or replace an object atomically. See `Objects.put`."""
        size = size_of(body)
        with self.upload(key, content_type=content_type, metadata=metadata, sha256=sha256, size=size, if_absent=if_absent) as upload:
            for chunk in chunks_of(body):
                upload.write(chunk)
            return upload.finish()

    def get(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> bytes:
        """Read the content, or a range of it, into memory. See `Objects.get`."""
        with self.stream(key, range=range, unless_etag=unless_etag) as download:
            return b"".join(download)

    def exists(self, key: str) -> bool:
        """Whether an object with the key exists."""
        try:
            self.head(key)
        except ObjectMissing:
            return False
        return True

    def require_content(self, key: str, sha256: str) -> None:
        """Raise `ContentDiffers` unless the object has this digest. The content is read if the store does not know its digest."""
        digest = self.head(key).sha256
        if digest is None:
            with self.stream(key) as download:
                digest = digest_of(iter(download))
        if digest != sha256:
            raise ContentDiffers(f"The content of {key!r} has the SHA-256 digest {digest}, not {sha256}.")

    def walk(self, prefix: str = "") -> Iterator[Entry]:
        """Iterate over all objects whose keys start with `prefix`, read page by page."""
        cursor: str | None = None
        while True:
            page = self.list(prefix, cursor=cursor)
            yield from page.objects
            cursor = page.cursor
            if cursor is None:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


class AbstractUpload(ABC):
    """Base class of uploads: computes size and digest, and ends exactly once. Any thread may abort it.

    A failed write aborts the upload: it cannot continue, because the amount of written content is unknown.
    """

    def __init__(
        self, key: str, content_type: str | None, metadata: Mapping[str, str] | None, sha256: str | None, *, if_absent: bool = False
    ) -> None:
        self.key = check_object_key(key)
        self.if_absent = if_absent
        self.content_type = content_type_of(key, content_type)
        self.metadata = validate_metadata(metadata)
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            raise ValueError("sha256 must be 64 lower-case hexadecimal digits.")
        self.expected = sha256
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
            if self.expected is not None and not hmac.compare_digest(digest, self.expected):
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

    @abstractmethod
    def _write(self, chunk: bytes | memoryview) -> None: ...

    @abstractmethod
    def _finish(self, digest: str) -> ObjectInfo: ...

    @abstractmethod
    def _abort(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.abort()


def validate_limit(limit: int) -> int:
    """Return the limit of a page; raise `ValueError` if it is invalid."""
    if not 1 <= limit <= PAGE:
        raise ValueError(f"limit must be 1 to {PAGE:,}.")
    return limit


_THREADS = 16


def _in_thread(verb: Callable[Concatenate[Objects, P], R]) -> Callable[Concatenate[ThreadedObjects, P], CoroutineType[Any, Any, R]]:
    """An awaitable method from a blocking one, typed as the `async def` that checkers expect."""

    @functools.wraps(verb)
    async def awaited(self: ThreadedObjects, /, *args: P.args, **options: P.kwargs) -> R:
        result: R = await self.run(functools.partial(getattr(self.objects, verb.__name__), *args, **options))
        return result

    return cast("Callable[Concatenate[ThreadedObjects, P], CoroutineType[Any, Any, R]]", awaited)


class ThreadedObjects:
    """An async object store that runs another store in threads: `ThreadedObjects(open_objects("s3://bucket"))`. Closing it closes both."""

    def __init__(self, objects: Objects, *, threads: int = _THREADS) -> None:
        self.objects = objects
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="gateleg-objects")

    get = _in_thread(Objects.get)
    head = _in_thread(Objects.head)
    exists = _in_thread(Objects.exists)
    list = _in_thread(Objects.list)
    delete = _in_thread(Objects.delete)
    delete_many = _in_thread(Objects.delete_many)
    copy = _in_thread(Objects.copy)
    presign = _in_thread(Objects.presign)
    presign_upload = _in_thread(Objects.presign_upload)
    sweep = _in_thread(Objects.sweep)

    async def run(self, work: Callable[[], R], undo: Callable[[R], object] | None = None) -> R:
        """Run a function in a thread. If the task is cancelled meanwhile, `undo` is called with the unused result."""
        future = self._executor.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if undo is not None:
                future.add_done_callback(functools.partial(_undo_result, undo))
            raise

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
        """Store or replace an object atomically. See `AsyncObjects.put`."""
        described: dict[str, Any] = {"content_type": content_type, "metadata": metadata, "sha256": sha256, "if_absent": if_absent}
        if not isinstance(body, AsyncIterable):
            return await self.run(functools.partial(self.objects.put, key, body, **described))
        begin = functools.partial(self.objects.upload, key, **described, size=size_of(body))
        upload: Upload = await self.run(begin, lambda upload: upload.abort())
        try:
            async for chunk in body:
                await self.run(functools.partial(upload.write, chunk))
            return await self.run(upload.finish)
        except BaseException:
            # Not awaited, because the task may be cancelled. The upload itself waits for a step in progress.
            self._executor.submit(upload.abort)
            raise

    async def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> ThreadedDownload:
        """Read the content, or a range of it, in chunks. See `AsyncObjects.stream`."""
        begin = functools.partial(self.objects.stream, key, range=range, unless_etag=unless_etag)
        return ThreadedDownload(self, await self.run(begin, lambda download: download.close()))

    async def walk(self, prefix: str = "") -> AsyncIterator[Entry]:
        """Iterate over all objects whose keys start with `prefix`, read page by page."""
        cursor: str | None = None
        while True:
            page = await self.list(prefix, cursor=cursor)
            for entry in page.objects:
                yield entry
            cursor = page.cursor
            if cursor is None:
                return

    async def close(self) -> None:
        """Close the store once all threads have finished."""
        await asyncio.get_running_loop().run_in_executor(None, self._executor.shutdown)
        self.objects.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.close()


def _undo_result(undo: Callable[[Any], object], future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        undo(future.result())


class ThreadedDownload:
    """A download whose chunks are read in threads."""

    def __init__(self, owner: ThreadedObjects, download: Download) -> None:
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
