"""What workers do besides running jobs.

`MaintenanceTasks` is the periodic work that one elected worker does for all: promote delayed jobs, recover jobs of lost workers, run
schedules, archive jobs. `WorkerRegistration` reports that a worker is alive, writes its counters, and finds the other workers of its
queues; `ClockSkew` estimates from the times in their reports how far their clocks differ.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.jobs.foreign_jobs import Sweep, adoption_task
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.retention import Archiver
from gateleg.model import ModelError
from gateleg.store import StoreError
from gateleg.store.transports.embedded import with_shared_commits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.claim import CandidateSelector
    from gateleg.jobs.monitor.stats import WorkerCounters
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.records import WorkerRecord
    from gateleg.model import Item
    from gateleg.objects import AsyncObjects

_log = logging.getLogger("gateleg.jobs")

#: Seconds between two rounds, and how long a leader lease lasts. Both are shorter where jobs have short leases.
_ROUND_SECONDS = 1.0
_LEADER_LEASE_SECONDS = 15.0
#: How many jobs are promoted or recovered at once, and how many such batches one round promotes at most.
_BATCH_JOBS = 100
_MAX_BATCHES = 20
#: Seconds between two checks for delays written by a wrong clock. Shorter where jobs have short leases.
_DELAY_CHECK_SECONDS = 10.0
#: How many times the leases of a queue are read within the duration of one lease.
_LEASE_CHECKS_PER_LEASE = 6
#: Seconds between two sweeps of finished jobs into the archive, and how many jobs one sweep moves at most.
_ARCHIVE_SECONDS = 60.0
_ARCHIVE_JOBS = 100
#: Seconds between two updates of a queue's history, which has one entry for each minute.
_HISTORY_SECONDS = 20.0
#: Seconds between two sweeps for jobs of other programs, and how many jobs one sweep reads: of an engine in this process, where reads are
#: nearly free, and of a remote store, which bills them. Then the same for the survey of the whole table, and how long it rests at the end.
_EMBEDDED_ADOPTION, _REMOTE_ADOPTION = (1.0, 500), (5.0, 100)
_EMBEDDED_SURVEY, _REMOTE_SURVEY = (2.0, 100, 10.0), (30.0, 100, 600.0)
#: Seconds between two checks whether items that were set aside have been repaired.
_SET_ASIDE_SECONDS = 10.0
#: Seconds until an unexpected error of a task is logged again.
_ERROR_LOG_SECONDS = 600.0
#: A queue in one of its tables: the name of the table, and that of the queue.
_Place = tuple[str, str]


def _place(member: AsyncQueue, name: str) -> _Place:
    return member.tables.names.queue, name


class MaintenanceTasks:
    """The maintenance of a worker's queues. One worker holds the leader lease of each task; if it is lost, another worker takes over."""

    def __init__(self, queue: AsyncQueue, queues: tuple[str, ...], worker_id: str, *, objects: AsyncObjects | None = None) -> None:
        self.queue = queue
        self.queues = queues
        self.worker_id = worker_id
        lease = queue.context.settings.lease_seconds
        self._round_seconds = min(_ROUND_SECONDS, lease / 3)
        self._leader_seconds = min(_LEADER_LEASE_SECONDS, max(_ROUND_SECONDS, lease))
        self._lease_check_seconds = lease / _LEASE_CHECKS_PER_LEASE
        self._delay_check_seconds = min(_DELAY_CHECK_SECONDS, lease)
        self._archiver = Archiver(queue, objects)
        #: how long the job leases of each queue, and the leader leases of other workers, have stayed unchanged
        self._job_leases: defaultdict[_Place, LeaseObserver[UUID]] = defaultdict(LeaseObserver)
        self._other_leaders: defaultdict[str, LeaseObserver[str]] = defaultdict(LeaseObserver)
        #: where the next check of a queue's delays continues
        self._delay_cursors: dict[_Place, Item | None] = {}
        self._started_at: float | None = None
        self._last_round_at = float("inf")
        #: until when this worker is the leader of a task, and when it next tries to become one
        self._leader_until: dict[str, float] = {}
        self._next_election: dict[str, float] = {}
        self._next_lease_check: dict[_Place, float] = {}
        self._next_delay_check: dict[_Place, float] = {}
        self._next_history: dict[str, float] = {}
        self._next_archiving = float("-inf")
        embedded = with_shared_commits(queue.store.transport) is not None
        self._adoption_seconds, self._adoption_jobs = _EMBEDDED_ADOPTION if embedded else _REMOTE_ADOPTION
        self._survey_seconds, self._survey_items, self._survey_rest = _EMBEDDED_SURVEY if embedded else _REMOTE_SURVEY
        self._adoption_task = adoption_task(queue.context)
        self._sweep = Sweep()
        self._next_adoption = self._next_survey = self._next_set_aside = float("-inf")
        self._logged_errors: dict[str, float] = {}

    async def run(self) -> None:
        """Run one round after another until cancelled."""
        while True:
            await self.run_once()
            await asyncio.sleep(self._round_seconds)

    async def run_once(self) -> None:
        """Run each task of which this worker is, or can become, the leader. If a task fails, the others still run."""
        new = self._begin_round()
        for name in self.queues:
            for member in self.queue.members:
                await self._run_task(f"watch:{name}", self._correct_delays, member, name)
                await self._run_task(f"watch:{name}", self._promote, member, name)
                await self._run_task(None if new else f"watch:{name}", self._recover_lost_jobs, member, name)
            await self._run_task(f"watch:{name}", self._record_history, name)
        await self._run_task(self._adoption_task, self._adopt)
        await self._run_task("survey", self._survey)
        await self._run_task(None, self.queue.record_set_aside)
        await self._run_task("schedules", self.queue.run_schedules)
        await self._run_task("sweep", self._archive)

    def _begin_round(self) -> bool:
        """Whether this worker is new: it then watches job leases even before it is the leader.

        If it replaces a killed worker, it knows which leases are stale as soon as it becomes the leader. A long pause between two rounds
        means that this process was suspended, and others may have been too: they get the duration of a lease to renew theirs.
        """
        now, lease = self.queue.context.setup.ticks(), self.queue.context.settings.lease_seconds
        if self._started_at is None:
            self._started_at = now
        if now - self._last_round_at > self._round_seconds + lease / 2:
            self._job_leases.clear()
            self._other_leaders.clear()
        self._last_round_at = now
        return now < self._started_at + self._leader_seconds + lease

    async def _run_task(self, task: str | None, work: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """Do the work if this worker is the leader of the task, or if it needs no leader (`None`)."""
        try:
            if task is None or await self._is_leader(task):
                await work(*arguments)
        except GatelegError as error:
            _log.warning("maintenance task %s failed: %s", task or work.__name__.strip("_"), error)
        except Exception:
            # Whatever other programs write into the tables must not end the maintenance of all queues.
            self._log_unexpected(task or work.__name__.strip("_"))

    def _log_unexpected(self, task: str) -> None:
        now = self.queue.context.setup.ticks()
        if now >= self._logged_errors.get(task, now):
            self._logged_errors[task] = now + _ERROR_LOG_SECONDS
            _log.exception("maintenance task %s failed unexpectedly, and is tried again", task)

    async def _adopt(self) -> None:
        """Adopt the jobs of other programs."""
        now = self.queue.context.setup.ticks()
        if now >= self._next_adoption:
            self._next_adoption = now + self._adoption_seconds
            await self.queue.adopt_jobs(self._sweep, examine=self._adoption_jobs)

    async def _survey(self) -> None:
        """Look for items that no list shows, and forget those that have been repaired."""
        now = self.queue.context.setup.ticks()
        if now >= self._next_survey:
            # A worker that may not scan the table tries again after the rest.
            self._next_survey = now + self._survey_rest
            if not await self.queue.survey(self._sweep, examine=self._survey_items):
                self._next_survey = now + self._survey_seconds
        if now >= self._next_set_aside:
            self._next_set_aside = now + _SET_ASIDE_SECONDS
            await self.queue.set_aside(clean=True)

    async def _correct_delays(self, member: AsyncQueue, name: str) -> None:
        now, place = self.queue.context.setup.ticks(), _place(member, name)
        if now < self._next_delay_check.get(place, now):
            return
        self._next_delay_check[place] = now + self._delay_check_seconds
        corrections = await member.correct_delays(name, self._delay_cursors.get(place))
        self._delay_cursors[place] = corrections.next
        if corrections.number:
            _log.warning("restarted the delays of %d jobs of queue %s, written by a clock that is ahead", corrections.number, name)

    async def _promote(self, member: AsyncQueue, name: str) -> None:
        """Make delayed jobs claimable when they are due."""
        for _ in range(_MAX_BATCHES):
            if await member.promote(name, _BATCH_JOBS) < _BATCH_JOBS:
                break

    async def _recover_lost_jobs(self, member: AsyncQueue, name: str) -> None:
        now, place = self.queue.context.setup.ticks(), _place(member, name)
        if now >= self._next_lease_check.get(place, now):
            self._next_lease_check[place] = now + self._lease_check_seconds
            await member.reap(name, self._job_leases[place], _BATCH_JOBS)

    async def _record_history(self, name: str) -> None:
        now = self.queue.context.setup.ticks()
        if now >= self._next_history.get(name, now):
            self._next_history[name] = now + _HISTORY_SECONDS
            await self.queue.record_history(name)

    async def _archive(self) -> None:
        """Archive finished jobs, a limited number at a time, so that the other tasks do not wait."""
        now = self.queue.context.setup.ticks()
        if now >= self._next_archiving:
            moved = await self._archiver.sweep(limit=_ARCHIVE_JOBS)
            self._next_archiving = now + (0.0 if moved == _ARCHIVE_JOBS else _ARCHIVE_SECONDS)

    async def _is_leader(self, task: str) -> bool:
        """Whether this worker is the leader of the task, after trying to become it. Leases outlast rounds, so most rounds write nothing."""
        now = self.queue.context.setup.ticks()
        if self._leader_until.get(task, now) > now:
            return True
        if self._next_election.get(task, now) > now:
            return False
        if await self.queue.acquire_leader_lease(task, self.worker_id, self._leader_seconds, self._other_leaders[task]):
            self._leader_until[task] = now + self._leader_seconds / 2
            return True
        self._leader_until.pop(task, None)
        self._next_election[task] = now + self._leader_seconds / 3
        return False

    async def leave(self) -> None:
        """Release the leader leases, so that other workers need not wait until they expire."""
        try:
            for task in self._leader_until:
                await self.queue.release_leader_lease(task, self.worker_id)
        except StoreError as error:
            _log.warning("could not release the leader leases of this worker, which will expire: %s", error)
        self._leader_until.clear()


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
        self._reports: LeaseObserver[str] = LeaseObserver()
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


#: The maximum seconds until a report is seen. A smaller clock difference cannot be detected.
_TOLERANCE_SECONDS = 1.0
#: How many of the last reports of a worker are combined.
_MAX_REPORTS = 6


class ClockSkew:
    """Estimates the difference between one worker's clock and the others'.

    A report that is new since the previous observation was written between the two observations. So each report bounds the difference of
    the two clocks, and several reports bound it closely.
    """

    def __init__(self) -> None:
        self._reports: dict[str, datetime] = {}
        self._bounds: defaultdict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=_MAX_REPORTS))
        self._last: tuple[datetime, float] | None = None

    def observe(self, reports: Mapping[str, datetime], now: datetime, tick: float) -> float:
        """Record the time of each worker's last report, by its own clock.

        Returns by how many seconds this machine's clock was set since the previous call.
        """
        last, self._last = self._last, (now, tick)
        before, self._reports = self._reports, dict(reports)
        self._bounds = defaultdict(self._bounds.default_factory, {name: self._bounds[name] for name in reports})
        if last is None:
            return 0.0
        jumped = (now - last[0]).total_seconds() - (tick - last[1])
        if abs(jumped) > _TOLERANCE_SECONDS:
            self._bounds.clear()
            return jumped
        for name, seen_at in reports.items():
            if name in before and before[name] != seen_at:
                offset = (seen_at - now).total_seconds()
                self._bounds[name].append((offset, offset + tick - last[1]))
        return 0.0

    def ahead(self) -> float:
        """The median number of seconds by which this worker's clock is ahead of the others'; negative if it is behind."""
        differences = sorted([0.0, *(_difference(bounds) for bounds in self._bounds.values() if bounds)], key=abs)
        return -differences[len(differences) // 2]


def _difference(bounds: deque[tuple[float, float]]) -> float:
    """The smallest number of seconds by which another clock must be ahead of this one; negative if it must be behind."""
    low, high = bounds[-1]
    for earlier in reversed(bounds):
        if max(low, earlier[0]) > min(high, earlier[1]) + _TOLERANCE_SECONDS:
            # The other clock was set after this report.
            break
        low, high = max(low, earlier[0]), min(high, earlier[1])
    if low > _TOLERANCE_SECONDS:
        return low
    return high if high < -_TOLERANCE_SECONDS else 0.0
