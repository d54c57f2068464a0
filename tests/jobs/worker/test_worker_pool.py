"""Jobs that mostly wait have places of their own in a worker process."""

import asyncio

import pytest

from gateleg.jobs import AsyncQueue, Jobs, JobStatus, Submission
from gateleg.jobs.errors import BadHandler
from gateleg.jobs.worker import WorkerPool
from gateleg.store import AsyncStore
from tests.jobs.test_limits import Hall, settled, small
from tests.jobs.worker.test_worker import done, reaches


def talkative(hall: Hall, places: int) -> Jobs:
    jobs = Jobs()
    jobs.handler("chat", own_concurrency=places)(hall.stay)
    jobs.handler("small")(small)
    return jobs


async def test_jobs_that_wait_do_not_take_the_places_of_others() -> None:
    hall = Hall()
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, talkative(hall, 5))
        await queue.ensure_tables()
        crew = WorkerPool(queue, concurrency=1)
        running = asyncio.ensure_future(crew.run())
        try:
            chats = await queue.submit_many([Submission("chat") for _ in range(7)])
            await settled(lambda: hall.inside == 5)
            assert (await done(queue, Submission("small"))).status == JobStatus.COMPLETED
            assert hall.most == 5
            hall.go.set()
            for one in chats:
                await reaches(queue, one.job.job_id, lambda job: job.finished)
        finally:
            crew.stop()
            await running


async def test_a_crew_has_the_queues_that_it_was_given() -> None:
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, talkative(Hall(), 5))
        found = {given: WorkerPool(queue, queues=None if given is None else {given: 1}).workers for given in (None, "default", "chat")}
    assert {given: [(list(one.queues), one.concurrency) for one in workers] for given, workers in found.items()} == {
        None: [(["default"], 4), (["chat"], 5)],
        "default": [(["default"], 4)],
        "chat": [(["chat"], 5)],
    }


def test_the_places_are_those_of_the_queue() -> None:
    jobs = talkative(Hall(), 5)
    assert (jobs.of("chat").queue, jobs.own_concurrencies) == ("chat", {"chat": 5})
    with pytest.raises(BadHandler, match="share the queue chat and have different own concurrencies"):
        jobs.handler("shout", queue="chat", own_concurrency=6)(small)
    with pytest.raises(BadHandler, match="at least 1"):
        jobs.handler("none", own_concurrency=0)(small)
