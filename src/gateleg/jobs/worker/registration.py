"""The registration of a worker: it reports that it is alive, writes its counters, and finds the other workers of its queues."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import TYPE_CHECKING, Any

from gateleg.jobs.claim.staleness import Staleness
from gateleg.jobs.worker.clock_skew import ClockSkew
from gateleg.model import ModelError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.jobs.claim.selection import CandidateSelector
    from gateleg.jobs.monitor.counts import WorkerCounters
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.records import WorkerRecord

_log = logging.getLogger("gateleg.jobs")
#: Seconds between two reports of a worker, on average.
_REPORT_SECONDS = 10.0
#: A worker that has not reported for this long has missed two reports: candidates are no longer reserved for it.
_LOST_AFTER_SECONDS = 30.0
#: The clock difference from which on it is logged, and the seconds until it is logged again.
_SKEW_SECONDS = 5.0
_SKEW_LOG_SECONDS = 600.0
#: The minimum and maximum seconds between two searches for new workers, while claims are lost to unknown workers.
_MIN_DISCOVERY_SECONDS, _MAX_DISCOVERY_SECONDS = 0.1, 1.0


class WorkerRegistration:
    """Keeps the record of a worker current. `selectors` choose its jobs, one for each of the queue's tables.

    `current_state` returns the attributes that change. With `alone`, the other workers are not read, because claims do not need them.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        selectors: Sequence[CandidateSelector],
        counters: WorkerCounters,
        record: WorkerRecord,
        current_state: Callable[[], dict[str, Any]],
        *,
        alone: bool,
    ) -> None:
        self._queue = queue
        self._selectors = selectors
        self._counters = counters
        self._record = record
        self._current_state = current_state
        self._alone = alone
        self._random = random.Random()
        self._reports: Staleness[str] = Staleness()
        self._skew = ClockSkew()
        #: the clock difference that was logged last, and when
        self._logged_skew: tuple[float, float] | None = None

    async def run(self) -> None:
        """Report periodically. Lost claims are a sign of new workers, so they trigger a search before the next report."""
        loop = asyncio.get_running_loop()
        pause, lost_claims = _MIN_DISCOVERY_SECONDS, self._lost_claims()
        while True:
            due = loop.time() + _REPORT_SECONDS * (0.5 + self._random.random())
            while loop.time() < due:
                await asyncio.sleep(pause * (0.5 + self._random.random()))
                lost_more, lost_claims = self._lost_claims() > lost_claims, self._lost_claims()
                found_new = lost_more and await self._discover_workers()
                pause = _MIN_DISCOVERY_SECONDS if found_new else min(_MAX_DISCOVERY_SECONDS, pause * 2)
            await self.report()

    async def report(self) -> None:
        """Write the worker's record and counters, and read the records of the other workers."""
        try:
            changes = {"memory_bytes": _memory_bytes(), "clock_ahead": await self._compare_clocks(), **self._current_state()}
            await self._queue.report_worker(self._record.model_copy(update=changes))
            await self._discover_workers()
            await self._queue.write_counts(self._counters)
        except (StoreError, ModelError) as error:
            _log.warning("could not write the report of this worker: %s", error)

    async def leave(self) -> None:
        """Write the last counters and remove the worker's record."""
        try:
            await self._queue.write_counts(self._counters)
            await self._queue.forget_worker(self._record.worker_id)
        except (StoreError, ModelError) as error:
            _log.warning("could not write the last report of this worker: %s", error)

    async def _compare_clocks(self) -> float:
        """The seconds by which this worker's clock is ahead of the others'. Logs a large difference, and that the clock was set."""
        context, worker_id = self._queue.context, self._record.worker_id
        reports = {other.worker_id: other.seen_at for other in await self._queue.every_worker() if other.worker_id != worker_id}
        tick = context.setup.ticks()
        jumped = self._skew.observe(reports, context.now(), tick)
        if abs(jumped) >= _SKEW_SECONDS:
            _log.warning("the clock of this machine was set %s by %.0f s", "forward" if jumped > 0 else "back", abs(jumped))
        ahead = self._skew.ahead()
        if abs(ahead) < _SKEW_SECONDS:
            self._logged_skew = None
        elif self._is_new_skew(ahead, tick):
            self._logged_skew = (ahead, tick)
            _log.warning(
                "the clock of worker %s is %.0f s %s the other workers' clocks, so delayed jobs and schedules may run at the wrong time: "
                "synchronize the clocks with NTP",
                worker_id,
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )
        return ahead

    def _is_new_skew(self, ahead: float, tick: float) -> bool:
        if self._logged_skew is None:
            return True
        logged, logged_at = self._logged_skew
        return abs(ahead - logged) >= _SKEW_SECONDS or tick - logged_at >= _SKEW_LOG_SECONDS

    async def _discover_workers(self) -> bool:
        """Tell the selectors which other workers claim from the same queues. Returns whether they have changed."""
        if self._alone:
            return False
        try:
            queues, records = set(self._record.queues), await self._queue.every_worker()
            silent_for = self._reports.observe({other.worker_id: other.seen_at for other in records}, self._queue.context.setup.ticks())
            peers = [other for other in records if silent_for[other.worker_id] < _LOST_AFTER_SECONDS and queues & set(other.queues)]
        except (StoreError, ModelError) as error:
            _log.warning("could not read the records of the other workers: %s", error)
            return False
        names = [other.worker_id for other in peers]
        changed = [selector.set_workers(names) for selector in self._selectors]
        return any(changed)

    def _lost_claims(self) -> int:
        return sum(selector.lost_claims for selector in self._selectors)


def _memory_bytes() -> int:
    """The resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
