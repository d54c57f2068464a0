"""Periodic work that one worker does for all, registration, and clocks that differ."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.monitor.stats import WorkerCounters
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness, queue_table
from gateleg.jobs.tables.records import WorkerRecord, ledger_table
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.testing import ManualClock
from gateleg.jobs.worker.maintenance import ClockSkew, MaintenanceTasks, WorkerRegistration
from gateleg.store import AsyncStore, Store, TableMissing
from tests.jobs.sample import make_jobs
from tests.jobs.worker.test_worker import done, ended, working


async def works(job: JobContext, config: Any) -> None: ...


class Old(BaseModel):
    width: int


class New(BaseModel):
    height: int


def jobs_of(job_type: str, **options: Any) -> Jobs:
    jobs = Jobs()
    jobs.add(Handler(job_type, works, **options))
    return jobs


def test_a_worker_that_does_not_know_a_type_follows_its_schedule_nevertheless(queue: Queue, store: Store, clock: ManualClock) -> None:
    theirs = jobs_of("theirs", queue="far", timeout=86_400, retry=Retry(times=7))
    other = Queue(store, theirs, tables=queue.tables.names)
    other.schedule("nightly", Submission("theirs", {"a": 1}, priority=70, subject="s"), every=60)
    clock.advance(60)
    (job,) = queue.run_schedules()
    assert (job.job_type, job.queue, job.job_config, job.priority, job.subject) == ("theirs", "far", {"a": 1}, 70, "s")
    assert (job.max_retries, job.timeout_seconds, job.created_by) == (7, 86_400, "schedule:nightly")


def test_a_run_that_its_handler_refuses_by_now_is_left_out_and_keeps_no_other_waiting(store: Store, clock: ManualClock) -> None:
    before = Queue(store, jobs_of("resize", config=Old))
    before.ensure_tables()
    before.schedule("a", Submission("resize", Old(width=1)), every=60)
    after = Queue(store, jobs_of("resize", config=New))
    after.schedule("b", Submission("resize", New(height=1)), every=60)
    clock.advance(60)
    assert [job.job_config for job in after.run_schedules()] == [{"height": 1}]
    assert {one.name: (one.skipped, one.next_run_at) for one in after.schedules()} == {
        "a": (1, clock.now + timedelta(seconds=60)),
        "b": (0, clock.now + timedelta(seconds=60)),
    }


def test_a_schedule_whose_time_zone_is_gone_keeps_no_other_waiting(
    queue: Queue, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.schedule("a", Submission("plain"), cron="* * * * *", timezone="Europe/Berlin")
    queue.schedule("b", Submission("plain"), every=60)
    clock.advance(60)

    def gone(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("gateleg.jobs.cron.ZoneInfo", gone)
    assert [job.created_by for job in queue.run_schedules()] == ["schedule:b"]


async def spoil(store: AsyncStore, job: Job) -> None:
    """Make a job unreadable, as one of a later version may be."""
    await store.transport.call(
        "UpdateItem",
        {
            "TableName": store.setup.name_of(queue_table),
            "Key": {"job_id": {"S": str(job.job_id)}},
            "UpdateExpression": "SET progress = :odd",
            "ExpressionAttributeValues": {":odd": {"S": "later"}},
        },
    )


async def test_an_unreadable_job_stops_neither_the_worker_nor_its_maintenance() -> None:
    async with working(jobs_of("a"), settings=QueueSettings(lease_seconds=0.5), concurrency=1) as (queue, _):
        await queue.pause("default")
        odd = (await queue.submit(Submission("a", priority=90))).job
        await spoil(queue.store, odd)
        await queue.resume("default")
        assert (await done(queue, Submission("a"))).status == JobStatus.COMPLETED
        # By then its lease has ended, and whoever looks after lost workers has met it.
        late = (await queue.submit(Submission("a", delay=1.5))).job
        assert (await ended(queue, late.job_id)).status == JobStatus.COMPLETED


class TestAClock:
    """The clock on the wall may jump. Who is gone is told by the monotonic one."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[tuple[ManualClock, ManualClock, AsyncQueue, Job]]:
        clock, ticks = ManualClock(), ManualClock()
        async with AsyncStore.embedded(clock=clock, ticks=ticks) as store:
            queue = AsyncQueue(store, jobs_of("a"), QueueSettings(lease_seconds=30))
            await queue.ensure_tables()
            await queue.submit(Submission("a"))
            job = await queue.claim(CandidateSelector(ticks), "default", "w")
            assert job is not None
            yield clock, ticks, queue, job

    async def outcome(self, queue: AsyncQueue, job: Job) -> str | None:
        attempts = (await queue.get(job.job_id)).attempts
        return attempts[-1].outcome if attempts else None

    @pytest.mark.parametrize("hours", [-8, 8])
    async def test_that_jumps_takes_no_job_from_a_worker_that_is_there(self, hours: float) -> None:
        async with self.running() as (clock, ticks, queue, job):
            tasks = MaintenanceTasks(queue, ("default",), "w")
            for second in range(100):
                await tasks.run_once()
                if second == 20:
                    clock.advance(hours=hours)
                if second % 10 == 0:
                    await queue.renew(job)
                clock.advance(1)
                ticks.advance(1)
            assert await self.outcome(queue, job) is None

    @pytest.mark.parametrize("hours", [-8, 0, 8])
    async def test_that_jumps_leaves_no_job_with_a_worker_that_is_gone(self, hours: float) -> None:
        async with self.running() as (clock, ticks, queue, job):
            tasks = MaintenanceTasks(queue, ("default",), "w")
            for second in range(40):
                await tasks.run_once()
                if second == 2:
                    clock.advance(hours=hours)
                clock.advance(1)
                ticks.advance(1)
            assert await self.outcome(queue, job) == "lost"

    async def test_that_was_ahead_when_its_worker_was_killed_freezes_nothing(self) -> None:
        async with self.running() as (clock, ticks, queue, job):
            await queue.schedule("often", Submission("a"), every=2)
            clock.advance(hours=2)
            await queue.renew(job)
            await MaintenanceTasks(queue, ("default",), "killed").run_once()
            delayed = (await queue.submit(Submission("a", delay=5))).job
            clock.advance(hours=-2)
            before = (await queue.schedules())[0].last_run_at
            tasks = MaintenanceTasks(queue, ("default",), "other")
            for _ in range(60):
                await tasks.run_once()
                clock.advance(1)
                ticks.advance(1)
            assert await self.outcome(queue, job) == "lost"
            assert (await queue.get(delayed.job_id)).readiness is Readiness.READY
            (schedule,) = await queue.schedules()
            assert schedule.last_run_at is not None
            assert schedule.last_run_at != before
            assert clock.now - schedule.last_run_at <= timedelta(seconds=4)

    async def test_a_process_that_was_stopped_leaves_others_the_time_of_a_lease(self) -> None:
        async with self.running() as (clock, ticks, queue, job):
            tasks = MaintenanceTasks(queue, ("default",), "w")
            await tasks.run_once()
            for one in (clock, ticks):
                one.advance(hours=1)
            await tasks.run_once()
            assert (await queue.renew(job)).until > clock.now

    async def test_a_new_worker_knows_which_leases_are_stale_when_it_becomes_the_leader(self) -> None:
        async with self.running() as (clock, ticks, queue, job):
            await MaintenanceTasks(queue, ("default",), "killed").run_once()
            tasks = MaintenanceTasks(queue, ("default",), "next")
            for _ in range(37):
                await tasks.run_once()
                clock.advance(1)
                ticks.advance(1)
            assert await self.outcome(queue, job) == "lost"


