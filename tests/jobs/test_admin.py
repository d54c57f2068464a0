"""Operating jobs and queues."""

from datetime import timedelta
from typing import Any

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import BadSubmission, JobMissing, LeaseLost, QueueDraining, WrongState
from gateleg.jobs.finish import SETTLE
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Cancelled
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.tables.records import WorkerRecord
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from tests.jobs.sample import DONE, claimed, failed, make_jobs, reaped, submitted


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


def test_a_draining_queue_takes_no_new_jobs_and_runs_the_old_ones(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue)
    state = queue.drain("default", by="ops")
    with pytest.raises(QueueDraining):
        submitted(queue)
    with pytest.raises(QueueDraining):
        queue.submit_many([Submission("plain")])
    assert queue.claim(selector, "default", "w", state) is not None
    queue.resume("default")
    submitted(queue)


def test_who_submits_elsewhere_sees_within_a_second_that_a_queue_drains(queue: Queue, store: Store, clock: ManualClock) -> None:
    submitted(queue)
    Queue(store, queue.context.jobs, tables=queue.tables.names).drain("default")
    submitted(queue)
    clock.advance(1)
    with pytest.raises(QueueDraining):
        submitted(queue)
    Queue(store, queue.context.jobs, tables=queue.tables.names).resume("default")
    submitted(queue)


def test_pausing_is_noted_with_who_and_when(queue: Queue, clock: ManualClock) -> None:
    queue.pause("default", by="ops")
    (state,) = queue.states().values()
    assert (state.mode, state.changed_by, state.changed_at) == ("paused", "ops", clock.now)
    assert queue.states(["default", "other"]).keys() == {"default"}
    queue.set_rate("default", 5, seconds=10)
    assert queue.states()["default"].mode == "paused"


def test_what_cannot_name_a_queue_cannot_be_paused(queue: Queue) -> None:
    with pytest.raises(BadSubmission):
        queue.pause("a#b")


def test_a_leader_lease_belongs_to_one_worker_until_it_expires(queue: Queue, clock: ManualClock) -> None:
    terms: LeaseObserver[str] = LeaseObserver()
    assert queue.acquire_leader_lease("sweep", "a", 10, terms)
    assert queue.acquire_leader_lease("sweep", "a", 10, terms)
    assert not queue.acquire_leader_lease("sweep", "b", 10, terms)
    clock.advance(11)
    assert queue.acquire_leader_lease("sweep", "b", 10, terms)
    queue.release_leader_lease("sweep", "a")
    assert not queue.acquire_leader_lease("sweep", "a", 10, terms)
    queue.release_leader_lease("sweep", "b")
    assert queue.acquire_leader_lease("sweep", "a", 10, terms)


def test_workers_are_forgotten_when_they_are_silent(queue: Queue, clock: ManualClock) -> None:
    record = WorkerRecord(worker_id="w", host="h", pid=1, started_at=clock.now, seen_at=clock.now)
    queue.report_worker(record)
    assert [one.worker_id for one in queue.workers()] == ["w"]
    clock.advance(61)
    assert queue.workers() == []
    queue.report_worker(record)
    queue.forget_worker("w")
    assert queue.workers() == []


