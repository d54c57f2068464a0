import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import JobMissing, LeaseLost, WrongState
from gateleg.jobs.finish import SETTLE
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Cancelled
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from tests.jobs.sample import DONE, claimed, failed, reaped, submitted


def settle_all(queue: Queue, selector: CandidateSelector) -> None:
    """Do what the settlement jobs of a worker do."""
    while (job := queue.claim(selector, "default", "settler")) is not None:
        if job.job_type != SETTLE:
            queue.finish(job, failed(final=True))
            continue
        queue.settle(job.job_config["job_id"])
        queue.finish(job, DONE)


def test_a_waiting_job_is_cancelled_at_once(queue: Queue, selector: CandidateSelector) -> None:
    job = queue.cancel(submitted(queue).job_id, reason="not needed")
    assert (job.status, job.cancel_reason) == (JobStatus.CANCELLED, "not needed")
    assert queue.claim(selector, "default", "w") is None


def test_a_running_job_is_asked_to_stop(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue)
    running = claimed(queue, selector)
    assert not queue.renew(running).cancel
    asked = queue.cancel(running.job_id, reason="enough")
    assert asked.status == JobStatus.PROCESSING
    assert queue.renew(running).cancel
    ended = queue.finish(running, Cancelled())
    assert (ended.status, ended.cancel_reason) == (JobStatus.CANCELLED, "enough")


def test_a_running_job_is_taken_from_its_worker_by_force(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue, concurrency_key="k")
    running = claimed(queue, selector)
    assert queue.cancel(running.job_id, force=True).status == JobStatus.CANCELLED
    with pytest.raises(LeaseLost):
        queue.finish(running, DONE)
    submitted(queue, concurrency_key="k")
    assert claimed(queue, selector).concurrency_key == "k"


def test_the_wish_to_cancel_outlives_the_worker(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    submitted(queue)
    running = claimed(queue, selector)
    queue.cancel(running.job_id)
    (lost,) = reaped(queue, clock)
    assert lost.status == JobStatus.CANCELLED


def test_cancelling_keeps_the_place_of_a_running_job(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue, concurrency_key="k")
    submitted(queue, concurrency_key="k")
    queue.cancel(claimed(queue, selector).job_id)
    assert queue.claim(selector, "default", "w") is None


def test_a_finished_job_stays_as_it_is(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue)
    done = queue.finish(claimed(queue, selector), DONE)
    assert queue.cancel(done.job_id) == done


def test_what_is_not_there_cannot_be_cancelled(queue: Queue) -> None:
    with pytest.raises(JobMissing):
        queue.cancel(Job(job_type="x").job_id)


def test_a_failed_job_begins_again_with_all_its_retries(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    submitted(queue)
    job = queue.finish(claimed(queue, selector), failed(final=True))
    again = queue.retry(job.job_id)
    assert (again.status, again.retry_count, again.completed_at, again.job_results, again.expires_at) == (
        JobStatus.PENDING,
        0,
        None,
        None,
        None,
    )
    assert claimed(queue, selector).attempt == 2


def test_only_what_has_failed_or_was_cancelled_is_tried_again(queue: Queue) -> None:
    with pytest.raises(WrongState):
        queue.retry(submitted(queue).job_id)


def test_failed_jobs_are_retried_by_type_and_queue(queue: Queue, selector: CandidateSelector) -> None:
    for name in ("default", "default", "other"):
        submitted(queue, queue=name)
        queue.finish(claimed(queue, selector, name=name), failed(final=True))
    assert len(queue.retry_failed(queue="other", job_type="plain")) == 1
    assert len(queue.retry_failed()) == 2
    assert queue.retry_failed() == []


def test_a_waiting_job_moves_forwards(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue)
    late = submitted(queue)
    queue.set_priority(late.job_id, 99)
    assert claimed(queue, selector).job_id == late.job_id
    with pytest.raises(WrongState):
        queue.set_priority(late.job_id, 1)


class TestDependents:
    def test_a_failure_cancels_those_that_wait_and_those_that_wait_for_them(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue, priority=90)
        second = submitted(queue, dependencies=[first.job_id])
        third = submitted(queue, dependencies=[second.job_id])
        queue.finish(claimed(queue, selector), failed(final=True))
        settle_all(queue, selector)
        for job, because in ((second, first), (third, second)):
            stored = queue.get(job.job_id)
            assert (stored.status, stored.cancelled_by) == (JobStatus.CANCELLED, because.job_id)

    def test_a_retry_lets_them_wait_again(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue, priority=90)
        second = submitted(queue, dependencies=[first.job_id])
        third = submitted(queue, dependencies=[second.job_id])
        queue.finish(claimed(queue, selector), failed(final=True))
        settle_all(queue, selector)
        queue.retry(first.job_id)
        running = claimed(queue, selector)
        assert running.job_type == SETTLE
        queue.settle(first.job_id)
        queue.finish(running, DONE)
        assert queue.get(second.job_id).readiness is Readiness.BLOCKED
        queue.finish(_next(queue, selector), DONE)
        queue.finish(_next(queue, selector), DONE)
        assert _next(queue, selector).job_id == third.job_id

    def test_cancelling_a_job_cancels_its_dependents(self, queue: Queue, selector: CandidateSelector) -> None:
        first = submitted(queue)
        second = submitted(queue, dependencies=[first.job_id])
        queue.cancel(first.job_id)
        settle_all(queue, selector)
        assert queue.get(second.job_id).status == JobStatus.CANCELLED

    def test_many_dependents_are_released_by_a_job_of_their_own(self, store: Store, jobs: Jobs, selector: CandidateSelector) -> None:
        queue = Queue(store, jobs, QueueSettings(inline_dependents=3))
        queue.ensure_tables()
        first = submitted(queue, priority=90)
        others = [submitted(queue, dependencies=[first.job_id]) for _ in range(30)]
        queue.finish(claimed(queue, selector), DONE)
        assert all(queue.get(job.job_id).readiness is Readiness.BLOCKED for job in others)
        settlement = claimed(queue, selector)
        assert queue.settle(settlement.job_config["job_id"]) == 30
        assert queue.settle(settlement.job_config["job_id"]) == 0
        assert all(queue.get(job.job_id).readiness is Readiness.READY for job in others)


def _next(queue: Queue, selector: CandidateSelector) -> Job:
    """The next job that is no settlement; those are carried out."""
    while True:
        job = claimed(queue, selector)
        if job.job_type != SETTLE:
            return job
        queue.settle(job.job_config["job_id"])
        queue.finish(job, DONE)