async def test_a_failing_task_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    async with AsyncStore.embedded(clock=clock, ticks=clock) as store:
        queue = AsyncQueue(store, jobs_of("a"))
        await queue.ensure_tables()
        delayed = (await queue.submit(Submission("a", queue="second", delay=5))).job
        await queue.schedule("often", Submission("a"), every=5)
        clock.advance(6)
        asked: list[str] = []

        async def fails(name: str, leases: object, limit: int) -> None:
            asked.append(name)
            raise TableMissing("gone")

        monkeypatch.setattr(queue, "reap", fails)
        await MaintenanceTasks(queue, ("first", "second"), "w").run_once()
        assert asked == ["first", "second"]
        assert (await queue.get(delayed.job_id)).readiness is Readiness.READY
        assert [one.skipped for one in await queue.schedules() if one.last_job_id] == [0]


@pytest.fixture
async def far() -> AsyncIterator[AsyncQueue]:
    """A queue as one that is elsewhere: commits are not shared."""
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, make_jobs())
        await queue.ensure_tables()
        yield queue


def present(queue: AsyncQueue, name: str, *queues: str, alone: bool = False) -> tuple[WorkerRegistration, CandidateSelector]:
    now = queue.context.now()
    record = WorkerRecord(worker_id=name, host="h", pid=1, queues=list(queues), started_at=now, seen_at=now)
    selector = CandidateSelector(queue.context.setup.ticks, name)
    return WorkerRegistration(queue, [selector], WorkerCounters(name), record, lambda: {"state": "running"}, alone=alone), selector


