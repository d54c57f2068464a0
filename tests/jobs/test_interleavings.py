"""The protocol of claims, leases, retries, cancels and dependencies under every interleaving of a few actors."""

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from gateleg.jobs import admin, claim, finish, leases, schedules
from gateleg.jobs import submit as enqueue
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import LeaseLost, ParentGone
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import AttemptOutcome, Released
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.tables.records import Slots
from gateleg.jobs.testing import ManualClock
from gateleg.store import Store
from gateleg.store.flow import Flow, Pause
from tests.jobs.interleaving import Actor, Choices, run, search
from tests.jobs.sample import DONE, failed, make_jobs

#: How often an actor is left in the middle for another. Races need one or two; `make slow` searches further.
PREEMPTIONS = int(os.environ.get("GATELEG_TEST_PREEMPTIONS", "2"))


class World:
    """A queue of its own name for every run, so that all runs share one store."""

    numbers = itertools.count()

    def __init__(self, queue: Queue, clock: ManualClock) -> None:
        self.queue, self.context, self.clock = queue, queue.context, clock
        self.name = f"q{next(self.numbers)}"
        self.completions: list[str] = []
        self.starts: list[str] = []
        self.renewed: datetime | None = None
        self.ends = clock.now

    def submit(self, **options: Any) -> Job:
        return self.queue.submit(Submission("plain", queue=self.name, **options)).job

    def selector(self) -> CandidateSelector:
        return CandidateSelector(self.clock, fresh_for=-1.0, claimed_for=0.0)

    def works(self, worker: str, ending: AttemptOutcome = DONE, selector: CandidateSelector | None = None) -> Flow[Job | None]:
        """Claim one job and end it."""
        job = yield from claim.claim(self.context, selector or self.selector(), self.name, worker)
        if job is None:
            return None
        self.starts.append(worker)
        ended = yield from finish.finish(self.context, job, ending)
        if ending is DONE:
            self.completions.append(worker)
        return ended

    def keeps(self, worker: str) -> Flow[Job | None]:
        """Claim one job, renew its lease once, and end it."""
        job = yield from claim.claim(self.context, self.selector(), self.name, worker)
        if job is None:
            return None
        yield Pause(0)
        beat = yield from leases.renew(self.context, job)
        self.renewed = beat.until
        ended = yield from finish.finish(self.context, job, DONE)
        self.completions.append(worker)
        return ended

    def time_passes(self, seconds: float) -> Flow[None]:
        yield Pause(0)
        self.clock.advance(seconds)

    def reaps(self) -> Flow[list[Job]]:
        """Look at the leases twice, between which time may pass."""
        seen: LeaseObserver[UUID] = LeaseObserver()
        found = yield from leases.reap(self.context, self.name, seen)
        return [*found, *(yield from leases.reap(self.context, self.name, seen))]

    def until_quiet(self) -> None:
        """What workers would do until nothing is left to do."""
        selector, seen = self.selector(), LeaseObserver[UUID]()
        self.queue.reap(self.name, seen)
        for _ in range(50):
            self.clock.advance(100)
            lost = self.queue.reap(self.name, seen)
            self.queue.promote(self.name)
            job = self.queue.claim(selector, self.name, "late")
            if job is None and lost:
                continue
            if job is None:
                return
            if job.job_type == finish.SETTLE:
                self.queue.settle(job.job_config["job_id"])
            else:
                self.completions.append("late")
            self.queue.finish(job, DONE)
        raise AssertionError("the queue does not become quiet")


@pytest.fixture
def world(clock: ManualClock) -> Iterator[Callable[[], World]]:
    with Store.embedded(clock=clock, ticks=clock, random=random.Random(1)) as store:
        queue = Queue(store, make_jobs(), QueueSettings(open_for=0.0))
        queue.ensure_tables()
        yield lambda: World(queue, clock)


def unexpected(actors: list[Actor]) -> list[Exception]:
    """Errors other than those that a worker must expect."""
    return [actor.error for actor in actors if actor.error is not None and not isinstance(actor.error, LeaseLost)]


