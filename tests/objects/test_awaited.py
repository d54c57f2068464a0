import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest

from gateleg.objects import (
    AsyncObjects,
    ByteRange,
    DirectoryObjects,
    ObjectMissing,
    Objects,
    References,
    ThreadedObjects,
    collect_orphans_async,
)


@pytest.fixture
async def objects(tmp_path: Path) -> AsyncIterator[AsyncObjects]:
    async with ThreadedObjects(DirectoryObjects(tmp_path, durability="relaxed")) as objects:
        yield objects


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_the_verbs_are_awaited(objects: AsyncObjects) -> None:
    info = await objects.put("a", b"content")
    assert await objects.head("a") == info
    assert await objects.get("a", range=ByteRange(0, 2)) == b"con"
    assert await objects.exists("a")
    assert (await objects.copy("a", "b")).key == "b"
    assert [entry.key async for entry in objects.walk()] == ["a", "b"]
    assert (await objects.list(limit=1)).cursor is not None
    assert (await objects.presign("a")).startswith("/objects/a?")
    await objects.delete("a")
    await objects.delete_many(["b"])
    assert await objects.sweep() == 0
    assert not await objects.exists("b")


def test_sync_and_async_stores_have_the_same_methods_with_the_same_arguments() -> None:
    def verbs(kind: type) -> dict[str, list[str]]:
        return {name: list(signature(method).parameters) for name, method in vars(kind).items() if not name.startswith("_")}

    awaited = verbs(AsyncObjects)
    # Chunks are passed to an awaited put as an async iterator, so it needs no upload.
    assert {name: arguments for name, arguments in verbs(Objects).items() if name != "upload"} == {
        name: arguments for name, arguments in awaited.items() if name != "run"
    }
    assert all(iscoroutinefunction(getattr(AsyncObjects, name)) for name in awaited if name != "walk")


async def test_chunks_may_come_asynchronously(objects: AsyncObjects) -> None:
    await objects.put("a", chunks(b"one", b"", b"two"))
    assert await objects.get("a") == b"onetwo"


async def test_an_object_is_streamed(objects: AsyncObjects) -> None:
    content = bytes(1_000_000)
    await objects.put("a", content)
    async with await objects.stream("a", range=ByteRange(1)) as download:
        assert (download.start, download.stop, download.info.size) == (1, len(content), len(content))
        assert b"".join([chunk async for chunk in download]) == content[1:]


async def test_an_error_of_the_store_is_raised_where_it_is_awaited(objects: AsyncObjects) -> None:
    with pytest.raises(ObjectMissing):
        await objects.stream("nothing")


async def test_a_cancelled_put_stores_nothing(tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def stalled() -> AsyncIterator[bytes]:
        yield b"half"
        reached.set()
        await asyncio.Event().wait()

    async with ThreadedObjects(DirectoryObjects(tmp_path)) as objects:
        task = asyncio.create_task(objects.put("a", stalled()))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not await objects.exists("a")
    assert list((tmp_path / "incoming").iterdir()) == []


async def test_a_cancelled_download_is_closed(tmp_path: Path) -> None:
    begun, go_on, closed = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    class Slow(DirectoryObjects):
        def stream(self, *args: Any, **options: Any) -> Any:
            loop.call_soon_threadsafe(begun.set)
            go_on.wait(10)
            download = super().stream(*args, **options)
            original = download.close
            download.close = lambda: (original(), closed.set())  # type: ignore[method-assign, assignment, func-returns-value]
            return download

    store = Slow(tmp_path)
    store.put("a", b"content")
    async with ThreadedObjects(store) as objects:
        task = asyncio.create_task(objects.stream("a"))
        await begun.wait()
        task.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert closed.wait(10)


async def test_slow_clients_occupy_no_threads(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        await release.wait()

    async with ThreadedObjects(DirectoryObjects(tmp_path, durability="relaxed"), threads=2) as objects:
        waiting = [asyncio.create_task(objects.put(f"slow/{number}", slow())) for number in range(10)]
        await objects.put("fast", b"x")
        assert await objects.get("fast") == b"x"
        release.set()
        await asyncio.gather(*waiting)
        assert len([entry async for entry in objects.walk("slow/")]) == 10


async def test_orphans_are_collected(objects: AsyncObjects) -> None:
    for key in ("a", "b", "c"):
        await objects.put(key, b"x")
    references = References.read(["b"], now=lambda: datetime.now(UTC) + timedelta(days=2))
    pages = [page async for page in collect_orphans_async(objects, references, dry_run=False, page_size=2)]
    assert [entry.key for page in pages for entry in page.orphans] == ["a", "c"]
    assert [entry.key async for entry in objects.walk()] == ["b"]
