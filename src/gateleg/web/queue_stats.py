"""The statistics of all queues, cached briefly and shared by all callers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.queue_context import UnreadableJob

#: Statistics of this age are served from the cache.
MAX_AGE_SECONDS = 2.0
#: The period that the statistics cover.
WINDOW_MINUTES = 15
#: A result is reused for at least this multiple of the time it took to read, so that a long backlog cannot saturate the host.
_REUSE_FACTOR = 10.0


class QueueStatsCache:
    """Reads the statistics of all queues, at most once per `MAX_AGE_SECONDS` for any number of callers."""

    def __init__(self, queue: AsyncQueue) -> None:
        self._queue = queue
        self._lock = asyncio.Lock()
        self._set_aside: tuple[float, tuple[UnreadableJob, ...]] | None = None
        self._read: tuple[float, float, tuple[QueueStats, ...]] | None = None

    async def queue_names(self) -> list[str]:
        """All known queues: those of job types, of workers, and those with a stored state."""
        states, workers = await self._queue.states(), await self._queue.workers()
        own = {handler.queue for handler in self._queue.context.jobs}
        return sorted(own | set(states) | {name for worker in workers for name in worker.queues}) or ["default"]

    async def set_aside(self, max_age: float = MAX_AGE_SECONDS) -> tuple[UnreadableJob, ...]:
        """The items of the job table that are not valid jobs."""
        ticks = self._queue.store.setup.ticks
        async with self._lock:
            if self._set_aside is None or ticks() - self._set_aside[0] >= max_age:
                self._set_aside = (ticks(), tuple(await self._queue.set_aside()))
            return self._set_aside[1]

    async def read(self, max_age: float = MAX_AGE_SECONDS) -> tuple[QueueStats, ...]:
        """The statistics of every known queue over the last `WINDOW_MINUTES`."""
        ticks = self._queue.store.setup.ticks
        async with self._lock:
            if self._read is None or ticks() - self._read[0] >= max(max_age, self._read[1] * _REUSE_FACTOR):
                began = ticks()
                found = tuple([await self._queue.stats(name, minutes=WINDOW_MINUTES) for name in await self.queue_names()])
                self._read = (ticks(), ticks() - began, found)
            return self._read[2]