def attempts_add_up(job: Job) -> bool:
    """Every claim is in the history once, and retries and losses are counted."""
    numbers = [attempt.number for attempt in job.attempts]
    outcomes = Counter(attempt.outcome for attempt in job.attempts)
    counted = (outcomes["retried"], outcomes["lost"]) == (job.retry_count, job.losses or 0)
    return counted and numbers == list(range(1, job.attempt + 1))


def play(
    world: Callable[[], World],
    prepare: Callable[[World], Any],
    cast: Callable[[World, Any], dict[str, Flow[Any]]],
    decide: Callable[[World, Any, list[Actor]], None],
    *,
    preemptions: int = PREEMPTIONS,
    faults: dict[str, int] | None = None,
) -> int:
    def scenario(choices: Choices) -> None:
        one = world()
        given = prepare(one)
        actors = [Actor(name, flow, (faults or {}).get(name, 0)) for name, flow in cast(one, given).items()]
        run(actors, one.queue.store.transport, choices, preemptions)
        one.ends = one.clock.now
        assert unexpected(actors) == []
        one.until_quiet()
        decide(one, given, actors)

    return search(scenario)


def completed_once(one: World, job: Job, actors: list[Actor]) -> None:
    final = one.queue.get(job.job_id)
    assert final.status == JobStatus.COMPLETED
    assert len(one.completions) == 1
    assert attempts_add_up(final)


def test_two_workers_and_one_job(world: Callable[[], World]) -> None:
    runs = play(world, lambda one: one.submit(), lambda one, job: {"a": one.works("a"), "b": one.works("b")}, completed_once, preemptions=9)
    assert runs > 10


def test_a_lease_that_ends_while_its_worker_goes_on(world: Callable[[], World]) -> None:
    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {"a": one.works("a"), "time": one.time_passes(31), "reaper": one.reaps(), "b": one.works("b")}

    assert play(world, lambda one: one.submit(), cast, completed_once) > 100


def test_two_reapers_and_a_heartbeat(world: Callable[[], World]) -> None:
    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {"a": one.keeps("a"), "time": one.time_passes(31), "r1": one.reaps(), "r2": one.reaps()}

    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        completed_once(one, job, actors)
        # Nobody takes a job whose lease has not ended.
        assert actors[0].error is None or one.renewed is None or one.renewed <= one.ends

    assert play(world, lambda one: one.submit(), cast, decide) > 100


def test_answers_that_are_lost_at_every_write(world: Callable[[], World]) -> None:
    """A worker whose claim was not answered asks again, and finds out."""

    def persistent(one: World, worker: str) -> Flow[Any]:
        selector = one.selector()
        while True:
            try:
                return (yield from one.works(worker, selector=selector))
            except LeaseLost:
                raise
            except Exception:
                yield Pause(0)

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {"a": persistent(one, "a"), "b": persistent(one, "b")}

    assert play(world, lambda one: one.submit(), cast, completed_once, faults={"a": 2, "b": 1}, preemptions=2) > 100


def test_a_failure_is_counted_once_when_its_answer_is_lost(world: Callable[[], World]) -> None:
    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        final = one.queue.get(job.job_id)
        assert (final.retry_count, final.attempt) == (1, 2)
        assert attempts_add_up(final)

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        claimed = one.queue.claim(one.selector(), one.name, "a")
        assert claimed is not None
        return {"a": finish.finish(one.context, claimed, failed()), "reaper": one.reaps()}

    assert play(world, lambda one: one.submit(), cast, decide, faults={"a": 3}) > 5


def test_a_job_that_is_to_wait_is_not_claimed_from_an_old_list(world: Callable[[], World]) -> None:
    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        history = one.queue.get(job.job_id).attempts
        for before, after in itertools.pairwise(history):
            assert after.started_at - before.ended_at >= timedelta(seconds=0.5)

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {"a": one.works("a", failed()), "b": one.works("b", failed())}

    assert play(world, lambda one: one.submit(), cast, decide, preemptions=3) > 10