async def test_workers_of_the_same_queues_learn_of_each_other(far: AsyncQueue) -> None:
    first, selector = present(far, "a", "default")
    second, other = present(far, "b", "default", "math")
    await first.report()
    await second.report()
    assert (selector.worker_count, other.worker_count) == (1, 2)
    await first.report()
    assert selector.worker_count == 2


async def test_workers_of_other_queues_are_strangers(far: AsyncQueue) -> None:
    await present(far, "a", "math")[0].report()
    second, selector = present(far, "b", "default")
    await second.report()
    assert selector.worker_count == 1


async def test_who_has_left_is_not_counted(far: AsyncQueue) -> None:
    first, _ = present(far, "a", "default")
    await first.report()
    await first.leave()
    second, selector = present(far, "b", "default")
    await second.report()
    assert selector.worker_count == 1
    assert [worker.worker_id for worker in await far.workers()] == ["b"]


async def test_a_worker_that_loses_no_claims_does_not_look_for_others(far: AsyncQueue) -> None:
    await present(far, "a", "default")[0].report()
    second, selector = present(far, "b", "default", alone=True)
    await second.report()
    assert selector.worker_count == 1


async def test_a_failing_report_does_not_end_the_worker(far: AsyncQueue, caplog: pytest.LogCaptureFixture) -> None:
    registration, _ = present(far, "a", "default")
    await far.store.delete_tables(ledger_table)
    await registration.report()
    assert "could not write the report of this worker" in caplog.text
    await registration.leave()
    assert "could not write the last report" in caplog.text


async def test_a_wrong_clock_is_logged_and_in_the_record(caplog: pytest.LogCaptureFixture) -> None:
    ticks, wrong, right = ManualClock(), ManualClock(), ManualClock()
    wrong.advance(minutes=10)
    async with AsyncStore.embedded(clock=right, ticks=ticks) as store:
        queues = [AsyncQueue(AsyncStore(store.transport, clock=clock, ticks=ticks), make_jobs()) for clock in (right, right, wrong)]
        await queues[0].ensure_tables()
        workers = [present(queue, f"w{number}", "default")[0] for number, queue in enumerate(queues)]
        for _ in range(12):
            for worker in workers:
                await worker.report()
                for clock in (ticks, wrong, right):
                    clock.advance(3)
        ahead = {record.worker_id: record.clock_ahead for record in await queues[0].workers()}
        assert (ahead["w0"], ahead["w1"]) == (0.0, 0.0)
        assert ahead["w2"] == pytest.approx(600, abs=10)
        warnings = [record.getMessage() for record in caplog.records if "clock of worker" in record.getMessage()]
        assert len(warnings) == 1
        assert "worker w2" in warnings[0]
        assert "s ahead of" in warnings[0]
        # It is not there any more a minute after its last report, as far as its clock is known.
        right.advance(72)
        assert await queues[0].workers() == []


