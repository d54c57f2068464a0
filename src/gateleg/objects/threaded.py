"""`ThreadedObjects`: any `Objects` as `AsyncObjects`, by running each step in a thread.

File I/O and botocore both block. So the logic is written once, synchronously, and only this module uses asyncio. A thread is occupied for
one chunk at a time, never while a slow client sends or receives.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from gateleg.objects.bodies import size_of
from gateleg.objects.protocol import Objects

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from types import CoroutineType

    from gateleg.objects.protocol import AsyncBody, Download, Upload
    from gateleg.objects.values import ByteRange, Entry, ObjectInfo

P = ParamSpec("P")
R = TypeVar("R")

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
