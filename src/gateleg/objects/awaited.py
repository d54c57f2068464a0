"""`AsyncObjects`: an object store in asyncio, with the methods of `Objects`, awaited. `ThreadedObjects` runs them in threads.

File I/O and botocore both block. So the logic is written once, synchronously, and only this module uses asyncio. A thread is occupied for
one chunk at a time, never while a slow client sends or receives.
"""

from __future__ import annotations

import asyncio
import functools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from gateleg.objects.protocol import Objects
from gateleg.objects.values import size_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from types import CoroutineType

    from gateleg.objects.protocol import Download, Upload
    from gateleg.objects.values import AsyncBody, ByteRange, Entry, ObjectInfo

P = ParamSpec("P")
R = TypeVar("R")

_THREADS = 16


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
