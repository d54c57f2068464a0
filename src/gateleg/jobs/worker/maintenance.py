"""What one worker does for all: waking delayed jobs, taking jobs from lost workers, schedules and the archive."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from gateleg.jobs.claim.staleness import Staleness
from gateleg.jobs.errors import JobError
from gateleg.jobs.retention.archiving import Archivist
from gateleg.model import ModelError
from gateleg.objects import ObjectsError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.model import Item
    from gateleg.objects import AsyncObjects

_log = logging.getLogger("gateleg.jobs")
#: Seconds between two rounds, and for how long a duty is taken, at most: with short leases both are shorter.
_ROUND = 1.0
_TERM = 15.0
#: How many jobs are moved at once, and how often in one round.
_BATCH = 100
_BATCHES = 20
#: Seconds between two looks at the delays of a queue, at most: with short leases it is looked more often.
_RECOUNT_EVERY = 10.0
#: How many looks at the leases of a queue there are in the time of one.
_LOOKS = 6
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
        lease = queue.context.settings.lease_seconds
        self._every = min(_ROUND, lease / 3)
        self._term = min(_TERM, max(_ROUND, lease))
        self._archivist = Archivist(queue, objects)
        #: what is known of the leases of each queue, and of the terms of each duty of others
        self._leases: defaultdict[str, Staleness[UUID]] = defaultdict(Staleness)
        self._terms: defaultdict[str, Staleness[str]] = defaultdict(Staleness)
        self._look_every = lease / _LOOKS
        self._next_look: dict[str, float] = {}
        self._recount_every = min(_RECOUNT_EVERY, lease)
        self._next_recount: dict[str, float] = {}
        #: where the next look at the delays of a queue goes on
        self._recounted: dict[str, Item | None] = {}
        self._began: float | None = None
        self._last_round = float("inf")
        self._until: dict[str, float] = {}
        self._next_try: dict[str, float] = {}
        self._next_sweep = float("-inf")
        self._next_note: dict[str, float] = {}

    async def run(self) -> None:
        """See to the duties, round after round."""
        while True:
            await self.round()
            await asyncio.sleep(self._every)

    async def round(self) -> None:
        """See to every duty that this worker holds or can take. One that fails keeps no other waiting."""
        new = self._begin()
        for name in self.queues:
            await self._see_to(f"watch:{name}", self._recount, name)
            await self._see_to(f"watch:{name}", self._wake, name)
            await self._see_to(None if new else f"watch:{name}", self._reap, name)
            await self._see_to(f"watch:{name}", self._note, name)
        await self._see_to("schedules", self.queue.run_schedules)
        await self._see_to("sweep", self._sweep)

    def _begin(self) -> bool:
        """Begin a round; whether this worker is new. A new one looks at leases before it has the duty to.

        So it knows which of them do not move by the time that it has, if it takes the place of one that was killed. When the last round was
        long ago, this process was stopped, and others may have been as well: they have the time of a lease to renew.
        """
        now, lease = self.queue.context.setup.ticks(), self.queue.context.settings.lease_seconds
        if self._began is None:
            self._began = now
        if now - self._last_round > self._every + lease / 2:
            self._leases.clear()
            self._terms.clear()
        self._last_round = now
        return now < self._began + self._term + lease

    async def _see_to(self, duty: str | None, work: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """Do what a duty is about if this worker has it, or what anybody may do."""
        try:
            if duty is None or await self._holds(duty):
                await work(*arguments)
        except (StoreError, ObjectsError, JobError, ModelError) as error:
            _log.warning("the duty %s failed: %s", duty or work.__name__.strip("_"), error)

    async def _recount(self, name: str) -> None:
        """Look at some of the delayed jobs of a queue now and then: none of them is to wait for a clock that is ahead."""
        now = self.queue.context.setup.ticks()
        if now < self._next_recount.get(name, now):
            return
        self._next_recount[name] = now + self._recount_every
        found = await self.queue.recount_delays(name, self._recounted.get(name))
        self._recounted[name] = found.next
        if found.number:
            _log.warning("%d jobs of the queue %s were put off by a clock that is ahead: their delays are counted anew", found.number, name)

    async def _wake(self, name: str) -> None:
        """Make delayed jobs claimable whose time has come."""
        for _ in range(_BATCHES):
            if await self.queue.promote(name, _BATCH) < _BATCH:
                break

    async def _reap(self, name: str) -> None:
        """Look at the leases of a queue now and then, and take the jobs whose leases do not move."""
        now = self.queue.context.setup.ticks()
        if now >= self._next_look.get(name, now):
            self._next_look[name] = now + self._look_every
            await self.queue.reap(name, self._leases[name], _BATCH)

    async def _note(self, name: str) -> None:
        """Add what was done in the last minutes to a queue's history."""
        now = self.queue.context.setup.ticks()
        if now >= self._next_note.get(name, now):
            self._next_note[name] = now + _NOTE_EVERY
            await self.queue.note_history(name)

    async def _sweep(self) -> None:
        """Move finished jobs to the archive now and then, a few at a time so that other duties do not wait."""
        now = self.queue.context.setup.ticks()
        if now >= self._next_sweep:
            moved = await self._archivist.sweep(limit=_SWEPT)
            self._next_sweep = now + (0.0 if moved == _SWEPT else _SWEEP_EVERY)

    async def _holds(self, duty: str) -> bool:
        """Whether the duty is this worker's. Terms are long against rounds, so that most rounds write nothing."""
        now = self.queue.context.setup.ticks()
        if self._until.get(duty, now) > now:
            return True
        if self._next_try.get(duty, now) > now:
            return False
        if await self.queue.take_duty(duty, self.worker_id, self._term, self._terms[duty]):
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