class TestLists:
    def test_jobs_are_found_by_every_filter(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        first = submitted(queue, subject="s", tags=["red"], priority=90)
        clock.advance(1)
        second = queue.submit(Submission("PCA", subject="s")).job
        clock.advance(1)
        third = submitted(queue, queue="other")
        queue.finish(claimed(queue, selector), DONE)

        def found(**filters: object) -> list[object]:
            return [job.job_id for job in queue.jobs_page(**filters)]  # type: ignore[arg-type]

        assert found() == [third.job_id, second.job_id, first.job_id]
        assert found(subject="s") == [second.job_id, first.job_id]
        assert found(subject="s", status=JobStatus.COMPLETED) == [first.job_id]
        assert found(job_type="plain") == [third.job_id, first.job_id]
        assert found(job_type="plain", status=JobStatus.PENDING) == [third.job_id]
        assert found(status=JobStatus.PENDING) == [third.job_id, second.job_id]
        assert found(status=JobStatus.PENDING, queue="math") == [second.job_id]
        assert found(worker="w1") == [first.job_id]
        assert found(tag="red") == [first.job_id]
        assert found(job_type="plain", queue="other") == [third.job_id]

    def test_pages_follow_each_other(self, queue: Queue, clock: ManualClock) -> None:
        for _ in range(5):
            submitted(queue)
            clock.advance(1)
        first = queue.jobs_page(status=JobStatus.PENDING, limit=3)
        rest = queue.jobs_page(status=JobStatus.PENDING, limit=3, cursor=first.next)
        assert (len(first), len(rest), rest.next) == (3, 2, None)
        assert first.items[-1].created_at - rest.items[0].created_at == timedelta(seconds=1)

    def test_a_missing_job_is_an_error(self, queue: Queue) -> None:
        with pytest.raises(JobMissing):
            queue.get_or_archived(Job(job_type="x").job_id)
        with pytest.raises(JobMissing):
            queue.log(Job(job_type="x").job_id)


@pytest.mark.parametrize("hours", [-2, 2, 24 * 2000])
def test_a_leader_lease_that_is_not_renewed_is_taken_over_whatever_the_clocks_say(store: Store, jobs: Jobs, hours: float) -> None:
    wrong, right, ticks = ManualClock(), ManualClock(), ManualClock()
    wrong.advance(hours=hours)
    killed, other = (Queue(Store(store.transport, clock=clock, ticks=ticks), jobs) for clock in (wrong, right))
    killed.ensure_tables()
    assert killed.acquire_leader_lease("sweep", "killed", 15, LeaseObserver())
    terms: LeaseObserver[str] = LeaseObserver()
    for _ in range(4):
        # While it is renewed nobody else takes it.
        assert not other.acquire_leader_lease("sweep", "other", 15, terms)
        for clock in (wrong, right, ticks):
            clock.advance(5)
        assert killed.acquire_leader_lease("sweep", "killed", 15, LeaseObserver())
    assert not other.acquire_leader_lease("sweep", "other", 15, terms)
    ticks.advance(14)
    assert not other.acquire_leader_lease("sweep", "other", 15, terms)
    ticks.advance(1)
    assert other.acquire_leader_lease("sweep", "other", 15, terms)
    assert not killed.acquire_leader_lease("sweep", "killed", 15, LeaseObserver())


def test_a_longer_leader_lease_is_not_taken_over_before_it_expires(queue: Queue, clock: ManualClock) -> None:
    assert queue.acquire_leader_lease("sweep", "long", 15, LeaseObserver())
    terms: LeaseObserver[str] = LeaseObserver()
    assert not queue.acquire_leader_lease("sweep", "short", 1, terms)
    clock.advance(14)
    assert not queue.acquire_leader_lease("sweep", "short", 1, terms)
    clock.advance(2)
    assert queue.acquire_leader_lease("sweep", "short", 1, terms)


def test_the_jobs_of_the_queue_itself_are_listed_when_they_are_asked_for(queue: Queue, store: Store) -> None:
    store.create(queue.tables.job(job_type="gateleg.settle", subject="s"))
    own = submitted(queue, subject="s")
    for filters in ({}, {"subject": "s"}, {"status": JobStatus.PENDING}):
        assert [job.job_id for job in queue.jobs_page(**filters)] == [own.job_id]
        assert len(queue.jobs_page(internal=True, **filters)) == 2
    assert len(queue.jobs_page(job_type="gateleg.settle")) == 1


def test_jobs_of_internal_handlers_are_listed_when_they_are_asked_for_or_have_failed(store: Store) -> None:
    jobs = make_jobs()

    @jobs.handler("chore", internal=True)
    async def chore(job: JobContext, config: dict[str, Any]) -> None:
        """Nobody looks for it."""

    queue = Queue(store, jobs)
    queue.ensure_tables()
    done, broken = (queue.submit(Submission("chore", subject="s")).job for _ in range(2))
    own = submitted(queue, subject="s")
    store.patch(broken, queue.tables.job.status.force(JobStatus.FAILED))
    for subject in (None, "s"):
        assert {job.job_id for job in queue.jobs_page(subject=subject)} == {own.job_id, broken.job_id}
        assert len(queue.jobs_page(internal=True, subject=subject)) == 3
    assert [job.job_id for job in queue.jobs_page(subject="s", status=JobStatus.FAILED)] == [broken.job_id]
    assert list(queue.jobs_page(worker="nobody")) == []
    assert {job.job_id for job in queue.jobs_page(job_type="chore")} == {done.job_id, broken.job_id}
