"""Polling: claim jobs from the queues of a worker, and wait while the queues are empty."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from typing import TYPE_CHECKING

from gateleg.jobs.claim.selection import queue_order
from gateleg.jobs.worker.change_watcher import ChangeWatcher
from gateleg.model import ModelError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.claim.selection import CandidateSelector
    from gateleg.jobs.monitor.counts import WorkerCounters
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.tables.records import QueueState
    from gateleg.jobs.worker.capacity import WorkerSlots
    from gateleg.jobs.worker.prefetch import PrefetchedJobs

_log = logging.getLogger("gateleg.jobs")
#: How long the mode and rate of the queues are cached.
_STATE_CACHE_SECONDS = 2.0
#: Seconds until an unexpected error is logged again.
_ERROR_LOG_SECONDS = 600.0
#: Added to the wait until a reserved job may be claimed, so that the worker does not poll too early.
_RESERVATION_MARGIN_SECONDS = 0.002


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
        self._watcher = ChangeWatcher(queue.store.transport)
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
            self._watcher.mark_seen()
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
            self._watcher.reset_interval()
        return jobs

    def _log_unexpected(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._next_error_log:
            self._next_error_log = now + _ERROR_LOG_SECONDS
            _log.exception("could not claim jobs; the worker tries again")

    async def wait(self) -> None:
        """Wait after an empty poll: for a notification, for a commit of another process, or until the next poll is due."""
        if self._found_jobs:
            # Poll once more after marking the commits so far as seen: the watcher reports every later commit.
            self._found_jobs = False
            return
        waits = [selector.seconds_until_unreserved() for _, selector in self._members]
        reserved = min((wait for wait in waits if wait is not None), default=None)
        seconds = min(self._pause * (0.5 + self._random.random()), math.inf if reserved is None else reserved + _RESERVATION_MARGIN_SECONDS)
        with contextlib.suppress(TimeoutError), self._watcher.watching(self.wakeup.set):
            await asyncio.wait_for(self.wakeup.wait(), seconds)
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
