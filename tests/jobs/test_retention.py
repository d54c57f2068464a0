"""Finished jobs leave the queue with their logs. The archive keeps what the queue knew of a job, so that it can be retried."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import JobMissing, WrongState
from gateleg.jobs.monitor.listing import entries_of, extended
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.retention import Archiver, log_key
from gateleg.jobs.rules import Snoozed
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.tables.records import ArchivedJob, LogChunk
from gateleg.jobs.testing import ManualClock
from gateleg.objects import DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore, Store
from tests.jobs.sample import DONE, claimed, failed, make_jobs, submitted, swept


@pytest.fixture
async def awaited_queue(clock: ManualClock) -> AsyncIterator[Any]:
    async with AsyncStore.connect("embedded::memory:", clock=clock, ticks=clock) as store:
        awaited_queue = AsyncQueue(store, make_jobs())
        await awaited_queue.ensure_tables()
        yield awaited_queue


async def finished(awaited_queue: AsyncQueue, selector: CandidateSelector, lines: int) -> Job:
    await awaited_queue.submit(Submission("plain"))
    job = await awaited_queue.claim(selector, "default", "w")
    assert job is not None
    entries = [entry for number in range(lines) for entry in entries_of(f"line {number}", "INFO", awaited_queue.context.now())]
    logs, chunk = extended(job.job_id, job.logs, entries)
    return await awaited_queue.finish(job, DONE, logs=logs, chunk=chunk)


async def test_a_long_log_becomes_an_object(
    awaited_queue: AsyncQueue, selector: CandidateSelector, clock: ManualClock, tmp_path: Path
) -> None:
    long, short = await finished(awaited_queue, selector, 100), await finished(awaited_queue, selector, 3)
    objects = ThreadedObjects(DirectoryObjects(tmp_path, secret=b"s" * 32))
    archivist = Archiver(awaited_queue, objects)
    clock.advance(days=8)
    assert await archivist.sweep() == 2
    archived = await awaited_queue.get_or_archived(long.job_id)
    assert isinstance(archived, ArchivedJob)
    assert archived.logs.log_location == log_key(long.job_id)
    assert [line.message for line in await archivist.log(archived)] == [f"line {number}" for number in range(100)]
    assert await awaited_queue.store.count(LogChunk.of_job(job_id=long.job_id)) == 0
    brief = await awaited_queue.get_or_archived(short.job_id)
    assert brief.logs.log_location is None
    assert len(await archivist.log(brief)) == 3
    await objects.close()


async def test_without_objects_the_log_stays_in_the_ledger(
    awaited_queue: AsyncQueue, selector: CandidateSelector, clock: ManualClock
) -> None:
    job = await finished(awaited_queue, selector, 100)
    clock.advance(days=8)
    archivist = Archiver(awaited_queue)
    assert [await archivist.sweep(limit=1), await archivist.sweep()] == [1, 0]
    assert len(await archivist.log(await awaited_queue.get_or_archived(job.job_id))) == 100


async def test_the_last_lines_are_in_the_archive_also_for_those_who_have_read_some(
    awaited_queue: AsyncQueue, selector: CandidateSelector, clock: ManualClock, tmp_path: Path
) -> None:
    job = await finished(awaited_queue, selector, 100)
    objects = ThreadedObjects(DirectoryObjects(tmp_path, secret=b"s" * 32))
    clock.advance(days=8)
    await Archiver(awaited_queue, objects).sweep()
    lines = await awaited_queue.log(job.job_id, after=50)
    assert [line.message for line in lines] == [f"line {number}" for number in range(80, 100)]
    await objects.close()


def test_a_completed_job_is_archived_after_seven_days(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue, subject="s", tags=["t"])
    clock.advance(5)
    queue.finish(claimed(queue, selector), DONE)
    clock.advance(days=6, hours=23)
    assert swept(queue) == 0
    clock.advance(hours=2)
    assert swept(queue) == 1
    archived = queue.get_or_archived(job.job_id)
    assert isinstance(archived, ArchivedJob)
    assert (archived.status, archived.subject, archived.tags, archived.wait_seconds) == (JobStatus.COMPLETED, "s", ["t"], 5)
    assert archived.job_results is not None
    assert list(queue.archive_page(subject="s")) == [archived]
    assert list(queue.archive_page(job_type="plain")) == [archived]


def test_a_failed_job_is_kept_for_thirty_days(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue)
    queue.finish(claimed(queue, selector), failed(final=True))
    clock.advance(days=29)
    assert swept(queue) == 0
    clock.advance(days=2)
    assert swept(queue) == 1
    archived = queue.get_or_archived(job.job_id)
    assert isinstance(archived, ArchivedJob)
    assert archived.error is not None


def test_a_job_that_waited_for_long_is_kept_from_its_end(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    submitted(queue)
    clock.advance(days=20)
    queue.finish(claimed(queue, selector), DONE)
    clock.advance(days=1)
    assert swept(queue) == 0


def test_waiting_and_running_jobs_are_never_swept(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    submitted(queue)
    submitted(queue)
    claimed(queue, selector)
    clock.advance(days=400)
    assert swept(queue) == 0


def test_a_sweep_that_is_stopped_goes_on_where_it_was(queue: Queue, selector: CandidateSelector, clock: ManualClock, store: Store) -> None:
    for _ in range(60):
        submitted(queue)
        queue.finish(claimed(queue, selector), DONE)
    clock.advance(days=8)
    assert [swept(queue, limit=25), swept(queue, limit=25), swept(queue, limit=25), swept(queue, limit=25)] == [25, 25, 10, 0]
    assert store.count(queue.tables.job.in_status(status=JobStatus.COMPLETED)) == 0


def test_a_job_that_is_tried_again_meanwhile_is_not_archived(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue)
    seen = queue.finish(claimed(queue, selector), failed(final=True))
    queue.retry(job.job_id)
    assert queue.archive_job(seen) is False
    assert queue.get(job.job_id).status == JobStatus.PENDING


def test_the_log_is_read_from_the_archive(queue: Queue, selector: CandidateSelector, clock: ManualClock, store: Store) -> None:
    job = submitted(queue)
    running = claimed(queue, selector)
    lines = [entry for number in range(50) for entry in entries_of(f"line {number}", "INFO", clock.now)]
    logs, chunk = extended(job.job_id, running.logs, lines)
    done = queue.finish(running, DONE, logs=logs, chunk=chunk)
    assert queue.archive_job(done)
    assert [line.message for line in queue.log(job.job_id)] == [f"line {number}" for number in range(50)]


def test_chunks_are_deleted_once_the_log_is_an_object(queue: Queue, selector: CandidateSelector, clock: ManualClock, store: Store) -> None:
    job = submitted(queue)
    running = claimed(queue, selector)
    logs, chunk = extended(job.job_id, running.logs, entries_of("\n".join("x" * 30), "INFO", clock.now))
    done = queue.finish(running, DONE, logs=logs, chunk=chunk)
    assert queue.archive_job(done, log_location="jobs/log.jsonl")
    assert store.count(queue.tables.log_chunk.of_job(job_id=job.job_id)) == 0
    archived = queue.get_or_archived(job.job_id)
    assert archived.logs.log_location == "jobs/log.jsonl"


def test_a_dependency_in_the_archive_counts_as_completed(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue)
    queue.finish(claimed(queue, selector), DONE)
    clock.advance(days=8)
    swept(queue)
    queue.submit(Submission("plain", dependencies=[job.job_id]))
    assert claimed(queue, selector).dependencies == [job.job_id]


def test_a_job_that_no_sweeper_saw_for_years_is_still_there_and_archived_then(
    queue: Queue, selector: CandidateSelector, clock: ManualClock
) -> None:
    job = submitted(queue)
    done = queue.finish(claimed(queue, selector), DONE)
    assert done.expires_at is None
    clock.advance(days=1000)
    assert queue.get(job.job_id).status == JobStatus.COMPLETED
    assert swept(queue) == 1
    assert queue.get_or_archived(job.job_id).status == JobStatus.COMPLETED


def test_a_job_brings_its_dependents_in_line_before_it_leaves(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    first = submitted(queue)
    more_than_one_transaction = 30
    others = [submitted(queue, dependencies=[first.job_id]).job_id for _ in range(more_than_one_transaction)]
    queue.finish(claimed(queue, selector), DONE)
    clock.advance(days=8)
    assert swept(queue) == 1
    settlement = claimed(queue, selector)
    assert queue.settle(first.job_id) == 0
    queue.finish(settlement, DONE)
    assert {queue.get(other).readiness for other in others} == {Readiness.READY}


def test_a_job_that_waits_for_one_that_has_failed_is_cancelled_when_that_one_leaves(
    queue: Queue, selector: CandidateSelector, clock: ManualClock
) -> None:
    first = submitted(queue)
    second = submitted(queue, dependencies=[first.job_id])
    queue.finish(claimed(queue, selector), failed(final=True))
    queue.settle(first.job_id)
    assert queue.retry(second.job_id).waiting_for == {str(first.job_id)}
    clock.advance(days=31)
    swept(queue)
    assert isinstance(queue.get_or_archived(first.job_id), ArchivedJob)
    assert queue.get(second.job_id).cancelled_by == first.job_id


BROKEN = failed(final=True)


def grown(queue: Queue, selector: CandidateSelector) -> tuple[Job, Job, Job]:
    """A root that failed, its child that completed, and the child's child that was cancelled."""
    root = submitted(queue, priority=90, tags=["blue"], max_retries=1, timeout=77, subject="s")
    child = submitted(queue, parent=root.job_id, priority=80, stage="child")
    leaf = submitted(queue, parent=child.job_id, priority=10)
    queue.finish(claimed(queue, selector), BROKEN)
    queue.finish(claimed(queue, selector), DONE)
    queue.cancel(leaf.job_id, reason="not needed")
    return root, child, leaf


