"""Limits per worker: a queue that has reached its limit is not read, and other jobs overtake."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gateleg.jobs import JobContext, Jobs, JobStatus, Submission
from gateleg.jobs.errors import BadHandler
from tests.jobs.worker.test_worker import done, reaches, until, working


class Hall:
    """Jobs that wait for a word, and how many of them there are at once."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.inside = 0
        self.most = 0

    async def stay(self, job: JobContext, config: Any) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self.go.wait()
        self.inside -= 1


async def small(job: JobContext, config: Any) -> str:
    return "done"


def limited(hall: Hall, limit: int | None = 1) -> Jobs:
    jobs = Jobs()
    jobs.handler("render", limit_per_worker=limit)(hall.stay)
    jobs.handler("small")(small)
    return jobs


async def settled(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not check():
            await asyncio.sleep(0.005)


async def test_small_jobs_overtake_a_type_that_has_reached_its_limit() -> None:
    hall = Hall()
    async with working(limited(hall, 2), queues={"render": 1, "default": 1}) as (queue, _):
        renders = await queue.submit_many([Submission("render", priority=90) for _ in range(10)])
        await settled(lambda: hall.inside == 2)
        for _ in range(5):
            assert (await done(queue, Submission("small"))).status == JobStatus.COMPLETED
        assert hall.most == 2
        hall.go.set()
        for one in renders:
            await reaches(queue, one.job.job_id, lambda job: job.finished)
    assert hall.most == 2


async def test_a_thousand_waiting_jobs_behind_a_limit_are_not_read_again_and_again() -> None:
    hall = Hall()
    async with working(limited(hall), queues={"render": 1, "default": 1}) as (queue, worker):
        await queue.submit_many([Submission("render", priority=90) for _ in range(1000)])
        await settled(lambda: hall.inside == 1)
        asked: list[tuple[str, int]] = []
        claim = worker.queue.claim_several

        async def counted(selector: Any, name: str, *rest: Any) -> Any:
            asked.append((name, rest[1]))
            return await claim(selector, name, *rest)

        worker.queue.claim_several = counted  # type: ignore[assignment]
        for _ in range(20):
            await done(queue, Submission("small"))
        assert asked
        assert {name for name, _ in asked} == {"default"}
        hall.go.set()


async def test_the_workers_own_limits_count_before_those_of_handlers_and_are_shown() -> None:
    hall = Hall()
    async with working(limited(hall), queues={"render": 1, "default": 1}, limits={"render": 3}) as (queue, _):
        await queue.submit_many([Submission("render") for _ in range(10)])
        await settled(lambda: hall.inside == 3)
        (record,) = await until(lambda: queue.workers())
        assert record.limits == {"render": 3}
        await done(queue, Submission("small"))
        hall.go.set()
    assert hall.most == 3


def test_a_limited_type_has_a_queue_of_its_own_unless_one_is_named() -> None:
    jobs = Jobs()
    jobs.handler("render", limit_per_worker=1)(small)
    jobs.handler("cut", queue="films", limit_per_worker=2)(small)
    jobs.handler("join", queue="films", limit_per_worker=2)(small)
    assert (jobs.of("render").queue, jobs.limits) == ("render", {"render": 1, "films": 2})
    with pytest.raises(BadHandler, match="share the queue films and have different limits"):
        jobs.handler("mix", queue="films")(small)
    with pytest.raises(BadHandler, match="at least 1"):
        jobs.handler("none", limit_per_worker=0)(small)
