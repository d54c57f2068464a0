"""The archive keeps what the queue knew of a job: its tree, its tries and its options, so that it can be retried."""

from datetime import timedelta
from uuid import UUID

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import JobMissing, WrongState
from gateleg.jobs.queue import Queue
from gateleg.jobs.rules import Snoozed
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tables.records import ArchivedJob
from gateleg.jobs.testing import ManualClock
from tests.jobs.sample import DONE, claimed, failed, submitted

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
