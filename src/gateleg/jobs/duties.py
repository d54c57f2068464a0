"""What one worker does for all: waking delayed jobs, taking jobs from lost workers, schedules and the archive."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from gateleg.jobs.archiving import Archivist
from gateleg.jobs.errors import JobError
from gateleg.model import ModelError
from gateleg.objects import ObjectsError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.objects import AsyncObjects

_log = logging.getLogger("gateleg.jobs")
#: Seconds between two rounds, and for how long a duty is taken, at most: with short leases both are shorter.
_ROUND = 1.0
_TERM = 15.0
#: How many jobs are moved at once, and how often in one round.
_BATCH = 100
_BATCHES = 20
#: Seconds between two sweeps, and how many jobs one of them moves.
_SWEEP_EVERY = 60.0
#: Seconds between two notes of a queue's history, which has a place for each minute.
_NOTE_EVERY = 20.0
_SWEPT = 100


class Duties:
    """The duties of a worker for its queues. Each is held by one worker at a time, and goes to another when that one is gone."""

    def __init__(self, queue: AsyncQueue, queues: tuple[str, ...], worker_id: str, *, objects: AsyncObjects | None = None) -> None:
        self.queue = queue
        self.queues = queues
        self.worker_id = worker_id
        lease = queue.desk.settings.lease_seconds
        self._every = min(_ROUND, lease / 3)
        self._term = min(_TERM, max(_ROUND, lease))
        self._archivist = Archivist(queue, objects)
        #: when the last round ended by the clock, and until when no job is taken from its worker
        self._left_at: datetime | None = None
        self._patient_until = float("-inf")
        self._until: dict[str, float] = {}
        self._next_try: dict[str, float] = {}
        self._next_sweep = 0.0
        self._next_note: dict[str, float] = {}

    async def run(self) -> None:
        """See to the duties, round after round."""
        while True:
            await self.round()
            await asyncio.sleep(self._every)

    async def round(self) -> None:
        """See to every duty that this worker holds or can take. One that fails keeps no other waiting."""
        patient = self._patient()
        for name in self.queues:
            await self._see_to(f"watch:{name}", self._wake, name)
            if not patient:
                await self._see_to(f"watch:{name}", self.queue.reap, name, _BATCH)
            await self._see_to(f"watch:{name}", self._note, name)
        await self._see_to("schedules", self.queue.run_schedules)
        await self._see_to("sweep", self._sweep)
        self._left_at = self.queue.desk.now()

    async def _see_to(self, duty: str, work: Callable[..., Awaitable[object]], *arguments: object) -> None:
        try:
            if await self._holds(duty):
                await work(*arguments)
        except (StoreError, ObjectsError, JobError, ModelError) as error:
            _log.warning("the duty %s failed: %s", duty, error)

    async def _wake(self, name: str) -> None:
        """Make delayed jobs claimable whose time has come."""
        for _ in range(_BATCHES):
            if await self.queue.promote(name, _BATCH) < _BATCH:
                break

    def _patient(self) -> bool:
        """Whether workers have yet to renew their leases: the clock has jumped, or the machine was asleep and they with it.

        After that they have the time of a lease, and not again before it has been of use.
        """
        time, lease = asyncio.get_running_loop().time(), self.queue.desk.settings.lease_seconds
        if self._left_at is not None and time > self._patient_until + lease:
            away = (self.queue.desk.now() - self._left_at).total_seconds()
            if away > self._every + lease / 3:
                self._patient_until = time + lease
        return time < self._patient_until

    async def _note(self, name: str) -> None:
        """Add what was done in the last minutes to a queue's history."""
        now = asyncio.get_running_loop().time()
        if now >= self._next_note.get(name, 0.0):
            self._next_note[name] = now + _NOTE_EVERY
            await self.queue.note_history(name)

    async def _sweep(self) -> None:
        """Move finished jobs to the archive now and then, a few at a time so that other duties do not wait."""
        now = asyncio.get_running_loop().time()
        if now >= self._next_sweep:
            moved = await self._archivist.sweep(limit=_SWEPT)
            self._next_sweep = now + (0.0 if moved == _SWEPT else _SWEEP_EVERY)

    async def _holds(self, duty: str) -> bool:
        """Whether the duty is this worker's. Terms are long against rounds, so that most rounds write nothing."""
        now = asyncio.get_running_loop().time()
        if self._until.get(duty, 0.0) > now:
            return True
        if self._next_try.get(duty, 0.0) > now:
            return False
        if await self.queue.take_duty(duty, self.worker_id, self._term):
            self._until[duty] = now + self._term / 2
            return True
        self._until.pop(duty, None)
        self._next_try[duty] = now + self._term / 3
        return False

    async def leave(self) -> None:
        """Give the duties back, so that others need not wait for the end of their terms."""
        for duty in self._until:
            await self.queue.drop_duty(duty, self.worker_id)
        self._until.clear()
