"""Purging: what hangs on an item goes before the item, and a restore wins."""

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs import JobStatus, ManualClock, Queue, Submission, TestWorker
from gateleg.jobs.errors import BadPurge
from gateleg.jobs.purging import Purge, Purger, purge_jobs
from gateleg.model import GSI, TTL, Attr, Entity, Key, Pattern, S3Key, Table, Unique, Version, field
from gateleg.objects import AsyncObjects, ThreadedObjects, open_objects
from gateleg.store import AsyncStore, LostRace, Store, UniqueTaken
from gateleg.store.operations import release_unique

folders = Table("Folders", hash="folder", indexes=[GSI("by-state", hash="state", range="folder")])
files = Table("Files", hash="folder", range="file")
chunks = Table("Chunks", hash="file", range="number")


class Folder(Entity, table=folders):
    folder: Attr[str]
    name: Attr[str]
    state: Attr[str] = field("open")
    cover_s3_key: Attr[S3Key | None] = field(None)
    deleted_at: Attr[TTL | None] = field(None)
    version: Attr[Version] = field(0)

    key = Key("{folder}")
    in_state = Pattern("by-state", title="Folders in a state")
    one_name = Unique("name")


class File(Entity, table=files):
    folder: Attr[str]
    file: Attr[str]
    pages_s3_keys: Attr[list[S3Key]] = field(factory=list, max_length=10)

    key = Key("{folder}", "{file}")
    in_folder = Pattern(title="Files of a folder")


class Chunk(Entity, table=chunks):
    file: Attr[str]
    number: Attr[int]

    key = Key("{file}", "{number}")
    of_file = Pattern(title="Chunks of a file")


FILES: Purge[File] = Purge(File, children=[Chunk.of_file])


def purge_of_folders(**options: Any) -> Purge[Folder]:
    return Purge(Folder, children=[File.in_folder], **options)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock: ManualClock) -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded(clock=clock, ticks=clock) as opened:
        # Without TTL in the service: nothing but the purge removes anything.
        for table in (folders, files, chunks):
            await opened.transport.call("CreateTable", table.definition())
        yield opened


@pytest.fixture
async def objects(tmp_path: Path) -> AsyncIterator[AsyncObjects]:
    opened: Any = ThreadedObjects(open_objects(f"dir:{tmp_path}/objects", secret=b"s" * 32, url=""))
    yield opened
    await opened.close()


async def fill(store: AsyncStore, objects: AsyncObjects, name: str = "a", days: float | None = 1) -> Folder:
    for key in (f"{name}/cover.png", f"{name}/p1", f"{name}/p2", f"{name}/scratch/1", f"{name}/scratch/2"):
        await objects.put(key, b"x")
    for file in ("f1", "f2"):
        await store.put(File(folder=name, file=f"{name}-{file}", pages_s3_keys=[f"{name}/p{file[1]}"]))
        for number in range(3):
            await store.put(Chunk(file=f"{name}-{file}", number=number))
    until = None if days is None else store.setup.now() + timedelta(days=days)
    return await store.create(Folder(folder=name, name=f"N {name}", cover_s3_key=f"{name}/cover.png", deleted_at=until))


async def left(store: AsyncStore) -> list[int]:
    return [len([item async for item in store.scan(table)]) for table in (folders, files, chunks)]


async def test_all_that_hangs_on_a_due_item_goes_and_the_item_last(store: AsyncStore, objects: AsyncObjects) -> None:
    seen: list[Any] = []

    async def vectors(folder: Folder) -> int:
        seen.append((await left(store), await store.find(folder) is not None))
        return 7

    await fill(store, objects)
    await fill(store, objects, "b", days=30)
    purge = purge_of_folders(ahead=timedelta(days=2), objects=lambda one: [f"{one.folder}/scratch/"], hooks={"vectors": vectors})
    report = await Purger(store, [purge, FILES], objects).sweep()
    counted = {"due": 1, "purged": 1, "children": 2 + 6, "objects": 5, "hooked": {"vectors": 7}}
    assert report.model_dump(exclude_defaults=True) == counted
    assert seen == [([2, 2, 6], True)]
    assert await left(store) == [1, 2, 6]
    assert [entry.key async for entry in objects.walk()] == ["b/cover.png", "b/p1", "b/p2", "b/scratch/1", "b/scratch/2"]
    # Its name is free again.
    assert (await store.create(Folder(folder="c", name="N a"))).name == "N a"