def test_cancelling_against_claiming_and_completing(world: Callable[[], World]) -> None:
    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        final = one.queue.get(job.job_id)
        assert (final.status, len(one.completions)) in ((JobStatus.COMPLETED, 1), (JobStatus.CANCELLED, 0))
        assert attempts_add_up(final)

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {
            "a": one.works("a"),
            "cancel": admin.cancel(one.context, job.job_id),
            "force": admin.cancel(one.context, job.job_id, force=True),
        }

    assert play(world, lambda one: one.submit(), cast, decide) > 50


def test_a_cancelled_lease_that_ends_is_cancelled(world: Callable[[], World]) -> None:
    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        final = one.queue.get(job.job_id)
        assert final.finished
        assert len(one.completions) == (final.status == JobStatus.COMPLETED)

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {
            "a": one.works("a"),
            "cancel": admin.cancel(one.context, job.job_id),
            "time": one.time_passes(31),
            "reaper": one.reaps(),
        }

    assert play(world, lambda one: one.submit(), cast, decide, preemptions=2) > 50


def test_a_dependent_that_is_submitted_while_its_dependency_ends(world: Callable[[], World]) -> None:
    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        dependent = one.queue.get(actors[1].result.job.job_id)
        assert (dependent.status, dependent.waiting_for) == (JobStatus.COMPLETED, None)
        assert len(one.completions) == 2

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        submission = Submission("plain", queue=one.name, dependencies=[job.job_id])
        return {"a": one.works("a"), "submit": enqueue.submit(one.context, submission)}

    assert play(world, lambda one: one.submit(), cast, decide, preemptions=9) > 20


def test_two_dependencies_that_end_together(world: Callable[[], World]) -> None:
    def prepare(one: World) -> Job:
        parents = [one.submit(), one.submit()]
        return one.submit(dependencies=[parent.job_id for parent in parents])

    def decide(one: World, last: Job, actors: list[Actor]) -> None:
        assert one.queue.get(last.job_id).status == JobStatus.COMPLETED
        assert len(one.completions) == 3

    def cast(one: World, last: Job) -> dict[str, Flow[Any]]:
        return {"a": one.works("a"), "b": one.works("b")}

    assert play(world, prepare, cast, decide, preemptions=3) > 100


def test_a_dependency_that_fails_while_it_is_retried(world: Callable[[], World]) -> None:
    def prepare(one: World) -> tuple[Job, Job]:
        first = one.submit(max_retries=0)
        return first, one.submit(dependencies=[first.job_id])

    def fails_and_is_retried(one: World, claimed: Job) -> Flow[None]:
        yield from finish.finish(one.context, claimed, failed(final=True))
        yield from admin.retry(one.context, claimed.job_id)

    def settles(one: World) -> Flow[None]:
        job = yield from claim.claim(one.context, one.selector(), one.name, "settler")
        if job is None:
            return
        if job.job_type == finish.SETTLE:
            yield from admin.settle(one.context, job.job_config["job_id"])
        yield from finish.finish(one.context, job, DONE if job.job_type == finish.SETTLE else Released())

    def decide(one: World, jobs: tuple[Job, Job], actors: list[Actor]) -> None:
        first, last = (one.queue.get(job.job_id) for job in jobs)
        assert first.finished
        assert last.status == first.status
        assert last.readiness is not Readiness.BLOCKED

    def cast(one: World, jobs: tuple[Job, Job]) -> dict[str, Flow[Any]]:
        claimed = one.queue.claim(one.selector(), one.name, "a")
        assert claimed is not None
        return {"a": fails_and_is_retried(one, claimed), "first": settles(one), "second": settles(one)}

    assert play(world, prepare, cast, decide, preemptions=2) > 100


def test_a_concurrency_key_never_lets_in_too_many(world: Callable[[], World]) -> None:
    def prepare(one: World) -> list[Job]:
        return [one.submit(concurrency_key=one.name), one.submit(concurrency_key=one.name)]

    def watched(one: World, worker: str, running: set[str]) -> Flow[None]:
        job = yield from claim.claim(one.context, one.selector(), one.name, worker)
        if job is None:
            return
        assert not running
        running.add(worker)
        yield Pause(0)
        # The place is free from the moment of the write, before the worker knows.
        running.discard(worker)
        yield from finish.finish(one.context, job, DONE)
        one.completions.append(worker)

    def decide(one: World, jobs: list[Job], actors: list[Actor]) -> None:
        slots = one.queue.store.get(Slots, concurrency_key=one.name)
        assert not slots.holders
        assert len(one.completions) == 2

    def cast(one: World, jobs: list[Job]) -> dict[str, Flow[Any]]:
        running: set[str] = set()
        return {"a": watched(one, "a", running), "b": watched(one, "b", running)}

    assert play(world, prepare, cast, decide, preemptions=4) > 100


