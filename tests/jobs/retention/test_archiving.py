from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.listing import entries_of, extended
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.retention import Archiver, log_key
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tables.records import ArchivedJob, LogChunk
from gateleg.jobs.testing import ManualClock
from gateleg.objects import DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore
from tests.jobs.sample import DONE, make_jobs


@pytest.fixture
async def queue(clock: ManualClock) -> AsyncIterator[Any]:
    async with AsyncStore.connect("embedded::memory:", clock=clock, ticks=clock) as store:
        queue = AsyncQueue(store, make_jobs())
        await queue.ensure_tables()
        yield queue


async def finished(queue: AsyncQueue, selector: CandidateSelector, lines: int) -> Job:
    await queue.submit(Submission("plain"))
    job = await queue.claim(selector, "default", "w")
    assert job is not None
    entries = [entry for number in range(lines) for entry in entries_of(f"line {number}", "INFO", queue.context.now())]
    logs, chunk = extended(job.job_id, job.logs, entries)
    return await queue.finish(job, DONE, logs=logs, chunk=chunk)


async def test_a_long_log_becomes_an_object(queue: AsyncQueue, selector: CandidateSelector, clock: ManualClock, tmp_path: Path) -> None:
    long, short = await finished(queue, selector, 100), await finished(queue, selector, 3)
    objects = ThreadedObjects(DirectoryObjects(tmp_path, secret=b"s" * 32))
    archivist = Archiver(queue, objects)
    clock.advance(days=8)
    assert await archivist.sweep() == 2
    archived = await queue.get_or_archived(long.job_id)
    assert isinstance(archived, ArchivedJob)
    assert archived.logs.log_location == log_key(long.job_id)
    assert [line.message for line in await archivist.log(archived)] == [f"line {number}" for number in range(100)]
    assert await queue.store.count(LogChunk.of_job(job_id=long.job_id)) == 0
    brief = await queue.get_or_archived(short.job_id)
    assert brief.logs.log_location is None
    assert len(await archivist.log(brief)) == 3
    await objects.close()


async def test_without_objects_the_log_stays_in_the_ledger(queue: AsyncQueue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = await finished(queue, selector, 100)
    clock.advance(days=8)
    archivist = Archiver(queue)
    assert [await archivist.sweep(limit=1), await archivist.sweep()] == [1, 0]
    assert len(await archivist.log(await queue.get_or_archived(job.job_id))) == 100


async def test_the_last_lines_are_in_the_archive_also_for_those_who_have_read_some(
    queue: AsyncQueue, selector: CandidateSelector, clock: ManualClock, tmp_path: Path
) -> None:
    job = await finished(queue, selector, 100)
    objects = ThreadedObjects(DirectoryObjects(tmp_path, secret=b"s" * 32))
    clock.advance(days=8)
    await Archiver(queue, objects).sweep()
    lines = await queue.log(job.job_id, after=50)
    assert [line.message for line in lines] == [f"line {number}" for number in range(80, 100)]
    await objects.close()
