"""Polling: claim jobs from the queues of a worker, and wait while the queues are empty. `WorkerSlots` are the worker's free slots.

Each claim and each completion is a commit that other processes wait for. On an embedded engine, the concurrent writes of a worker share
commits (`with_group_commit`). For very short jobs the commits are most of the cost nevertheless, and many workers would mostly wait for
each other. So once a worker's jobs have been short, it claims the next few together (`PrefetchedJobs`), runs them one after another, and
commits their completions together with the next claim. It never runs more jobs at once than its concurrency. Prefetched jobs wait for a
few milliseconds at most: if the job before them takes longer after all, the worker releases them for other workers.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import math
import random
from collections import Counter, deque
from typing import TYPE_CHECKING

from gateleg.jobs.change_feed import ChangeFeed
from gateleg.jobs.claim import queue_order
from gateleg.model import ModelError
from gateleg.store import StoreError
from gateleg.store.group_commit import GroupCommitStore
from gateleg.store.transports.embedded import with_shared_commits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.claim import CandidateSelector
    from gateleg.jobs.monitor.stats import WorkerCounters
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.tables.records import QueueState

_log = logging.getLogger("gateleg.jobs")

#: How long the mode and rate of the queues are cached.
_STATE_CACHE_SECONDS = 2.0
#: Seconds until an unexpected error is logged again.
_ERROR_LOG_SECONDS = 600.0
#: Added to the wait until a reserved job may be claimed, so that the worker does not poll too early.
_RESERVATION_MARGIN_SECONDS = 0.002
#: The shortest and the longest interval at which an idle worker looks for commits of other processes, which may have submitted jobs. It
#: grows while they commit often, but no jobs for this worker.
_WATCH_SECONDS = (0.008, 0.064)


class Poller:
    """Claims the next jobs for a worker.

    `weights` maps its queues to their weights. `selectors` choose among the jobs of each of the queue's tables, which take turns, so that a
    long backlog in one does not hold up another. `poll_seconds` is the minimum and maximum number of seconds between two polls of empty
    queues. Setting `wakeup` ends a wait.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        weights: Mapping[str, int],
        *,
        selectors: Sequence[CandidateSelector],
        capacity: WorkerSlots,
        prefetched: PrefetchedJobs,
        counters: WorkerCounters,
        poll_seconds: tuple[float, float],
    ) -> None:
        self._queue = queue
        self._weights = dict(weights)
        self._members = list(zip(queue.members, selectors, strict=True))
        self._capacity = capacity
        self._prefetched = prefetched
        self._counters = counters
        self._min_seconds, self._max_seconds = poll_seconds
        self._changes = ChangeFeed(queue.store.transport, _WATCH_SECONDS)
        self._seen_version: object = 0
        self._states: dict[str, QueueState] = {}
        self._states_expire_at = float("-inf")
        self._pause = self._min_seconds
        self._found_jobs = False
        self._next_error_log = float("-inf")
        self._random = random.Random()
        self.wakeup = asyncio.Event()

    def notify(self, queue: str) -> None:
        """Poll at once, because a job of this queue has become claimable."""
        if queue in self._weights:
            for _, selector in self._members:
                selector.discard_candidates(queue)
            self.wakeup.set()

    async def poll(self) -> list[Job]:
        """Claim as many jobs as the worker has free slots, from the first queue that has a job. Empty if none has."""
        if not self._found_jobs:
            self._seen_version = self._changes.version()
        try:
            jobs = await self._claim()
        except (StoreError, ModelError) as error:
            _log.warning("could not claim jobs: %s", error)
            jobs = []
        except Exception:
            # Whatever other programs write into the table must not end the worker, which runs the jobs of all queues.
            self._log_unexpected()
            jobs = []
        if jobs:
            self._pause, self._found_jobs = self._min_seconds, True
            self._changes.reset_interval()
        return jobs

    def _log_unexpected(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._next_error_log:
            self._next_error_log = now + _ERROR_LOG_SECONDS
            _log.exception("could not claim jobs; the worker tries again")

    async def wait(self) -> None:
        """Wait after an empty poll: for a notification, for a commit of another process, or until the next poll is due."""
        if self._found_jobs:
            # Poll once more after noting the version of the store: every later commit ends the wait.
            self._found_jobs = False
            return
        waits = [selector.seconds_until_unreserved() for _, selector in self._members]
        reserved = min((wait for wait in waits if wait is not None), default=None)
        seconds = min(self._pause * (0.5 + self._random.random()), math.inf if reserved is None else reserved + _RESERVATION_MARGIN_SECONDS)
        stop_listening = self._changes.listen(self.wakeup.set, since=self._seen_version)
        try:
            await asyncio.wait_for(self.wakeup.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            stop_listening()
        self._pause = min(self._max_seconds, self._pause * 2)

    async def _claim(self) -> list[Job]:
        await self._refresh_states()
        for name in queue_order(self._weights, self._random.random()):
            number = self._capacity.free_in(name)
            if name not in self._capacity.limits:
                number += self._prefetched.number_to_claim
            if number == 0:
                continue
            for place, (member, selector) in enumerate(self._members):
                jobs = await self._claim_from(member, selector, name, number)
                if jobs:
                    # The table that has just given a job is the last to be asked next time.
                    self._members.append(self._members.pop(place))
                    return jobs
        return []

    async def _claim_from(self, member: AsyncQueue, selector: CandidateSelector, name: str, number: int) -> list[Job]:
        lost_before = selector.lost_claims
        self._prefetched.delays_commits = False
        jobs = await member.claim_several(selector, name, selector.worker_id, number, self._states.get(name))
        now = self._queue.context.now()
        if selector.lost_claims > lost_before:
            job_type = jobs[0].job_type if jobs else "-"
            self._counters.count(name, job_type, now, "lost_claims", selector.lost_claims - lost_before)
        for job in jobs:
            self._counters.claimed(job, now)
        return jobs

    async def _refresh_states(self) -> None:
        now = asyncio.get_running_loop().time()
        if now > self._states_expire_at:
            self._states = await self._queue.states(tuple(self._weights))
            self._states_expire_at = asyncio.get_running_loop().time() + _STATE_CACHE_SECONDS


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


def with_group_commit(queue: AsyncQueue) -> AsyncQueue:
    """A copy of the queue whose writes share commits; the queue itself if its store is remote."""
    transport = with_shared_commits(queue.store.transport)
    if transport is None or isinstance(queue.store, GroupCommitStore):
        return queue
    embedded = copy.copy(queue)
    embedded.store = GroupCommitStore(queue.store, transport)
    return embedded


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