def test_a_child_is_refused_to_a_worker_that_lost_its_job(world: Callable[[], World]) -> None:
    def has_child(one: World) -> Flow[Any]:
        job = yield from claim.claim(one.context, one.selector(), one.name, "a")
        if job is None:
            return None
        try:
            child = yield from enqueue.submit(one.context, Submission("plain", queue=one.name, subject="child"), under=job)
        except ParentGone:
            return None
        return child.job

    def decide(one: World, job: Job, actors: list[Actor]) -> None:
        child = actors[0].result
        children = [branch for branch in one.queue.tree(job.job_id) if branch.job_id != job.job_id]
        assert [branch.job_id for branch in children] == ([] if child is None else [child.job_id])

    def cast(one: World, job: Job) -> dict[str, Flow[Any]]:
        return {"a": has_child(one), "force": admin.cancel(one.context, job.job_id, force=True)}

    assert play(world, lambda one: one.submit(), cast, decide, preemptions=9) > 10


def taken_down(it: World) -> tuple[Job, Job]:
    """A job that has failed and its dependent, which was cancelled for it."""
    first = it.submit()
    second = it.submit(dependencies=[first.job_id])
    it.queue.store.drive(it.works("w", failed(final=True)))
    it.queue.settle(first.job_id)
    it.until_quiet()
    it.completions.clear()
    assert it.queue.get(second.job_id).status == JobStatus.CANCELLED
    return first, second


def test_a_dependent_that_begins_again_while_its_job_is_completed_is_not_forgotten(world: Callable[[], World]) -> None:
    def scenario(choices: Choices) -> None:
        it = world()
        first, second = taken_down(it)
        it.queue.retry(first.job_id)
        job = it.queue.claim(it.selector(), it.name, "w")
        if job is not None and job.job_type == finish.SETTLE:
            it.queue.cancel(job.job_id, force=True)
            job = it.queue.claim(it.selector(), it.name, "w")
        assert job is not None
        actors = [
            Actor("end", finish.finish(it.context, job, DONE)),
            Actor("retry", admin.retry(it.context, second.job_id)),
        ]
        run(actors, it.queue.store.transport, choices, preemptions=2)
        assert not unexpected(actors)
        it.until_quiet()
        assert it.queue.get(second.job_id).status == JobStatus.COMPLETED

    search(scenario)


def test_those_that_a_job_took_down_come_back_with_it_however_soon_it_is_completed(world: Callable[[], World]) -> None:
    def scenario(choices: Choices) -> None:
        it = world()
        first, second = taken_down(it)
        it.queue.retry(first.job_id)
        actors = [
            Actor("settlement", admin.settle(it.context, first.job_id)),
            Actor("work", it.works("w")),
            Actor("more", it.works("v")),
        ]
        run(actors, it.queue.store.transport, choices, preemptions=2)
        assert not unexpected(actors)
        it.until_quiet()
        assert it.queue.get(first.job_id).status == JobStatus.COMPLETED
        assert it.queue.get(second.job_id).status == JobStatus.COMPLETED

    search(scenario)


def test_two_processes_make_the_same_schedule_at_once(queue: Queue, clock: ManualClock) -> None:
    def scenario(choices: Choices) -> None:
        world = World(queue, clock)
        makers = [
            Actor(name, schedules.schedule(queue.context, world.name, Submission("plain", queue=world.name), every=60))
            for name in ("a", "b")
        ]
        run(makers, queue.store.transport, choices, preemptions=2)
        assert [maker.error for maker in makers] == [None, None]
        assert [one.every for one in queue.schedules() if one.name == world.name] == [60]

    assert search(scenario) > 3
