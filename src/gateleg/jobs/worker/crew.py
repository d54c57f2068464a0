"""The workers of one process: one for most queues, and one for each queue that has places of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.jobs.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.queue import AsyncQueue

__all__ = ["WorkerCrew"]


class WorkerCrew:
    """Workers that begin and end together. `queues` and `concurrency` are as those of a `Worker`, and `options` go to each of them.

    Jobs of queues whose handlers have `own_concurrency` do not take the places of others: each of these queues has a worker of its own.
    """

    def __init__(self, queue: AsyncQueue, *, queues: Mapping[str, int] | None = None, concurrency: int = 4, **options: Any) -> None:
        jobs = queue.context.jobs
        wanted = dict(queues or {handler.queue: 1 for handler in jobs})
        own = {name: places for name, places in jobs.own_concurrencies.items() if name in wanted}
        common = {name: weight for name, weight in wanted.items() if name not in own}
        self.workers = [Worker(queue, queues=common, concurrency=concurrency, **options)] if common or not own else []
        self.workers += [Worker(queue, queues={name: 1}, concurrency=places, **options) for name, places in own.items()]

    def stop(self) -> None:
        """Claim no more jobs, and end when those that run have ended."""
        for worker in self.workers:
            worker.stop()

    async def run(self) -> None:
        """Work until `stop` is called and the running jobs have ended or were given back. When one worker fails, the others stop."""
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(self._run(worker))

    async def _run(self, worker: Worker) -> None:
        try:
            await worker.run()
        finally:
            self.stop()
