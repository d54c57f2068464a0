import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker import polling
from gateleg.jobs.worker.polling import MAX_CLAIMED, PrefetchedJobs
from gateleg.jobs.worker.worker import Worker
from gateleg.store import AsyncStore
from tests.jobs.worker.test_worker import ended, reaches

SHORT_JOBS_REQUIRED = polling._SHORT_JOBS_REQUIRED


def after_short_jobs(concurrency: int = 1) -> PrefetchedJobs:
    prefetched = PrefetchedJobs(concurrency)
    for _ in range(SHORT_JOBS_REQUIRED):
        prefetched.record_duration(0.0)
    return prefetched


def test_nothing_is_claimed_ahead_before_jobs_have_been_short() -> None:
    prefetched = PrefetchedJobs(1)
    for _ in range(SHORT_JOBS_REQUIRED - 1):
        prefetched.record_duration(0.0)
    assert prefetched.number_to_claim == 0
    prefetched.record_duration(0.0)
    assert prefetched.number_to_claim == MAX_CLAIMED - 1


def test_one_job_that_is_not_short_ends_it() -> None:
    prefetched = after_short_jobs()
    prefetched.record_duration(1.0)
    assert prefetched.number_to_claim == 0


def test_nothing_more_is_claimed_while_jobs_wait() -> None:
    prefetched = after_short_jobs()
    prefetched.add(Job(job_type="x"))
    assert prefetched.number_to_claim == 0


def test_a_worker_that_runs_many_at_once_claims_none_ahead() -> None:
    assert after_short_jobs(MAX_CLAIMED).number_to_claim == 0


def test_jobs_come_in_the_order_of_their_claims_and_once() -> None:
    prefetched, jobs = after_short_jobs(), [Job(job_type="x") for _ in range(3)]
    for job in jobs:
        prefetched.add(job)
    assert [prefetched.take(), jobs[0] in prefetched, jobs[2] in prefetched] == [jobs[0], False, True]
    assert prefetched.clear() == jobs[1:]
    assert (prefetched.take(), prefetched.delays_commits, prefetched.number_to_claim) == (None, False, 0)


class Counting(AsyncQueue):
    """A queue that notes how many jobs each claim brought."""

    claims: list[int]

    async def claim_several(self, *args: Any, **options: Any) -> list[Job]:
        claimed: list[Job] = await super().claim_several(*args, **options)
        self.claims += [len(claimed)] if claimed else []
        return claimed


@pytest.fixture
def together() -> list[int]:
    """How many short jobs ran whenever one began."""
    return []


@pytest.fixture
def jobs(together: list[int], monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Handlers that are short however busy the machine is, and one that ends when it is told to."""
    monkeypatch.setattr(polling, "_SHORT_SECONDS", 60.0)
    jobs = Jobs()
    running = 0

    @jobs.handler("short")
    async def short(job: JobContext, config: dict[str, Any]) -> int:
        nonlocal running
        running += 1
        together.append(running)
        await asyncio.sleep(0)
        running -= 1
        return running

    @jobs.handler("long")
    async def long(job: JobContext, config: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    return jobs


@asynccontextmanager
async def opened(jobs: Jobs) -> AsyncIterator[Counting]:
    async with AsyncStore.connect("embedded::memory:") as store:
        queue = Counting(store, jobs)
        queue.claims = []
        await queue.ensure_tables()
        yield queue


@asynccontextmanager
async def working(queue: AsyncQueue) -> AsyncIterator[Worker]:
    worker = Worker(queue, idle=(0.01, 0.05), concurrency=1, drain_seconds=0.0)
    task = asyncio.ensure_future(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def submitted(queue: AsyncQueue, *types: str) -> list[Job]:
    """Jobs that are claimed in this order."""
    found = await queue.submit_many([Submission(one, priority=100 - number) for number, one in enumerate(types)])
    return [one.job for one in found]


async def test_short_jobs_are_claimed_together_and_run_one_at_a_time(
    jobs: Jobs, together: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateleg.jobs.worker.worker.MAX_WAIT_SECONDS", 600.0)
    async with opened(jobs) as queue:
        sent = await submitted(queue, *["short"] * (SHORT_JOBS_REQUIRED + 20))
        async with working(queue):
            ends = [await ended(queue, job.job_id) for job in sent]
        assert {job.status for job in ends} == {JobStatus.COMPLETED}
        assert together == [1] * len(sent)
        assert {len(job.attempts) for job in ends} == {1}
        assert max(queue.claims) == MAX_CLAIMED


async def test_jobs_behind_one_that_takes_long_are_released(jobs: Jobs) -> None:
    async with opened(jobs) as queue:
        *_, blocker, last = await submitted(queue, *["short"] * SHORT_JOBS_REQUIRED, "long", "short")
        async with working(queue):
            await reaches(queue, last.job_id, lambda job: job.status == JobStatus.PENDING and bool(job.attempts))
            async with working(queue):
                assert (await ended(queue, last.job_id)).status == JobStatus.COMPLETED
            assert (await queue.get(blocker.job_id)).status == JobStatus.PROCESSING


async def test_a_worker_that_stops_releases_prefetched_jobs(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.jobs.worker.worker.MAX_WAIT_SECONDS", 600.0)
    async with opened(jobs) as queue:
        *_, blocker, last = await submitted(queue, *["short"] * SHORT_JOBS_REQUIRED, "long", "short")
        async with working(queue):
            await reaches(queue, blocker.job_id, lambda job: job.status == JobStatus.PROCESSING)
        for job in (blocker, last):
            found = await queue.get(job.job_id)
            assert (found.status, [one.outcome for one in found.attempts]) == (JobStatus.PENDING, ["released"])
