"""Periodic work that one elected worker does for all: promote delayed jobs, recover jobs of lost workers, run schedules, archive jobs."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from gateleg.jobs.claim.foreign_jobs import Sweep, adoption_task
from gateleg.jobs.claim.staleness import Staleness
from gateleg.jobs.errors import JobError
from gateleg.jobs.retention.archiving import Archiver
from gateleg.model import ModelError
from gateleg.objects import ObjectsError
from gateleg.store import StoreError
from gateleg.store.transports.group_commit import with_shared_commits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from gateleg.jobs.queue import AsyncQueue
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
        self._job_leases: defaultdict[_Place, Staleness[UUID]] = defaultdict(Staleness)
        self._other_leaders: defaultdict[str, Staleness[str]] = defaultdict(Staleness)
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
        except (StoreError, ObjectsError, JobError, ModelError) as error:
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
