"""Jobs that were lost with their workers run alone, in a process where that can be."""

import asyncio
import os
from typing import Any

import pytest

from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.attempt import in_own_process
from tests.jobs.worker.test_worker import Numbers, adds, ended, reaches, working

running: set[str] = set()
beside: dict[str, set[str]] = {}


async def tells_its_process(job: JobContext, config: dict[str, Any]) -> int:
    return os.getpid()


async def ends_its_process(job: JobContext, config: dict[str, Any]) -> None:
    os._exit(3)


def plain(job: JobContext, config: dict[str, Any]) -> int:
    return os.getpid()


async def waits_a_moment(job: JobContext, config: dict[str, Any]) -> None:
    await asyncio.sleep(0.05)


def test_what_a_process_can_import_runs_in_one() -> None:
    async def inner(job: JobContext, config: Any) -> None: ...

    assert in_own_process(Handler("x", tells_its_process)).runs == "process"
    assert in_own_process(Handler("x", plain, runs="thread")).runs == "process"
    assert in_own_process(Handler("x", adds, config=Numbers)).runs == "process"
    assert in_own_process(Handler("x", inner)).runs == "inline"


async def lost(queue: Any, job_type: str, times: int, **options: Any) -> Job:
    """A job that was lost with its worker some times already."""
    job: Job = (await queue.submit(Submission(job_type, delay=3600, **options))).job
    return await queue.store.patch(job, Job.losses.set(times), Job.readiness.set(Readiness.READY))  # type: ignore[no-any-return]


async def test_a_job_that_was_lost_twice_runs_in_a_process_and_one_that_was_lost_once_does_not() -> None:
    jobs = Jobs()
    jobs.handler("tells")(tells_its_process)
    async with working(jobs) as (queue, _):
        once = await ended(queue, (await lost(queue, "tells", 1)).job_id)
        twice = await ended(queue, (await lost(queue, "tells", 2)).job_id)
    assert once.job_results is not None
    assert twice.job_results is not None
    assert once.job_results.value == os.getpid()
    assert twice.job_results.value != os.getpid()


async def test_what_ends_its_process_fails_there_and_leaves_the_worker_alive() -> None:
    jobs = Jobs()
    jobs.handler("ends", retry=Retry(times=0))(ends_its_process)
    jobs.handler("waits")(waits_a_moment)
    async with working(jobs) as (queue, _):
        poison = await ended(queue, (await lost(queue, "ends", 2)).job_id)
        sound = await ended(queue, (await lost(queue, "waits", 0)).job_id)
    assert (poison.status, sound.status) == (JobStatus.FAILED, JobStatus.COMPLETED)
    error = poison.attempts[-1].error
    assert error is not None
    assert error.kind == "process-died"


@pytest.mark.parametrize("losses", [0, 2])
async def test_a_job_that_was_lost_twice_has_nothing_beside_it(losses: int) -> None:
    running.clear()
    beside.clear()
    jobs = Jobs()

    @jobs.handler("looks")
    async def looks(job: JobContext, config: dict[str, Any]) -> None:
        running.add(str(job.job_id))
        for _ in range(10):
            beside.setdefault(str(job.job_id), set()).update(running - {str(job.job_id)})
            await asyncio.sleep(0.005)
        running.discard(str(job.job_id))

    async with working(jobs, concurrency=3) as (queue, _):
        await queue.pause("default")
        names = [(await lost(queue, "looks", losses if number % 2 else 0)).job_id for number in range(8)]
        await queue.resume("default")
        for name in names:
            assert (await ended(queue, name)).status == JobStatus.COMPLETED
    alone = [not beside[str(name)] for name in names[1::2]]
    assert all(alone) is (losses == 2)


async def test_a_job_that_waits_for_its_turn_is_given_back_when_the_worker_stops() -> None:
    jobs, go = Jobs(), asyncio.Event()

    @jobs.handler("holds")
    async def holds(job: JobContext, config: dict[str, Any]) -> None:
        await go.wait()

    async with working(jobs, drain_seconds=0.1) as (queue, worker):
        first = (await queue.submit(Submission("holds"))).job
        await reaches(queue, first.job_id, lambda job: job.status == JobStatus.PROCESSING)
        second = await lost(queue, "holds", 2)
        await reaches(queue, second.job_id, lambda job: job.status == JobStatus.PROCESSING)
        worker.stop()
        given_back = await reaches(queue, second.job_id, lambda job: job.status == JobStatus.PENDING)
        assert given_back.attempts[-1].outcome == "released"
