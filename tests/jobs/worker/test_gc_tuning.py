import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.attempt import Execution
from gateleg.jobs.worker.worker import Worker, collecting_less_often
from gateleg.store import AsyncStore


def test_loaded_modules_are_excluded_from_collection() -> None:
    # In its own process: this changes the whole process.
    program = "import gc, gateleg.jobs.worker.worker as t; t.exclude_loaded_modules(); print(gc.get_freeze_count())"
    frozen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(frozen) > 1000


@pytest.fixture
def default_threshold() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


async def test_a_running_worker_collects_less_often_and_restores_the_threshold(default_threshold: tuple[int, int, int]) -> None:
    jobs, seen = Jobs(), asyncio.get_running_loop().create_future()

    @jobs.handler("looks")
    async def looks(job: JobContext, config: dict[str, Any]) -> None:
        seen.set_result(gc.get_threshold())

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        await queue.submit(Submission("looks"))
        worker = Worker(queue)
        task = asyncio.create_task(worker.run())
        during = await asyncio.wait_for(seen, 30)
        worker.stop()
        await task
    assert during[0] > default_threshold[0]
    assert gc.get_threshold() == default_threshold


def test_the_last_worker_restores_the_threshold(default_threshold: tuple[int, int, int]) -> None:
    with collecting_less_often():
        with collecting_less_often():
            raised = gc.get_threshold()
        assert gc.get_threshold() == raised != default_threshold
    assert gc.get_threshold() == default_threshold


@pytest.mark.parametrize("own", [(0, 10, 10), (50_000, 5, 5)])
def test_a_threshold_of_the_program_stays(default_threshold: tuple[int, int, int], own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with collecting_less_often():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_a_threshold_that_the_program_sets_meanwhile_stays(default_threshold: tuple[int, int, int]) -> None:
    with collecting_less_often():
        gc.set_threshold(1234, 5, 5)
    assert gc.get_threshold() == (1234, 5, 5)


async def test_an_ended_attempt_is_freed_without_the_garbage_collector() -> None:
    jobs = Jobs()

    @jobs.handler("quiet")
    async def quiet(job: JobContext, config: dict[str, Any]) -> int:
        return 1

    @jobs.handler("talks")
    async def talks(job: JobContext, config: dict[str, Any]) -> int:
        job.log("one moment")
        await asyncio.sleep(0.01)  # so that its heartbeat starts
        return 1

    attempts: list[weakref.ref[Execution]] = []

    class Watched(Worker):
        def execution(self, job: Job, handler: Handler) -> Execution:
            execution = super().execution(job, handler)
            attempts.append(weakref.ref(execution))
            return execution

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        for number in range(20):
            await queue.submit(Submission("talks" if number % 2 else "quiet"))
        worker = Watched(queue, idle=(0.01, 0.05))
        gc.collect()
        gc.disable()
        try:
            task = asyncio.create_task(worker.run())
            while len(attempts) < 20 or worker.running:
                await asyncio.sleep(0.01)
            worker.stop()
            await task
            assert [attempt() for attempt in attempts] == [None] * 20
        finally:
            gc.enable()