async def test_a_worker_whose_clock_is_behind_is_there_all_the_same() -> None:
    ticks, wrong, right = ManualClock(), ManualClock(), ManualClock()
    wrong.advance(hours=-1)
    async with AsyncStore.embedded(clock=right, ticks=ticks) as store:
        queues = [AsyncQueue(AsyncStore(store.transport, clock=clock, ticks=ticks), make_jobs()) for clock in (right, right, wrong)]
        await queues[0].ensure_tables()
        workers = [present(queue, f"w{number}", "default") for number, queue in enumerate(queues)]
        for _ in range(12):
            for worker, _selector in workers:
                await worker.report()
                for clock in (ticks, wrong, right):
                    clock.advance(3)
        assert len(await queues[0].workers()) == 3
        assert [selector.worker_count for _, selector in workers] == [3, 3, 3]


START = datetime(2030, 1, 1, tzinfo=UTC)


class Fleet:
    """Workers whose clocks are wrong by so many seconds each, and who report and look every ten seconds or so."""

    def __init__(self, *errors: float, seed: int = 1) -> None:
        self.errors, self.time, self.chance = errors, 0.0, random.Random(seed)
        self.reports = [self.clock(number) for number in range(len(errors))]
        self.skews = [ClockSkew() for _ in errors]

    def clock(self, number: int) -> datetime:
        return START + timedelta(seconds=self.time + self.errors[number])

    def go_on(self, turns: int) -> None:
        for _ in range(turns * len(self.errors)):
            self.time += 10 * (0.5 + self.chance.random()) / len(self.errors)
            number = self.chance.randrange(len(self.errors))
            others = {str(other): report for other, report in enumerate(self.reports) if other != number}
            self.skews[number].observe(others, self.clock(number), self.time)
            self.reports[number] = self.clock(number)

    def ahead(self) -> list[float]:
        return [skew.ahead() for skew in self.skews]


@given(seed=st.integers(0, 10_000), number=st.integers(1, 6))
def test_clocks_that_agree_are_never_suspected(seed: int, number: int) -> None:
    fleet = Fleet(*[0.0] * number, seed=seed)
    fleet.go_on(20)
    assert fleet.ahead() == [0.0] * number


@pytest.mark.parametrize("wrong", [-7200.0, -60.0, 60.0, 7200.0])
def test_the_one_that_is_wrong_among_many_is_found(wrong: float) -> None:
    fleet = Fleet(0.0, 0.0, wrong, 0.0)
    fleet.go_on(20)
    ahead = fleet.ahead()
    assert ahead[:2] == [0.0, 0.0]
    assert ahead[2] == pytest.approx(wrong, abs=15)


def test_of_two_each_sees_the_other_to_be_wrong() -> None:
    fleet = Fleet(0.0, 60.0)
    fleet.go_on(20)
    assert fleet.ahead() == [pytest.approx(-60, abs=15), pytest.approx(60, abs=15)]


def test_a_clock_that_was_set_right_is_trusted_again() -> None:
    fleet = Fleet(0.0, 0.0, 600.0)
    fleet.go_on(20)
    fleet.errors = (0.0, 0.0, 0.0)
    fleet.go_on(40)
    assert fleet.ahead() == [0.0, 0.0, 0.0]


def test_a_jump_of_the_own_clock_is_told() -> None:
    skew = ClockSkew()
    assert skew.observe({}, START, 0.0) == 0.0
    assert skew.observe({}, START + timedelta(seconds=10), 10.0) == 0.0
    assert skew.observe({}, START + timedelta(hours=1, seconds=20), 20.0) == 3600.0
    assert skew.observe({}, START + timedelta(seconds=30), 30.0) == -3600.0
