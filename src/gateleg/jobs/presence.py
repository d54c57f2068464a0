"""Being there: a worker tells that it is alive and what it has counted, and learns who else works on the same queues."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.model import ModelError
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.jobs.ledger import WorkerRecord
    from gateleg.jobs.picking import Picker
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tallies import Tallies

_log = logging.getLogger("gateleg.jobs")
#: Seconds between two reports of a worker.
_REPORT_EVERY = 10.0
#: A worker that has missed two reports has no place in the line for jobs any more.
_PRESENT = timedelta(seconds=30)
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
            current = self._record.model_copy(update={"memory_bytes": _memory(), **self._state()})
            await self._queue.report_worker(current)
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

    async def _look_around(self) -> bool:
        """Learn who else claims from the same queues; whether that has changed. Nobody needs to know where no claim is lost."""
        if self._alone:
            return False
        try:
            lately, mine = self._queue.desk.now() - _PRESENT, set(self._record.queues)
            peers = [one for one in await self._queue.workers() if one.seen_at > lately and mine & set(one.queues)]
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
