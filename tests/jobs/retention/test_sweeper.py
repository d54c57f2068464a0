from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.listing import entries_of, extended
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import JobStatus, Readiness
from gateleg.jobs.tables.records import ArchivedJob
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from tests.jobs.sample import DONE, claimed, failed, submitted, swept


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
