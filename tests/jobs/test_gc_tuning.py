import asyncio
import gc
import subprocess
import sys
import weakref
from typing import Any

from gateleg.jobs.context import JobContext
from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.submit.submission import Submission
from gateleg.jobs.tables.job import Job
from gateleg.jobs.worker.attempt import Execution
from gateleg.jobs.worker.worker import Worker
from gateleg.store import AsyncStore


def test_what_is_loaded_is_not_looked_through_again() -> None:
    # In a process of its own: the settings are those of the whole process.
    program = (
        "import gc, gateleg.jobs.worker.gc_tuning as t; t.collect_garbage_less_often(); print(gc.get_freeze_count(), gc.get_threshold()[0])"
    )
    frozen, containers = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert int(frozen) > 1000
    assert int(containers) > 1000


async def test_an_attempt_goes_when_it_has_ended_and_nobody_has_to_look_for_it() -> None:
    jobs = Jobs()

    @jobs.handler("quiet")
    async def quiet(job: JobContext, config: dict[str, Any]) -> int:
        return 1

    @jobs.handler("talks")
    async def talks(job: JobContext, config: dict[str, Any]) -> int:
        job.log("one moment")
        await asyncio.sleep(0.01)  # so that its pulse begins
        return 1

    attempts: list[weakref.ref[Execution]] = []

    class Watched(Worker):
        def execution(self, job: Job, handler: Handler) -> Execution:
            made = super().execution(job, handler)
            attempts.append(weakref.ref(made))
            return made

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