async def test_an_item_that_is_not_due_or_has_no_date_is_left(store: AsyncStore, objects: AsyncObjects) -> None:
    await fill(store, objects, "a", days=3)
    await fill(store, objects, "b", days=None)
    purger = Purger(store, [purge_of_folders(ahead=timedelta(days=2)), FILES], objects)
    assert await purger.count_due() == 0
    assert (await purger.sweep()).due == 0
    assert await left(store) == [2, 4, 12]


async def test_a_restore_before_the_purge_begins_wins(store: AsyncStore, objects: AsyncObjects) -> None:
    """The item was read as due, and is restored before the write that claims it."""
    folder = await fill(store, objects)

    class Racing(Purger):
        async def _claim(self, purge: Any, item: Any, until: Any) -> Any:
            await store.patch(folder, Folder.deleted_at.set(None))
            return await super()._claim(purge, item, until)

    report = await Racing(store, [purge_of_folders(), FILES], objects).sweep()
    assert (report.kept, report.purged, report.failed) == (1, 0, 0)
    assert await left(store) == [1, 2, 6]
    assert (await store.get(Folder, folder="a")).deleted_at is None


async def test_a_restore_by_an_older_version_loses_once_the_purge_has_begun(store: AsyncStore, objects: AsyncObjects) -> None:
    folder = await fill(store, objects)
    lost: list[Exception] = []

    async def restore(item: Folder) -> None:
        with pytest.raises(LostRace) as caught:
            await store.patch(folder, Folder.deleted_at.set(None))
        lost.append(caught.value)

    report = await Purger(store, [purge_of_folders(hooks={"restore": restore}), FILES], objects).sweep()
    assert (report.purged, len(lost)) == (1, 1)


async def test_a_restore_in_the_middle_keeps_the_item_and_stops_the_purge(store: AsyncStore, objects: AsyncObjects) -> None:
    async def restore(item: Folder) -> None:
        await store.patch(item, Folder.deleted_at.set(None))

    async def never(item: Folder) -> None:
        raise AssertionError("the purge went on")

    await fill(store, objects)
    report = await Purger(store, [purge_of_folders(hooks={"first": restore, "second": never}), FILES], objects).sweep()
    assert (report.kept, report.purged, report.failed) == (1, 0, 0)
    assert (await store.get(Folder, folder="a")).deleted_at is None
    with pytest.raises(UniqueTaken):
        await store.create(Folder(folder="c", name="N a"))


async def test_a_change_that_is_no_restore_does_not_save_the_item(store: AsyncStore, objects: AsyncObjects) -> None:
    async def rename(item: Folder) -> None:
        await store.patch(item, Folder.name.set("N new"))

    await fill(store, objects)
    assert (await Purger(store, [purge_of_folders(hooks={"rename": rename}), FILES], objects).sweep()).purged == 1
    assert await left(store) == [0, 0, 0]
    await store.create(Folder(folder="c", name="N new"))