def shape(queue: Queue, job: Job) -> list[tuple[str | None, JobStatus]]:
    return [(branch.stage, branch.status) for branch in queue.tree(job.job_id)]


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_tree_is_whole_while_its_jobs_are_archived_one_by_one(queue: Queue, selector: CandidateSelector, kept: int) -> None:
    jobs = grown(queue, selector)
    before = [queue.tree(job.job_id) for job in jobs]
    for job in jobs[kept:]:
        assert queue.archive_job(queue.get(job.job_id))
    after = [queue.tree(job.job_id) for job in jobs]
    assert [[branch.job_id for branch in tree] for tree in after] == [[branch.job_id for branch in tree] for tree in before]
    assert [tree.counts for tree in after] == [tree.counts for tree in before]
    assert shape(queue, jobs[0]) == [(None, JobStatus.FAILED), ("child", JobStatus.COMPLETED), (None, JobStatus.CANCELLED)]


def test_an_archived_job_has_its_tries_and_options(queue: Queue, selector: CandidateSelector) -> None:
    root, _, _ = grown(queue, selector)
    live = queue.get(root.job_id)
    queue.archive_job(live)
    archived = queue.get_or_archived(root.job_id)
    assert isinstance(archived, ArchivedJob)
    assert (archived.attempts, archived.timeout_seconds, archived.max_retries) == (live.attempts, 77, 1)


