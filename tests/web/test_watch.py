"""Watching a prefix or a folder: nothing is missed, nothing is doubled, and a killed watch goes on."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gateleg.host.object_watch import FolderSource, ObjectChange, ObjectsSource, Watch
from gateleg.host.tables import watches_table
from gateleg.jobs import AsyncQueue, Job, JobContext, Jobs, ManualClock, Submission
from gateleg.objects import AsyncObjects, DirectoryObjects, ObjectPage, ThreadedObjects
from gateleg.store import AsyncStore


class Ingest(BaseModel):
    kind: str
    key: str


jobs = Jobs()


@jobs.handler("INGEST", config=Ingest)
async def ingest(job: JobContext, config: Ingest) -> None: ...


def submission(change: ObjectChange) -> Submission:
    return Submission("INGEST", Ingest(kind=change.kind, key=change.key))


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await store.create_tables(watches_table)
        await AsyncQueue(store, jobs).ensure_tables()
        yield store


@pytest.fixture
def objects(tmp_path: Path) -> Any:
    return ThreadedObjects(DirectoryObjects(tmp_path / "objects", durability="relaxed"))


@pytest.fixture
def watching(store: AsyncStore) -> Callable[[Any], Watch]:
    return lambda source: Watch("rag:inbox", source, store, AsyncQueue(store, jobs), submission)


async def submitted(store: AsyncStore) -> list[tuple[str, str]]:
    found = [Ingest.model_validate(job.job_config) async for job in store.query(Job.in_status(status="PENDING"))]
    return sorted((one.kind, one.key) for one in found)


def told(changes: list[ObjectChange]) -> list[tuple[str, str]]:
    return [(change.kind, change.key) for change in changes]


async def test_new_changed_and_deleted_objects_are_told_once(
    store: AsyncStore, objects: AsyncObjects, watching: Callable[[Any], Watch]
) -> None:
    watch = watching(ObjectsSource(objects, "in/"))
    await objects.put("in/b#1.txt", b"1")
    await objects.put("in/a.txt", b"1")
    await objects.put("out/c.txt", b"1")
    assert told(await watch.poll()) == [("created", "in/a.txt"), ("created", "in/b#1.txt")]
    assert await watch.poll() == []
    await objects.put("in/a.txt", b"2")
    await objects.put("in/0.txt", b"1")
    await objects.delete("in/b#1.txt")
    assert told(await watch.poll()) == [("created", "in/0.txt"), ("changed", "in/a.txt"), ("deleted", "in/b#1.txt")]
    await objects.put("in/a.txt", b"2")
    assert await watch.poll() == []
    assert await submitted(store) == sorted(
        [
            ("created", "in/a.txt"),
            ("created", "in/b#1.txt"),
            ("created", "in/0.txt"),
            ("changed", "in/a.txt"),
            ("deleted", "in/b#1.txt"),
        ]
    )


async def test_reads_are_bounded_and_go_on_where_they_stopped(objects: AsyncObjects, watching: Callable[[Any], Watch]) -> None:
    keys = [f"{number:02}" for number in range(10)]
    for key in keys:
        await objects.put(key, b"x")

    class Counting(ObjectsSource):
        pages = 0

        async def page(self, cursor: str | None, limit: int) -> ObjectPage:
            Counting.pages += 1
            return await super().page(cursor, limit)

    watch = watching(Counting(objects))
    assert told(await watch.poll(pages=2, page_size=2)) == [("created", key) for key in keys[:4]]
    assert Counting.pages == 2
    await objects.delete("01")
    await objects.delete("09")
    again = watching(Counting(objects))
    assert told(await again.poll(pages=9, page_size=2)) == [("created", key) for key in keys[4:9]]
    assert told(await again.poll(pages=9, page_size=2)) == [("deleted", "01")]


async def test_two_processes_that_watch_the_same_place_submit_each_job_once(
    store: AsyncStore, objects: AsyncObjects, watching: Callable[[Any], Watch]
) -> None:
    await objects.put("a", b"1")
    await objects.put("b", b"1")
    first, other = watching(ObjectsSource(objects)), watching(ObjectsSource(objects))
    page = await first.source.page(None, 10)
    differences = await first._differences(page, None)
    assert told(await other.poll()) == [("created", "a"), ("created", "b")]
    assert [await first._take(change) for change in differences] == [False, False]
    assert await submitted(store) == [("created", "a"), ("created", "b")]


async def test_a_watch_that_is_killed_while_it_submits_goes_on_without_loss(
    store: AsyncStore, objects: AsyncObjects, watching: Callable[[Any], Watch]
) -> None:
    for key in ("a", "b", "c"):
        await objects.put(key, b"1")

    def dying(change: ObjectChange) -> Submission:
        if change.key == "b":
            raise KeyboardInterrupt
        return submission(change)

    mortal = Watch("rag:inbox", ObjectsSource(objects), store, AsyncQueue(store, jobs), dying)
    with pytest.raises(KeyboardInterrupt):
        await mortal.poll()
    assert told(await watching(ObjectsSource(objects)).poll()) == [("created", "b"), ("created", "c")]
    assert await submitted(store) == [("created", "a"), ("created", "b"), ("created", "c")]


async def test_a_folder_is_watched_in_the_order_of_its_keys(tmp_path: Path, watching: Callable[[Any], Watch]) -> None:
    clock, folder = ManualClock(), tmp_path / "inbox"

    def write(name: str, text: str, age: float = 100) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (clock() - age, clock() - age))

    source = FolderSource(folder, clock=clock)
    watch = watching(source)
    assert await watch.poll() == []
    for name in ("b.txt", "a/z.txt", "a.txt", "a-1.txt", "ä.txt"):
        write(name, "1")
    (folder / "link").symlink_to(folder / "b.txt")
    keys = ["a-1.txt", "a.txt", "a/z.txt", "b.txt", "ä.txt"]
    assert told(await watch.poll(pages=10, page_size=2)) == [("created", key) for key in keys]
    assert await watch.poll(pages=10, page_size=2) == []
    write("b.txt", "12", age=0)
    assert await watch.poll() == []
    clock.advance(10)
    (folder / "a.txt").unlink()
    assert told(await watch.poll()) == [("deleted", "a.txt"), ("changed", "b.txt")]
