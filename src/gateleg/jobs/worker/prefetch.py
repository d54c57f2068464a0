"""Prefetching: a worker whose jobs are very short claims several at once and runs them one after another.

Each claim and each completion is a commit that other processes wait for. For very short jobs the commits are most of the cost, and many
workers would mostly wait for each other. Once a worker's jobs have been short, it claims the next few together, and commits their
completions together with the next claim. It never runs more jobs at once than its concurrency. Prefetched jobs wait for a few milliseconds
at most: if the job before them takes longer after all, the worker releases them for other workers.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.jobs.tables.job import Job

#: The maximum number of jobs that a worker has claimed: running and prefetched ones.
MAX_CLAIMED = 8
#: A job is short if its handler takes less than this time. Prefetching starts after this many short jobs in a row.
_SHORT_SECONDS = 0.001
_SHORT_JOBS_REQUIRED = 16
#: How long a prefetched job waits for a slot before it is released.
MAX_WAIT_SECONDS = 0.02


class PrefetchedJobs:
    """The jobs that a worker has claimed but not started, and the number of jobs that it may prefetch."""

    def __init__(self, concurrency: int) -> None:
        self._limit = max(0, MAX_CLAIMED - concurrency)
        self._short_jobs = 0
        self._waiting: deque[Job] = deque()
        #: whether completions wait for the next claim, to share its commit
        self.delays_commits = False

    def record_duration(self, seconds: float) -> None:
        """Record how long a handler took."""
        self._short_jobs = self._short_jobs + 1 if seconds < _SHORT_SECONDS else 0

    @property
    def number_to_claim(self) -> int:
        """How many jobs to claim beyond the free slots."""
        return self._limit if self._short_jobs >= _SHORT_JOBS_REQUIRED and not self._waiting else 0

    def add(self, job: Job) -> None:
        """Keep a claimed job until a slot is free."""
        self._waiting.append(job)
        self.delays_commits = True

    def __contains__(self, job: Job) -> bool:
        """Whether the job is still waiting for a slot."""
        return any(waiting is job for waiting in self._waiting)

    def take(self) -> Job | None:
        """Remove and return the next job, or None."""
        return self._waiting.popleft() if self._waiting else None

    def clear(self) -> list[Job]:
        """Remove and return all waiting jobs, and prefetch none until jobs have been short again."""
        removed = list(self._waiting)
        self._waiting.clear()
        self._short_jobs, self.delays_commits = 0, False
        return removed
