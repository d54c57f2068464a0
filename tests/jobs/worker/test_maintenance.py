from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness, queue_table
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.testing import ManualClock
from gateleg.jobs.worker.maintenance import MaintenanceTasks
from gateleg.store import AsyncStore, Store, TableMissing
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
