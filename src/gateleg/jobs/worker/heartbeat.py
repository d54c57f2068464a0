"""The pulse of a running job: a lease that is renewed, and what the handler says written down with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.finish.outcome import UNWRITABLE
from gateleg.jobs.monitor.logs import extended
from gateleg.jobs.rules import expiry_of
from gateleg.jobs.tables.job import JobStatus
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.texts import told_by
from gateleg.model.codec.wire import uuid_text
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.rules import Ending
    from gateleg.jobs.tables.job import Job, LogEntry, Logs
    from gateleg.jobs.tables.records import LogChunk
    from gateleg.jobs.worker.output import Notes
    from gateleg.jobs.worker.runners import StopReason


#: Seconds for which lines, progress and events are collected before they are written, at least.
SHORTEST_FLUSH = 0.04
#: Events that come after a silence are written at once, so often in an attempt; from then on they are collected as everything else is.
_PROMPT = 3


class Pulse:
    """Heartbeats of one attempt: `interval` seconds apart, and `flush_every()` seconds after the handler has said something.

    Events are for those who follow the job, who wait for the first of them most: see `_PROMPT`.

    `stop` is called with the reason once the lease is lost, or somebody wants the job to end. Most jobs end before their first heartbeat
    and say nothing: those need no pulse.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        job: Job,
        notes: Notes,
        stop: Callable[[StopReason], None],
        *,
        interval: float,
        flush_every: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._job = job
        self._notes = notes
        self._stop = stop
        self._interval = interval
        self._flush_every = flush_every
        self._flushed_at = float("-inf")
        self._prompt = _PROMPT
        self._logs = job.logs
        self._emitted = job.emitted or 0
        #: whether something was written to the job since its claim, or may have been
        self._written = False
        #: whether something that was said had to be left out, and whether nothing more is written but the lease
        self._hushed = False
        self._mute = False
        self._changed = asyncio.Event()
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def quicken(self) -> None:
        """The handler has said something."""
        self._changed.set()
        self.beat()

    def beat(self) -> None:
        """Begin, if it has not begun: at once where nothing was said."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._go_on(due=not self._changed.is_set()))

    async def rest(self) -> None:
        """End."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _go_on(self, due: bool) -> None:
        interval = self._interval
        while True:
            if not due:
                try:
                    await asyncio.wait_for(self._changed.wait(), interval)
                    await asyncio.sleep(self._pause())
                except TimeoutError:
                    pass
            due = False
            self._changed.clear()
            try:
                await self._flush()
            except LeaseLost:
                self._stop("lease-lost")
                return
            except UNWRITABLE as error:
                # The job has no room for what was said. That must not end its lease.
                self._notes.replace(f"What was said could not be written. {told_by(error)}")
                self._mute, self._hushed = self._hushed, True
                self._changed.set()
            except StoreError:
                # The next beat tries again; until the lease has ended nothing is lost.
                await asyncio.sleep(min(1.0, interval / 4))
                self._changed.set()

    def _pause(self) -> float:
        """How long to collect what is said before it is written."""
        usual = min(self._flush_every(), self._interval)
        if not self._notes.has_events or self._prompt == 0:
            return usual
        self._prompt -= 1
        return max(0.0, self._flushed_at + SHORTEST_FLUSH - asyncio.get_running_loop().time())

    async def _flush(self) -> None:
        self._flushed_at = asyncio.get_running_loop().time()
        async with self._lock:
            lines, progress, events = self._notes.lines(), self._notes.current(), self._notes.events()
            logs, chunk = self._extended([] if self._mute else lines)
            self._written = True
            if self._mute:
                beat = await self._queue.renew(self._job)
            else:
                emitted = self._chunk_of(events)
                beat = await self._queue.renew(self._job, progress=progress, logs=logs if lines else None, chunk=chunk, events=emitted)
                self._emitted += len(events)
            self._logs = logs
            self._notes.written(len(lines), progress, len(events))
        self._queue.context.jobs.updates.notify(uuid_text(self._job.job_id))
        if beat.cancel:
            self._stop("cancelled")

    async def finish(self, ending: Ending) -> Job:
        """Write the end of the attempt, and before it what the handler said and nobody has written yet."""
        while self._notes.backlog:
            await self._flush()
        async with self._lock:
            lines, progress = self._notes.lines(), self._notes.current()
            if not lines:
                return await self._queue.finish(self._job, ending, progress=progress, whole=not self._written)
            logs, chunk = self._extended(lines)
            return await self._queue.finish(self._job, ending, logs=logs, chunk=chunk, progress=progress)

    def _chunk_of(self, events: list[Any]) -> EventChunk | None:
        """Events to be written together. They are for those who follow the job, and outlive it by as much as the longest retention."""
        if not events:
            return None
        context = self._queue.context
        until = expiry_of(JobStatus.FAILED, context.now(), context.settings.retention)
        return EventChunk(job_id=self._job.job_id, first=self._emitted, events=events, expires_at=until)

    def _extended(self, lines: Sequence[LogEntry]) -> tuple[Logs, LogChunk | None]:
        """The log with more lines, and a chunk for what it has no room for."""
        return extended(self._job.job_id, self._logs, lines)
