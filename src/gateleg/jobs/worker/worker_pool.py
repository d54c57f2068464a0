"""The workers of one process: one for most queues, and one for each queue with its own concurrency."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.jobs.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.queue import AsyncQueue

__all__ = ["WorkerPool"]


class WorkerPool:
    """Workers that start and stop together: `await WorkerPool(queue, concurrency=4).run()`.

    `queues` and `concurrency` are as for `Worker`; `options` are passed to each worker. Each queue whose handlers declare `own_concurrency`
    gets its own worker, so that its jobs do not use the slots of other queues.
    """

    def __init__(self, queue: AsyncQueue, *, queues: Mapping[str, int] | None = None, concurrency: int = 4, **options: Any) -> None:
        jobs = queue.context.jobs
        weights = dict(queues or {handler.queue: 1 for handler in jobs})
        separate = {name: slots for name, slots in jobs.own_concurrencies.items() if name in weights}
        common = {name: weight for name, weight in weights.items() if name not in separate}
        self.workers = [Worker(queue, queues=common, concurrency=concurrency, **options)] if common or not separate else []
        self.workers += [Worker(queue, queues={name: 1}, concurrency=slots, **options) for name, slots in separate.items()]

    def running(self) -> list[str]:
        """The jobs that are running, each with its type."""
        return [f"job {job_id} ({execution.job.job_type})" for worker in self.workers for job_id, execution in list(worker.running.items())]

    def stop(self) -> None:
        """Stop claiming jobs. `run` returns when the running jobs have ended or were released. Call this in the event loop's thread."""
        for worker in self.workers:
            worker.stop()

    async def run(self) -> None:
        """Claim and run jobs until `stop` is called and the running jobs have ended or were released.

        If one worker fails, the others stop too, and the error is raised.
        """
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(self._run(worker))

    async def _run(self, worker: Worker) -> None:
        try:
            await worker.run()
        finally:
            self.stop()