def test_an_archived_job_is_retried_with_all_that_it_had(queue: Queue, selector: CandidateSelector) -> None:
    root, child, _ = grown(queue, selector)
    live = queue.get(root.job_id)
    for job in (root, child):
        queue.archive_job(queue.get(job.job_id))
    again = queue.retry(root.job_id)
    same = ("job_type", "job_config", "priority", "subject", "tags", "timeout_seconds", "max_retries", "created_at", "created_by", "queue")
    assert {name: getattr(again, name) for name in same} == {name: getattr(live, name) for name in same}
    assert (again.status, again.retry_count, again.started_at, again.job_results) == (JobStatus.PENDING, 0, None, None)
    assert len(queue.tree(root.job_id).children) == 1
    done = queue.finish(claimed(queue, selector), DONE)
    assert [attempt.outcome for attempt in done.attempts] == ["failed", "completed"]
    assert queue.archive_job(done)
    with pytest.raises(WrongState):
        queue.retry(root.job_id)


def test_an_archived_child_that_is_retried_stays_in_its_tree(queue: Queue, selector: CandidateSelector) -> None:
    root, _, leaf = grown(queue, selector)
    queue.archive_job(queue.get(leaf.job_id))
    queue.retry(leaf.job_id)
    assert shape(queue, root)[-1] == (None, JobStatus.PENDING)
    assert len(shape(queue, root)) == 3


def test_an_unknown_job_is_neither_shown_nor_retried(queue: Queue) -> None:
    for verb in (queue.tree, queue.retry):
        with pytest.raises(JobMissing, match="neither in the queue nor in the archive"):
            verb(UUID(int=1))


def test_a_job_that_snoozes_has_one_start_and_one_duration(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    """A pipeline that ran for 17 seconds was shown with the 70 milliseconds after its last snooze."""
    submitted(queue)
    clock.advance(5)
    begun = clock.now
    for _ in range(3):
        queue.finish(claimed(queue, selector), Snoozed(0))
        clock.advance(4)
    done = queue.finish(claimed(queue, selector), DONE)
    assert (done.started_at, done.completed_at) == (begun, begun + timedelta(seconds=12))
    assert [(attempt.started_at, attempt.outcome, attempt.times) for attempt in done.attempts] == [(begun, "completed", 3)]
    queue.archive_job(done)
    archived = queue.get_or_archived(done.job_id)
    assert isinstance(archived, ArchivedJob)
    assert (archived.run_seconds, archived.wait_seconds) == (12, 5)


def test_each_try_has_a_start_of_its_own(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue)
    queue.finish(claimed(queue, selector), BROKEN)
    clock.advance(60)
    queue.retry(job.job_id)
    assert queue.get(job.job_id).started_at is None
    assert claimed(queue, selector).started_at == clock.now
