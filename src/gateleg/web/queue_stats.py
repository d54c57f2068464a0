"""The statistics of all queues, cached briefly and shared by all callers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue, QueueStats

#: Seconds for which statistics are fresh enough.
FRESH = 2.0
#: The minutes that they are about.
MINUTES = 15
#: Counting takes longer the more jobs wait; this is how many times as long as it took its result is used, so that it never takes up a host.
_REST = 10.0


class QueueStatsCache:
    """How the queues do, at most some moments ago, however many look."""

    def __init__(self, queue: AsyncQueue) -> None:
        self._queue = queue
        self._lock = asyncio.Lock()
        self._read: tuple[float, float, tuple[QueueStats, ...]] | None = None

    async def queue_names(self) -> list[str]:
        """The queues that are known: of job types, of workers, and those that somebody has changed."""
        states, workers = await self._queue.states(), await self._queue.workers()
        own = {handler.queue for handler in self._queue.context.jobs}
        return sorted(own | set(states) | {name for worker in workers for name in worker.queues}) or ["default"]

    async def read(self, fresh: float = FRESH) -> tuple[QueueStats, ...]:
        """The statistics of every known queue, over the last minutes."""
        ticks = self._queue.store.setup.ticks
        async with self._lock:
            if self._read is None or ticks() - self._read[0] >= max(fresh, self._read[1] * _REST):
                began = ticks()
                found = tuple([await self._queue.stats(name, minutes=MINUTES) for name in await self.queue_names()])
                self._read = (ticks(), ticks() - began, found)
            return self._read[2]
