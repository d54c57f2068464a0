"""Being there: a worker tells that it is alive and what it has counted, and learns who else works on the same queues."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import TYPE_CHECKING, Any

from gateleg.jobs.claim.staleness import Staleness
from gateleg.jobs.worker.clock_skew import Skew
from gateleg.model import ModelError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.jobs.claim.selection import Picker
    from gateleg.jobs.monitor.counts import Tallies
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.records import WorkerRecord

_log = logging.getLogger("gateleg.jobs")
#: Seconds between two reports of a worker.
_REPORT_EVERY = 10.0
#: Seconds after which a worker that has not reported has no place in the line for jobs any more: it has missed two reports.
_PRESENT = 30.0
#: Seconds by which clocks may differ before somebody is told, and before they are told again.
_SKEW = 5.0
_TELL_AGAIN = 600.0
#: The shortest and longest seconds between two looks who else is there, while claims are lost to workers who are not known.
_LOOK_AROUND = (0.1, 1.0)


class Presence:
    """The reports of a worker. `state` says what has changed in its record; `alone` that it need not know of others to claim."""

    def __init__(
        self,
        queue: AsyncQueue,
        picker: Picker,
        tallies: Tallies,
        record: WorkerRecord,
        state: Callable[[], dict[str, Any]],
        *,
        alone: bool,
    ) -> None:
        self._queue = queue
        self._picker = picker
        self._tallies = tallies
        self._record = record
        self._state = state
        self._alone = alone
        self._chance = random.Random()
        self._reports: Staleness[str] = Staleness()
        self._skew = Skew()
        self._told: tuple[float, float] | None = None

    async def run(self) -> None:
        """Report again and again. Losing claims means that there may be workers who are not known yet: then look who is there."""
        loop = asyncio.get_running_loop()
        pause, losses = _LOOK_AROUND[0], self._picker.losses
        while True:
            due = loop.time() + _REPORT_EVERY * (0.5 + self._chance.random())
            while loop.time() < due:
                await asyncio.sleep(pause * (0.5 + self._chance.random()))
                lost, losses = self._picker.losses > losses, self._picker.losses
                pause = _LOOK_AROUND[0] if lost and await self._look_around() else min(_LOOK_AROUND[1], pause * 2)
            await self.report()

    async def report(self) -> None:
        """Say that this worker is alive, learn who else is, and write down what was counted."""
        try:
            changes = {"memory_bytes": _memory(), "clock_ahead": await self._compare_clocks(), **self._state()}
            await self._queue.report_worker(self._record.model_copy(update=changes))
            await self._look_around()
            await self._queue.write_tallies(self._tallies)
        except (StoreError, ModelError) as error:
            _log.warning("report failed: %s", error)

    async def leave(self) -> None:
        """Write down what was counted last, and say that this worker has ended."""
        try:
            await self._queue.write_tallies(self._tallies)
            await self._queue.forget_worker(self._record.worker_id)
        except (StoreError, ModelError) as error:
            _log.warning("last report failed: %s", error)

    async def _compare_clocks(self) -> float:
        """By how many seconds the clock of this worker is ahead of those of others. Much is told, and so is a clock that was set."""
        context, own = self._queue.context, self._record.worker_id
        reports = {one.worker_id: one.seen_at for one in await self._queue.every_worker() if one.worker_id != own}
        tick = context.setup.ticks()
        jumped = self._skew.observe(reports, context.now(), tick)
        if abs(jumped) >= _SKEW:
            _log.warning("the clock of this machine was set %s by %.0f s", "forward" if jumped > 0 else "back", abs(jumped))
        ahead = self._skew.ahead()
        if abs(ahead) < _SKEW:
            self._told = None
        elif self._told is None or abs(ahead - self._told[0]) >= _SKEW or tick - self._told[1] >= _TELL_AGAIN:
            self._told = (ahead, tick)
            _log.warning(
                "the clock of worker %s is %.0f s %s those of the other workers: delayed jobs and schedules follow the clock of whoever "
                "looks after them; set the clocks by NTP",
                own,
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )
        return ahead

    async def _look_around(self) -> bool:
        """Learn who else claims from the same queues; whether that has changed. Nobody needs to know where no claim is lost."""
        if self._alone:
            return False
        try:
            mine, known = set(self._record.queues), await self._queue.every_worker()
            silent = self._reports.observe({one.worker_id: one.seen_at for one in known}, self._queue.context.setup.ticks())
            peers = [one for one in known if silent[one.worker_id] < _PRESENT and mine & set(one.queues)]
        except (StoreError, ModelError) as error:
            _log.warning("look around failed: %s", error)
            return False
        return self._picker.meet(one.worker_id for one in peers)


def _memory() -> int:
    """The bytes of memory that this process holds, where the system says so."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
