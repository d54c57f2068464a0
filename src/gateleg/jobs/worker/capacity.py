"""The free slots of a worker: in all, and for each queue that has a limit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.tables.job import Job


class WorkerSlots:
    """The slots of a worker. `limits` maps queues to their maximum number of concurrent jobs."""

    def __init__(self, slots: int, limits: Mapping[str, int]) -> None:
        self.free = slots
        self.limits = limits
        self._running: Counter[str] = Counter()

    def free_in(self, queue: str) -> int:
        """How many more jobs of this queue may start now."""
        limit = self.limits.get(queue)
        return self.free if limit is None else min(self.free, max(0, limit - self._running[queue]))

    def take(self, job: Job) -> None:
        """Occupy the slot of a job that starts."""
        self.free -= 1
        self._running[job.queue] += 1

    def release(self, job: Job) -> None:
        """Free the slot of a job that has ended."""
        self.free += 1
        self._running[job.queue] -= 1
