import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.rules import Released, Snoozed
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Progress, Readiness
from gateleg.jobs.tables.records import QueueState, WorkerRecord
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from gateleg.store.transports import Unreachable
from tests.jobs.sample import DONE, claimed, failed, reaped, submitted


def test_a_claim_takes_the_job_off_the_ready_index(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue)
    running = claimed(queue, selector)
    assert (running.job_id, running.status, running.worker_id) == (job.job_id, JobStatus.PROCESSING, "w1")
    assert (running.attempt, running.version, running.started_at) == (1, 2, clock.now)
    assert running.lease_until == clock.now + timedelta(seconds=30)
    assert queue.claim(selector, "default", "w2") is None


def test_priority_comes_first_and_then_age(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    for priority in (10, 90, 50, 90):
        submitted(queue, priority=priority, tags=[str(clock.now.second)])
        clock.advance(1)
    order = [(job.priority, job.tags) for job in iter(lambda: queue.claim(selector, "default", "w"), None)]
    assert order == [(90, ["1"]), (90, ["3"]), (50, ["2"]), (10, ["0"])]


def test_queues_are_apart(queue: Queue, selector: CandidateSelector) -> None:
    submitted(queue, queue="other")
    assert queue.claim(selector, "default", "w") is None
    assert claimed(queue, selector, name="other").queue == "other"


def test_a_job_that_changed_after_it_was_seen_is_not_claimed(queue: Queue, clock: ManualClock) -> None:
    selector = CandidateSelector(clock, fresh_for=10)
    one, two = submitted(queue), submitted(queue)
    first = claimed(queue, selector)
    other = two if first.job_id == one.job_id else one
    queue.cancel(other.job_id)
    assert queue.claim(selector, "default", "w") is None
    assert selector.lost_claims == 1


def test_a_job_that_waited_too_long_fails_instead_of_starting(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    job = submitted(queue, start_within=60)
    clock.advance(61)
    assert queue.claim(selector, "default", "w") is None
    failed_job = queue.get(job.job_id)
    assert failed_job.status == JobStatus.FAILED
    assert failed_job.attempts[-1].error is not None
    assert failed_job.attempts[-1].error.kind == "waited-too-long"


class TestAnswersThatAreLost:
    class Lossy:
        """Carries requests out and loses the answers to updates, so many times."""

        def __init__(self, inner: Any, losses: int) -> None:
            self.inner, self.losses = inner, losses

        def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
            reply: dict[str, Any] = self.inner.call(operation, request)
            if operation in ("UpdateItem", "TransactWriteItems") and self.losses:
                self.losses -= 1
                raise Unreachable("lost")
            return reply

        def close(self) -> None: ...

    def lossy(self, queue: Queue, losses: int = 1) -> Queue:
        store = queue.store.using(self.Lossy(queue.store.transport, losses))
        store._sleep = lambda seconds: None
        return Queue(store, queue.context.jobs, tables=queue.tables.names)

    def test_a_claim_is_found_again(self, queue: Queue, selector: CandidateSelector) -> None:
        job = submitted(queue)
        with pytest.raises(Exception, match="lost"):
            self.lossy(queue).claim(selector, "default", "w")
        again = claimed(queue, selector)
        assert (again.job_id, again.attempt) == (job.job_id, 1)

    def test_a_completion_is_recognised(self, queue: Queue, selector: CandidateSelector) -> None:
        submitted(queue)
        done = self.lossy(queue).finish(claimed(queue, selector), DONE)
        assert (done.status, len(done.attempts)) == (JobStatus.COMPLETED, 1)

    def test_a_retry_is_counted_once(self, queue: Queue, selector: CandidateSelector) -> None:
        submitted(queue)
        again = self.lossy(queue).finish(claimed(queue, selector), failed())
        assert (again.retry_count, len(again.attempts)) == (1, 1)


class TestSeveralAtOnce:
    def test_no_more_are_claimed_than_wanted_and_none_twice(self, queue: Queue, selector: CandidateSelector) -> None:
        submitted_ids = {submitted(queue).job_id for _ in range(5)}
        first = queue.claim_several(selector, "default", "w", 3)
        rest = queue.claim_several(selector, "default", "w", 3)
        assert (len(first), len(rest)) == (3, 2)
        assert {job.job_id for job in [*first, *rest]} == submitted_ids

    def test_a_claim_that_fails_does_not_drop_the_others(self, queue: Queue, selector: CandidateSelector) -> None:
        for _ in range(3):
            submitted(queue)
        lossy = TestAnswersThatAreLost().lossy(queue)
        kept = lossy.claim_several(selector, "default", "w", 3)
        found = queue.claim_several(selector, "default", "w", 3)
        assert (len(kept), len(found)) == (2, 1)
        assert all(job.attempt == 1 for job in [*kept, *found])

    def test_jobs_of_one_key_are_claimed_up_to_its_limit(self, queue: Queue, selector: CandidateSelector) -> None:
        for _ in range(5):
            submitted(queue, concurrency_key="k", concurrency_limit=2)
        assert len(queue.claim_several(selector, "default", "w", 5)) == 2

    def test_a_rate_is_kept(self, queue: Queue, selector: CandidateSelector) -> None:
        for _ in range(5):
            submitted(queue)
        assert len(queue.claim_several(selector, "default", "w", 5, QueueState(name="default", rate=2, rate_seconds=10))) == 1


def test_sixteen_workers_on_one_queue_seldom_lose_a_claim(queue: Queue, clock: ManualClock) -> None:
    """Each keeps its list for a while, as far behind the others as an index may be."""
    chance = random.Random(1)
    for _ in range(3):
        queue.submit_many([Submission("plain", job_id=UUID(int=chance.getrandbits(128))) for _ in range(100)])
    names = [f"w{number}" for number in range(16)]
    pickers = [CandidateSelector(clock, name) for name in names]
    for selector in pickers:
        selector.set_workers(names)
    claims = 0
    while claims < 300:
        for selector in pickers:
            claims += len(queue.claim_several(selector, "default", selector.worker_id, 1))
            clock.advance(0.003)
    losses = sum(selector.lost_claims for selector in pickers)
    assert losses / (claims + losses) < 0.05


class TestLeases:
    def test_a_heartbeat_renews_the_lease_and_leaves_the_version(
        self, queue: Queue, selector: CandidateSelector, clock: ManualClock
    ) -> None:
        submitted(queue)
        running = claimed(queue, selector)
        clock.advance(20)
        beat = queue.renew(running, progress=Progress(done=1, total=4, message="quarter"))
        stored = queue.get(running.job_id)
        assert stored.lease_until == beat.until == clock.now + timedelta(seconds=30)
        assert stored.version == running.version
        assert stored.progress == Progress(done=1, total=4, message="quarter")
        assert reaped(queue, clock, seconds=29) == []

    def test_an_expired_lease_gives_the_job_to_another(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        submitted(queue)
        zombie = claimed(queue, selector, "zombie")
        (lost,) = reaped(queue, clock)
        assert (lost.status, lost.retry_count, lost.losses, lost.attempts[-1].outcome) == (JobStatus.PENDING, 0, 1, "lost")
        clock.advance(60)
        queue.promote("default")
        winner = claimed(queue, selector, "winner")
        assert winner.attempt == 2
        with pytest.raises(LeaseLost):
            queue.renew(zombie)
        with pytest.raises(LeaseLost):
            queue.finish(zombie, DONE)
        assert queue.finish(winner, DONE).status == JobStatus.COMPLETED
        with pytest.raises(LeaseLost):
            queue.finish(zombie, failed())

    def test_an_expired_lease_that_nobody_took_still_completes(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        submitted(queue)
        slow = claimed(queue, selector)
        clock.advance(100)
        assert queue.finish(slow, DONE).status == JobStatus.COMPLETED
        assert reaped(queue, clock) == []

    def test_a_job_that_loses_its_workers_too_often_fails(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        job = submitted(queue, max_retries=0)
        for _ in range(11):
            claimed(queue, selector)
            reaped(queue, clock)
            clock.advance(hours=1)
            queue.promote("default")
        stored = queue.get(job.job_id)
        assert (stored.status, stored.attempt, stored.retry_count, stored.losses) == (JobStatus.FAILED, 11, 0, 11)
        error = stored.attempts[-1].error
        assert error is not None
        assert "lost with its worker 11 times, 9 of them while it ran alone, and is not retried" in error.message
        assert queue.retry(job.job_id).losses is None

    def test_a_lease_that_moves_is_not_taken_by_a_worker_whose_clock_is_ahead(self, store: Store, jobs: Jobs) -> None:
        ahead, right, ticks = ManualClock(), ManualClock(), ManualClock()
        ahead.advance(hours=2)
        queue = Queue(Store(store.transport, clock=right, ticks=ticks), jobs)
        queue.ensure_tables()
        other = Queue(Store(store.transport, clock=ahead, ticks=ticks), jobs)
        submitted(queue)
        running, leases = claimed(queue, CandidateSelector(ticks)), LeaseObserver[UUID]()
        for _ in range(10):
            assert other.reap("default", leases) == []
            for clock in (ahead, right, ticks):
                clock.advance(10)
            queue.renew(running)
        assert queue.finish(running, DONE).status == JobStatus.COMPLETED

    def test_a_lease_that_does_not_move_is_taken_whatever_time_it_tells(self, store: Store, jobs: Jobs) -> None:
        ahead, right, ticks = ManualClock(), ManualClock(), ManualClock()
        ahead.advance(days=3)
        killed = Queue(Store(store.transport, clock=ahead, ticks=ticks), jobs)
        killed.ensure_tables()
        submitted(killed)
        claimed(killed, CandidateSelector(ticks))
        queue = Queue(Store(store.transport, clock=right, ticks=ticks), jobs)
        (lost,) = reaped(queue, ticks)
        assert lost.attempts[-1].outcome == "lost"

    def test_the_lease_of_a_worker_that_was_started_with_a_longer_one_lasts_longer(
        self, queue: Queue, selector: CandidateSelector, clock: ManualClock
    ) -> None:
        now = clock.now
        queue.report_worker(WorkerRecord(worker_id="slow", host="h", pid=1, lease_seconds=90, started_at=now, seen_at=now))
        submitted(queue)
        claimed(queue, selector, "slow")
        assert reaped(queue, clock, seconds=89) == []
        assert len(reaped(queue, clock, seconds=91)) == 1

    def test_a_zombie_cannot_write_its_log_or_submit_children(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        submitted(queue)
        zombie = claimed(queue, selector)
        reaped(queue, clock)
        with pytest.raises(Exception, match="no longer owns the parent job"):
            queue.submit(Submission("plain"), under=zombie)


class TestEndings:
    def test_a_completion_survives_an_edit_of_the_job(self, queue: Queue, selector: CandidateSelector, store: Store) -> None:
        submitted(queue)
        running = claimed(queue, selector)
        store.patch(queue.get(running.job_id), Job.tags.set(["edited"]))
        done = queue.finish(running, DONE)
        assert (done.status, done.tags) == (JobStatus.COMPLETED, ["edited"])

    def test_a_completed_job_is_in_no_sparse_index(
        self, queue: Queue, selector: CandidateSelector, store: Store, clock: ManualClock
    ) -> None:
        submitted(queue)
        done = queue.finish(claimed(queue, selector), DONE)
        assert done.completed_at == clock.now
        kind = queue.tables.job
        for question in (kind.ready(queue="default"), kind.due(queue="default"), kind.leased(queue="default")):
            assert store.count(question) == 0

    def test_a_failed_attempt_waits_for_its_delay_and_runs_again(
        self, queue: Queue, selector: CandidateSelector, clock: ManualClock
    ) -> None:
        queue.submit(Submission("PCA"))
        again = queue.finish(claimed(queue, selector, name="math"), failed())
        assert (again.readiness, again.run_at) == (Readiness.DELAYED, clock.now + timedelta(seconds=10))
        clock.advance(10)
        queue.promote("math")
        assert claimed(queue, selector, name="math").attempt == 2

    def test_a_job_fails_after_its_retries(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        job = queue.submit(Submission("PCA")).job
        for _ in range(3):
            queue.finish(claimed(queue, selector, name="math"), failed())
            clock.advance(100)
            queue.promote("math")
        stored = queue.get(job.job_id)
        assert (stored.status, stored.retry_count, stored.attempt) == (JobStatus.FAILED, 2, 3)
        assert [attempt.outcome for attempt in stored.attempts] == ["retried", "retried", "failed"]

    def test_a_snoozed_job_comes_back_without_counting(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        submitted(queue)
        queue.finish(claimed(queue, selector), Snoozed(300))
        clock.advance(300)
        queue.promote("default")
        assert claimed(queue, selector).retry_count == 0

    def test_a_released_job_is_ready_at_once(self, queue: Queue, selector: CandidateSelector) -> None:
        submitted(queue)
        queue.finish(claimed(queue, selector), Released())
        assert claimed(queue, selector, "w2").attempt == 2

    def test_ending_twice_is_no_second_ending(self, queue: Queue, selector: CandidateSelector) -> None:
        submitted(queue)
        running = claimed(queue, selector)
        first = queue.finish(running, DONE)
        assert queue.finish(running, failed()) == first


class TestConcurrencyKeys:
    def test_no_more_jobs_run_than_the_key_allows(self, queue: Queue, selector: CandidateSelector) -> None:
        for _ in range(4):
            submitted(queue, concurrency_key="c#1", concurrency_limit=2)
        first, second = claimed(queue, selector), claimed(queue, selector)
        assert queue.claim(selector, "default", "w") is None
        queue.finish(first, DONE)
        selector.record_key_freed("c#1")
        third = claimed(queue, selector)
        assert queue.claim(selector, "default", "w") is None
        assert len({first.job_id, second.job_id, third.job_id}) == 3

    def test_a_full_key_does_not_hold_up_others(self, queue: Queue, selector: CandidateSelector) -> None:
        for key in ("a", "a", "b"):
            submitted(queue, concurrency_key=key)
        assert {claimed(queue, selector).concurrency_key, claimed(queue, selector).concurrency_key} == {"a", "b"}
        assert queue.claim(selector, "default", "w") is None

    def test_many_waiting_jobs_of_a_full_key_do_not_hold_up_others(
        self, queue: Queue, selector: CandidateSelector, clock: ManualClock
    ) -> None:
        queue.submit_many([Submission("plain", concurrency_key="crowded", priority=90) for _ in range(150)])
        clock.advance(1)
        other = submitted(queue)
        assert claimed(queue, selector).concurrency_key == "crowded"
        assert claimed(queue, selector).job_id == other.job_id
        assert queue.claim(selector, "default", "w") is None

    @pytest.mark.parametrize("ending", [DONE, failed(), failed(final=True), Snoozed(1), Released()])
    def test_every_ending_frees_the_place(self, queue: Queue, selector: CandidateSelector, ending: Any) -> None:
        submitted(queue, concurrency_key="k", priority=90)
        submitted(queue, concurrency_key="k")
        queue.finish(claimed(queue, selector), ending)
        assert queue.claim(selector, "default", "w") is not None

    def test_a_lost_worker_frees_the_place(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        submitted(queue, concurrency_key="k", priority=90)
        submitted(queue, concurrency_key="k")
        claimed(queue, selector)
        reaped(queue, clock)
        assert queue.claim(selector, "default", "w") is not None


class TestStatesOfQueues:
    def test_nothing_is_claimed_from_a_paused_queue(self, queue: Queue, selector: CandidateSelector) -> None:
        submitted(queue)
        assert queue.claim(selector, "default", "w", QueueState(name="default", mode="paused")) is None

    def test_an_empty_queue_takes_no_part_of_its_rate(self, queue: Queue, selector: CandidateSelector, store: Store) -> None:
        state = QueueState(name="default", rate=2, rate_seconds=10)
        assert queue.claim(selector, "default", "w", state) is None
        assert list(store.scan(queue.tables.all[1])) == []

    def test_no_more_jobs_start_in_a_window_than_its_rate(self, queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
        state = QueueState(name="default", rate=2, rate_seconds=10)
        for _ in range(5):
            submitted(queue)
        taken = [queue.claim(selector, "default", "w", state) for _ in range(3)]
        assert [job is not None for job in taken] == [True, True, False]
        clock.advance(10)
        assert queue.claim(selector, "default", "w", state) is not None

    def test_a_claim_that_is_lost_gives_its_permit_back(self, queue: Queue, clock: ManualClock) -> None:
        state = QueueState(name="default", rate=1, rate_seconds=1000)
        late, selector = CandidateSelector(clock, fresh_for=60), CandidateSelector(clock, fresh_for=-1.0)
        submitted(queue)
        submitted(queue)
        # One worker has both on its list, and another takes the one that is left.
        assert queue.claim(late, "default", "w1") is not None
        assert queue.claim(selector, "default", "w2") is not None
        assert queue.claim(late, "default", "w1", state) is None
        submitted(queue)
        assert queue.claim(selector, "default", "w2", state) is not None
