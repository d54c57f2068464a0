"""Claims: in order, once, within the limits of a queue, and with few collisions between workers."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.claim import Candidate, CandidateSelector, queue_order, rank_of, worker_hash
from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.rules import Released, Snoozed
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Progress, Readiness
from gateleg.jobs.tables.records import QueueState, WorkerRecord
from gateleg.jobs.testing import ManualClock
from gateleg.model import spec_of
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


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def crew(clock: ManualClock, number: int, **options: Any) -> list[CandidateSelector]:
    """Workers that know each other."""
    names = [f"w{one}" for one in range(number)]
    selectors = [CandidateSelector(clock, name, **options) for name in names]
    for selector in selectors:
        selector.set_workers(names)
    return selectors


def candidate(number: int, **values: Any) -> Candidate:
    usual: dict[str, Any] = {"version": 1, "queue": "q", "priority": 50}
    return Candidate(UUID(int=number), **(usual | values))


def taken(selector: CandidateSelector) -> list[int]:
    found = []
    while chosen := selector.take_candidates("q", 1):
        found += [one.job_id.int for one in chosen]
    return found


def test_one_worker_takes_the_list_as_it_is() -> None:
    selector = CandidateSelector(ManualClock())
    selector.set_candidates("q", [candidate(number) for number in range(5)])
    assert taken(selector) == [0, 1, 2, 3, 4]


def test_a_list_is_good_for_a_moment() -> None:
    clock = ManualClock()
    selector = CandidateSelector(clock, fresh_for=0.2)
    selector.set_candidates("q", [candidate(1), candidate(2)])
    assert selector.has_candidates("q")
    clock.advance(0.3)
    assert not selector.has_candidates("q")


_NUMBERS = st.sets(st.integers(0, 2**64), min_size=1)


@given(numbers=_NUMBERS, peers=st.integers(1, 8), priorities=st.lists(st.integers(0, 100), min_size=1))
def test_everyone_gets_everything_in_the_end_and_priority_comes_first(numbers: set[int], peers: int, priorities: list[int]) -> None:
    jobs = [candidate(number, priority=priorities[place % len(priorities)]) for place, number in enumerate(sorted(numbers))]
    clock = ManualClock()
    for selector in crew(clock, peers, reserved_while_busy=2.0):
        selector.set_candidates("q", jobs)
        clock.advance(2)
        selector.set_candidates("q", jobs)
        order = []
        while chosen := selector.take_candidates("q", 3):
            order += chosen
        assert sorted(one.job_id for one in order) == sorted(one.job_id for one in jobs)
        assert [one.priority for one in order] == sorted((one.priority for one in jobs), reverse=True)


@given(numbers=_NUMBERS, peers=st.integers(1, 8))
def test_at_first_every_job_is_one_workers_own(numbers: set[int], peers: int) -> None:
    chosen = []
    for selector in crew(ManualClock(), peers):
        selector.set_candidates("q", [candidate(number) for number in numbers])
        chosen += taken(selector)
    assert sorted(chosen) == sorted(numbers)


@given(number=st.integers(0, 2**64), workers=st.sets(st.text(), min_size=3), known=st.data())
def test_who_knows_fewer_workers_has_those_in_the_same_order(number: int, workers: set[str], known: st.DataObject) -> None:
    def line(names: set[str]) -> list[str]:
        return sorted(names, key=lambda one: rank_of(UUID(int=number), worker_hash(one), [worker_hash(other) for other in names - {one}]))

    some = known.draw(st.sets(st.sampled_from(sorted(workers)), min_size=1))
    assert line(some) == [one for one in line(workers) if one in some]


def test_jobs_are_shared_evenly() -> None:
    shares = []
    for selector in crew(ManualClock(), 4):
        selector.set_candidates("q", [candidate(number * 7919) for number in range(400)])
        shares.append(len(taken(selector)))
    assert all(60 < share < 140 for share in shares)


def test_a_job_that_its_worker_leaves_lying_goes_down_the_line() -> None:
    clock = ManualClock()
    selectors = crew(clock, 4, reserved_for=0.4)
    begun: list[str] = []
    for _ in range(4):
        for selector in selectors:
            selector.set_candidates("q", [candidate(1)])
            if taken(selector) and selector.worker_id not in begun:
                begun.append(selector.worker_id)
        clock.advance(0.101)
    line = sorted(selectors, key=lambda one: rank_of(UUID(int=1), worker_hash(one.worker_id), one._others))
    assert begun == [selector.worker_id for selector in line]


def test_meeting_others_divides_the_list_anew() -> None:
    selector = CandidateSelector(ManualClock(), "a")
    selector.set_candidates("q", [candidate(1)])
    assert not selector.set_workers(["a"])
    assert selector.has_candidates("q")
    assert selector.set_workers(["a", "b"])
    assert not selector.has_candidates("q")
    assert not selector.set_workers(["b"])


def test_a_worker_knows_when_its_turn_comes() -> None:
    clock = ManualClock()
    selectors = crew(clock, 4, reserved_for=0.4)
    turns = []
    for selector in selectors:
        selector.set_candidates("q", [candidate(1)])
        turns.append(selector.seconds_until_unreserved())
    assert sorted(round(turn, 3) for turn in turns if turn is not None) == [0.1, 0.2, 0.3]


def test_a_worker_with_jobs_of_its_own_leaves_those_of_others_for_longer() -> None:
    clock = ManualClock()
    one, _ = crew(clock, 2, reserved_for=0.2, reserved_while_busy=2.0)
    one.set_candidates("q", [candidate(number) for number in range(20)])
    mine = taken(one)
    theirs = next(number for number in range(20) if number not in mine)
    both = [candidate(mine[0]), candidate(theirs)]
    one.set_candidates("q", both)
    clock.advance(0.5)
    one.set_candidates("q", both)
    assert taken(one) == [mine[0]]
    one.set_candidates("q", [candidate(theirs)])
    assert taken(one) == [theirs]
    one.set_candidates("q", [candidate(mine[0]), candidate(theirs, priority=90)])
    assert taken(one) == [theirs, mine[0]]


def test_what_a_list_says_of_the_jobs_of_others_is_soon_out_of_date() -> None:
    clock = ManualClock()
    one, _ = crew(clock, 2, reserved_for=0.0, reserved_while_busy=0.0, fresh_for=10)
    one.set_candidates("q", [candidate(number) for number in range(20)])
    assert len(one.take_candidates("q", 1)) == 1
    clock.advance(1)
    assert 0 < len(taken(one)) < 18


def test_a_candidate_is_read_from_the_wire() -> None:
    job = Job(job_type="x", queue="q", priority=7, start_by=NOW, concurrency_key="k", concurrency_limit=3, version=4)
    read = Candidate.read(spec_of(Job).encode(job))
    assert read == Candidate(job.job_id, 4, "q", 7, NOW, "k", 3, "x")
    bare = Candidate.read(spec_of(Job).encode(Job(job_type="x")))
    assert (bare.start_by, bare.concurrency_key, bare.concurrency_limit) == (None, None, 1)


def test_a_job_that_is_claimed_is_not_tried_again_but_its_next_version_is() -> None:
    selector = CandidateSelector(ManualClock())
    selector.record_claimed(candidate(1))
    selector.set_candidates("q", [candidate(1), candidate(2)])
    assert taken(selector) == [2]
    selector.set_candidates("q", [candidate(1, version=3)])
    assert taken(selector) == [1]


def test_losses_and_full_keys_are_left_alone_for_a_while() -> None:
    clock = ManualClock()
    selector = CandidateSelector(clock, claimed_for=5, full_for=1)
    selector.record_lost(candidate(1))
    selector.record_key_full("k")
    jobs = [candidate(1), candidate(2, concurrency_key="k"), candidate(3)]
    selector.set_candidates("q", jobs)
    assert taken(selector) == [3]
    clock.advance(2)
    selector.set_candidates("q", jobs)
    assert taken(selector) == [2, 3]
    clock.advance(5)
    selector.set_candidates("q", jobs)
    assert taken(selector) == [1, 2, 3]


def test_a_key_that_fills_up_is_skipped_in_the_list_at_hand() -> None:
    selector = CandidateSelector(ManualClock())
    selector.set_candidates("q", [candidate(1, concurrency_key="k"), candidate(2, concurrency_key="k"), candidate(3)])
    selector.take_candidates("q", 1)
    selector.record_key_full("k")
    assert taken(selector) == [3]
    selector.record_key_freed("k")


def test_several_jobs_are_chosen_at_once_but_one_of_each_key() -> None:
    selector = CandidateSelector(ManualClock())
    keys = [None, "k", "k", None, "l", None]
    selector.set_candidates("q", [candidate(number, concurrency_key=key) for number, key in enumerate(keys)])
    assert [one.job_id.int for one in selector.take_candidates("q", 4)] == [0, 1, 3, 4]
    assert [one.job_id.int for one in selector.take_candidates("q", 4)] == [2, 5]
    assert selector.take_candidates("q", 4) == []


@given(weights=st.dictionaries(st.text(min_size=1), st.integers(1, 10), min_size=1), chance=st.floats(0, 1, exclude_max=True))
def test_every_queue_has_its_turn_once(weights: dict[str, int], chance: float) -> None:
    assert sorted(queue_order(weights, chance)) == sorted(weights)


def test_the_first_queue_is_drawn_by_weight() -> None:
    firsts = [queue_order({"a": 3, "b": 1}, number / 100)[0] for number in range(100)]
    assert firsts.count("a") == 75