async def test_a_purge_that_failed_goes_on_with_the_next_sweep(
    store: AsyncStore, objects: AsyncObjects, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    async def vectors(item: Folder) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ConnectionError("no vectors today")

    await fill(store, objects)
    await fill(store, objects, "b")
    purger = Purger(store, [purge_of_folders(hooks={"vectors": vectors}), FILES], objects)
    with caplog.at_level(logging.CRITICAL, "gateleg.jobs.purge"):
        first = await purger.sweep()
    assert (first.purged, first.failed) == (1, 1)
    assert "no vectors today" in first.failures[0]
    clock.advance(60)
    second = await purger.sweep()
    assert (second.due, second.purged, second.failed) == (1, 1, 0)
    assert await left(store) == [0, 0, 0]


async def test_ttl_does_not_come_before_the_end_of_a_purge(store: AsyncStore, objects: AsyncObjects) -> None:
    dates = []

    async def look(item: Folder) -> None:
        dates.append(item.deleted_at)

    await fill(store, objects, days=0.001)
    await Purger(store, [purge_of_folders(ahead=timedelta(days=2), hooks={"look": look}), FILES], objects).sweep()
    assert dates == [(store.setup.now() + timedelta(days=2)).replace(microsecond=0)]


async def test_due_items_are_found_by_an_index_where_there_is_one(store: AsyncStore, objects: AsyncObjects) -> None:
    await fill(store, objects)
    folder = await fill(store, objects, "b")
    await store.patch(folder, Folder.state.set("deleted"))
    purge = purge_of_folders(due=lambda until: [Folder.in_state(state="deleted")], begin=lambda item: [Folder.state.set("purging")])
    assert (await Purger(store, [purge, FILES], objects).sweep()).due == 1
    assert [item["folder"]["S"] async for item in store.scan(folders)] == ["a"]


async def test_an_item_is_purged_by_hand_whatever_its_date(store: AsyncStore, objects: AsyncObjects) -> None:
    folder = await fill(store, objects, days=None)
    report = await Purger(store, [purge_of_folders(), FILES], objects).purge(folder)
    assert (report.purged, report.children, report.objects) == (1, 8, 3)
    assert await left(store) == [0, 0, 0]


async def removed_by_ttl(store: AsyncStore, folder: Folder) -> None:
    await store.transport.call("DeleteItem", {"TableName": "Folders", "Key": {"folder": {"S": folder.folder}}})


async def test_what_ttl_leaves_behind_is_cleaned_up_and_the_name_is_free(store: AsyncStore, objects: AsyncObjects) -> None:
    folder = await fill(store, objects)
    await removed_by_ttl(store, folder)
    purger = Purger(store, [purge_of_folders(), FILES], objects)
    report = await purger.clean_up(folder)
    assert (report.children, report.objects, report.released) == (8, 3, 1)
    taken = await store.create(Folder(folder="c", name="N a"))
    # The same change again does not release what another item has taken since.
    assert (await purger.clean_up(folder)).released == 0
    with pytest.raises(UniqueTaken):
        await store.create(Folder(folder="d", name="N a"))
    await store.delete(taken)


async def test_an_item_that_is_there_again_keeps_everything(store: AsyncStore, objects: AsyncObjects) -> None:
    folder = await fill(store, objects)
    report = await Purger(store, [purge_of_folders(), FILES], objects).clean_up(folder)
    assert (report.kept, report.released) == (1, 0)
    assert await store.run(release_unique(folder)) == 0
    assert await left(store) == [1, 2, 6]


def test_the_job_sweeps_counts_and_fails_when_something_is_left(clock: ManualClock, tmp_path: Path) -> None:
    broken = True

    async def vectors(item: Folder) -> int:
        if broken:
            raise ConnectionError("away")
        return 2

    with Store.embedded(str(tmp_path), clock=clock, ticks=clock) as store:
        purges = [Purge(Folder, hooks={"vectors": vectors})]
        jobs = purge_jobs(AsyncStore.embedded(str(tmp_path), clock=clock, ticks=clock), purges, every=3600)
        queue = Queue(store, jobs)
        queue.ensure_tables()
        store.transport.call("CreateTable", folders.definition())
        store.create(Folder(folder="a", name="N", deleted_at=store.setup.now() + timedelta(hours=1)))
        assert [schedule.every for schedule in queue.declare_schedules()] == [3600]
        submitted = queue.submit(Submission("purge"))
        ended = TestWorker(queue).step()
        assert ended is not None
        assert "could not be purged" in str(ended.attempts)
        broken = False
        (last, *_) = TestWorker(queue, clock).run()[::-1]
        assert (last.job_id, last.status) == (submitted.job.job_id, JobStatus.COMPLETED)
        assert store.find(Folder, folder="a") is None


def test_declarations_that_cannot_work_are_refused() -> None:
    with pytest.raises(BadPurge, match="function from the parent"):
        Purge(Folder, children=[Chunk.of_file])
    with pytest.raises(BadPurge, match="ahead"):
        Purge(Folder, ahead=timedelta(0))
    with pytest.raises(BadPurge, match="Sweep at least every 1800"):
        purge_jobs(AsyncStore.embedded(), [Purge(Folder, ahead=timedelta(hours=1))], every=3600)
    with pytest.raises(BadPurge, match="two purges"):
        Purger(AsyncStore.embedded(), [Purge(Folder), Purge(Folder)])
