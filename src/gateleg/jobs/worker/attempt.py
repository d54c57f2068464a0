"""One claimed job, from its claim to the end of its attempt: the handler, timeouts, stopping, and the last write."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import JobError, LeaseLost
from gateleg.jobs.finish.outcome import UNWRITABLE, interrupted, lessened, raised, returned
from gateleg.jobs.texts import told_by
from gateleg.jobs.worker.heartbeat import SHORTEST_FLUSH, Pulse
from gateleg.jobs.worker.output import Notes
from gateleg.jobs.worker.processes import KILL_AFTER
from gateleg.jobs.worker.runners import run_of
from gateleg.model.codec.wire import uuid_text
from gateleg.store import StoreError, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.rules import Ending
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.worker.runners import AttemptMeans, StopReason

#: Seconds for which lines, progress and events are collected before they are written: to a store far away, where a write is paid for,
#: and to an engine in this process, where those who follow the job see it within a tenth of a second.
FLUSH_FAR = 0.5
FLUSH_NEAR = SHORTEST_FLUSH
#: Seconds that a handler has to end once it is asked to; a process is killed before.
GRACE = KILL_AFTER + 1.0
#: Seconds after its time is up in which a handler that returns by itself has still made it.
_LENIENCY = 0.5


class Execution:
    """One attempt of a job by this worker."""

    _hushed = False
    _reduced = False

    def __init__(
        self,
        queue: AsyncQueue,
        job: Job,
        handler: Handler,
        means: AttemptMeans,
        *,
        flush_every: Callable[[], float] = lambda: FLUSH_FAR,
        grace: float = GRACE,
    ) -> None:
        self.queue = queue
        self.job = job
        self._loop = asyncio.get_running_loop()
        # What is done when a handler has spoken is not done in the handler's context: it would be taken for its output.
        self._own_context = contextvars.copy_context()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._pulse: Pulse | None = None
        self._ended = False
        self._timer: asyncio.TimerHandle | None = None
        #: the seconds that the handler took
        self.took = 0.0
        self._interval = queue.context.settings.lease_seconds / 3
        self._flush_every = flush_every
        self._grace = grace
        self.notes = Notes(queue.context.now, self._wake)
        self.run = run_of(handler, job, self.notes, queue, means)

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._heard, context=self._own_context)

    def _heard(self) -> None:
        if not self._ended:
            self._pulsing().quicken()

    def _begin_to_beat(self) -> None:
        if not self._ended:
            self._pulsing().beat()

    def _pulsing(self) -> Pulse:
        if self._pulse is None:
            self._pulse = Pulse(self.queue, self.job, self.notes, self.stop, interval=self._interval, flush_every=self._flush_every)
        return self._pulse

    def stop(self, reason: StopReason, *, grace: float | None = None) -> None:
        """Ask the handler to end; once is enough. It has `grace` seconds to do so."""
        if grace is not None:
            self._grace = grace
        if self.run.stopping is None:
            self.run.stop(reason)
        self._end_wait()

    def _end_wait(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    async def _outcome(self) -> Any:
        """What the handler returned. Whoever waits for it goes on right after: a callback would be one turn of the loop later."""
        began = self._loop.time()
        try:
            return await self.run.outcome()
        finally:
            self.took = self._loop.time() - began
            self.notes.end_lines()
            self._end_wait()

    async def carry_out(
        self, vacate: Callable[[], None] = lambda: None, turn: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> Job | None:
        """Run the handler and write what came of it. The job as it is then; None when another worker has it.

        `vacate` is called once the handler needs its place no more, before the end is written. `turn` is waited for before it begins.
        """
        try:
            if turn is not None:
                await self._wait_for(turn)
            # Most jobs end before their first heartbeat and say nothing: those need no task for it, and but one timer.
            self._timer = self._loop.call_later(min(self._interval, self.job.timeout_seconds), self._go_on)
            ending = await self._ending()
            self.notes.close()
            vacate()
            return None if ending is None else await self._end(ending)
        finally:
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            # What is left refers to nothing that refers to it, so that it goes at once and nobody has to look for it.
            self.notes.leave()
            pulse, self._pulse = self._pulse, None
            if pulse is not None:
                await pulse.rest()
            await self.run.tidy()

    async def _wait_for(self, turn: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Keep the lease until it is the job's turn, or the job is to stop."""
        self._begin_to_beat()
        waiting = self._loop.create_task(turn())
        await asyncio.wait({waiting, self._over}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

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
            await asyncio.wait({work}, timeout=self._grace)
            if not work.done():
                self.run.kill()
                work.cancel()
                await asyncio.wait({work}, timeout=1.0)
        if self.run.stopping == "lease-lost":
            if work.done():
                # Whatever it raised is nobody's business any more; asyncio wants it looked at.
                _ = work.cancelled() or work.exception()
            return None
        return self._judged(work)

    def _judged(self, work: asyncio.Future[Any]) -> Ending:
        context, job, notes, stopping = self.queue.context, self.job, self.notes, self.run.stopping
        if not work.done():
            return interrupted(job, notes, stopping)
        if work.cancelled():
            return raised(job, notes, asyncio.CancelledError(), stopping)
        error = work.exception()
        if error is not None:
            return raised(job, notes, error, stopping)
        if self.took > job.timeout_seconds + _LENIENCY:
            # It held up the event loop, so nobody could stop it in time. Time is up all the same.
            return interrupted(job, notes, "timed-out")
        return returned(context, job, notes, work.result())

    async def _end(self, ending: Ending) -> Job | None:
        """Write the end until it is written: while the token holds, no failure of the store drops a result.

        An end that can never be written as it is, is written with less.
        """
        delay = 0.05
        while True:
            try:
                return await self._write_end(ending)
            except LeaseLost:
                return None
            except JobError:
                raise
            except UNWRITABLE as error:
                ending = self._lessened(ending, error)
            except StoreError:
                await asyncio.sleep(delay)
                delay = min(5.0, delay * 2)

    def _lessened(self, ending: Ending, error: Exception) -> Ending:
        """Leave out what was said last, where there is no room for it, or else what the handler has returned."""
        if isinstance(error, TooLarge) and not self._hushed:
            self._hushed = True
            self.notes.replace(f"What was said last could not be written. {told_by(error)}")
            return ending
        if self._reduced:
            raise error
        self._reduced = True
        return lessened(ending, error)

    async def _write_end(self, ending: Ending) -> Job:
        if self._pulse is None and self.notes.silent:
            job = await self.queue.finish(self.job, ending, whole=True)
        else:
            job = await self._pulsing().finish(ending)
        self.queue.context.jobs.updates.notify(uuid_text(self.job.job_id))
        return job
