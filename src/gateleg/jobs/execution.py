"""One claimed job, from its claim to the end of its attempt: heartbeats, lines of log, timeouts, stopping, and the last write."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.jobs.endings import interrupted, raised, returned
from gateleg.jobs.errors import JobError, LeaseLost
from gateleg.jobs.logs import extended
from gateleg.jobs.notes import Notes
from gateleg.jobs.processes import KILL_AFTER
from gateleg.jobs.rules import Ending, expiry_of
from gateleg.jobs.runners import run_of
from gateleg.jobs.tables import Job, JobStatus
from gateleg.model.wire import uuid_text
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.runners import StopReason
    from gateleg.jobs.submissions import Submission, Submitted

#: Seconds for which lines and progress are collected before they are written.
FLUSH_EVERY = 0.5
#: Seconds that a handler has to end once it is asked to; a process is killed before.
PATIENCE = KILL_AFTER + 1.0


class Execution:
    """One attempt of a job by this worker."""

    def __init__(
        self, queue: AsyncQueue, job: Job, handler: Handler, *, flush_every: float = FLUSH_EVERY, patience: float = PATIENCE
    ) -> None:
        self.queue = queue
        self.job = job
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._beating: asyncio.Task[None] | None = None
        self._ended = False
        #: whether something was written to the job since its claim, or may have been
        self._written = False
        self._lock = asyncio.Lock()
        self._interval = queue.desk.settings.lease_seconds / 3
        self._flush_every = flush_every
        self._patience = patience
        self.notes = Notes(queue.desk.now, self._wake)
        self.run = run_of(handler, job, self.notes, self._submit)
        self._logs = job.logs

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._heard)

    def _heard(self) -> None:
        self._changed.set()
        self._begin_to_beat()

    def _begin_to_beat(self) -> None:
        if self._beating is None and not self._ended:
            self._beating = self._loop.create_task(self._beat())

    async def _submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self.queue.submit_many(submissions, under=self.job)

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end."""
        self.run.stop(reason)
        self._end_wait()

    def _end_wait(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    async def _outcome(self) -> Any:
        """What the handler returned. Whoever waits for it goes on right after: a callback would be one turn of the loop later."""
        try:
            return await self.run.outcome()
        finally:
            self._end_wait()

    async def carry_out(self, vacate: Callable[[], None] = lambda: None) -> Job | None:
        """Run the handler and write what came of it. The job as it is then; None when another worker has it.

        `vacate` is called once the handler needs its place no more, before the end is written.
        """
        # Most jobs end before their first heartbeat and say nothing: those need no task for it, and but one timer.
        self._timer = self._loop.call_later(min(self._interval, self.job.timeout_seconds), self._go_on)
        try:
            ending = await self._ending()
            vacate()
            return None if ending is None else await self._end(ending)
        finally:
            self._ended = True
            self._timer.cancel()
            if self._beating is not None:
                self._beating.cancel()
                await asyncio.gather(self._beating, return_exceptions=True)

    def _go_on(self) -> None:
        """The first heartbeat is due, or the time is up: do that, and see to the other when its moment comes."""
        left = self.job.timeout_seconds - self._interval
        now, later = (self._begin_to_beat, self._end_wait) if left > 0 else (self._end_wait, self._begin_to_beat)
        now()
        self._timer = self._loop.call_later(abs(left), later)

    async def _ending(self) -> Ending | None:
        """How the attempt ends; None when there is nobody to be told."""
        work = self._loop.create_task(self._outcome())
        await self._over
        if not work.done():
            if self.run.stopping is None:
                self.run.stop("timed-out")
            await asyncio.wait({work}, timeout=self._patience)
            if not work.done():
                self.run.kill()
                work.cancel()
                await asyncio.wait({work}, timeout=1.0)
        if self.run.stopping == "lease-lost":
            if work.done():
                # Whatever it raised is nobody's business any more; asyncio wants it looked at.
                work.cancelled() or work.exception()
            return None
        return self._judged(work)

    def _judged(self, work: asyncio.Future[Any]) -> Ending:
        desk, job, notes, stopping = self.queue.desk, self.job, self.notes, self.run.stopping
        if not work.done():
            return interrupted(job, notes, stopping)
        if work.cancelled():
            return raised(job, notes, asyncio.CancelledError(), stopping)
        error = work.exception()
        return returned(desk, job, notes, work.result()) if error is None else raised(job, notes, error, stopping)

    async def _beat(self) -> None:
        """Renew the lease while the attempt lasts, sooner when there is something to write."""
        interval, due = self._interval, not self._changed.is_set()
        while True:
            if not due:
                try:
                    await asyncio.wait_for(self._changed.wait(), interval)
                    await asyncio.sleep(min(self._flush_every, interval))
                except TimeoutError:
                    pass
            due = False
            self._changed.clear()
            try:
                await self._flush()
            except LeaseLost:
                self.stop("lease-lost")
                return
            except StoreError:
                # The next beat tries again; until the lease has ended nothing is lost.
                await asyncio.sleep(min(1.0, interval / 4))
                self._changed.set()

    async def _flush(self) -> None:
        async with self._lock:
            lines, progress = self.notes.lines(), self.notes.current()
            logs, chunk = extended(self.job.job_id, self._logs, lines, self._chunk_expiry())
            self._written = True
            beat = await self.queue.renew(self.job, progress=progress, logs=logs if lines else None, chunk=chunk)
            self._logs = logs
            self.notes.written(len(lines), progress)
        self.queue.desk.jobs.news.ring(uuid_text(self.job.job_id))
        if beat.cancel and self.run.stopping is None:
            self.stop("cancelled")

    def _chunk_expiry(self) -> datetime | None:
        """Log chunks outlive their job by as much as the longest retention."""
        return expiry_of(JobStatus.FAILED, self.queue.desk.now(), self.queue.desk.settings.retention)

    async def _end(self, ending: Ending) -> Job | None:
        """Write the end until it is written: while the token holds, no failure of the store drops a result."""
        delay = 0.05
        while True:
            try:
                return await self._write_end(ending)
            except LeaseLost:
                return None
            except JobError:
                raise
            except StoreError:
                await asyncio.sleep(delay)
                delay = min(5.0, delay * 2)

    async def _write_end(self, ending: Ending) -> Job:
        while self.notes.backlog:
            await self._flush()
        async with self._lock:
            lines, progress = self.notes.lines(), self.notes.current()
            if lines:
                logs, chunk = extended(self.job.job_id, self._logs, lines, self._chunk_expiry())
                job = await self.queue.finish(self.job, ending, logs=logs, chunk=chunk, progress=progress)
            else:
                job = await self.queue.finish(self.job, ending, progress=progress, whole=not self._written)
        self.queue.desk.jobs.news.ring(uuid_text(self.job.job_id))
        return job
