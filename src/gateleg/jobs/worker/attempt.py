"""One attempt of a claimed job: run the handler, enforce its timeout, stop it on request, and write the outcome."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import JobError, LeaseLost
from gateleg.jobs.finish.outcome import UNWRITABLE, interrupted, raised, reduced_outcome, returned
from gateleg.jobs.texts import error_message
from gateleg.jobs.worker.heartbeat import MIN_FLUSH_SECONDS, Heartbeat
from gateleg.jobs.worker.processes import KILL_AFTER_SECONDS, ProcessRun
from gateleg.jobs.worker.recorder import AttemptRecorder
from gateleg.jobs.worker.runners import InlineRun, Run, ThreadRun
from gateleg.model.codec.wire import uuid_text
from gateleg.store import StoreError, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.rules import AttemptOutcome
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.worker.runners import AttemptResources, StopReason

#: How long log lines, progress and events are collected before they are written to a remote store, where each write is billed, and to an
#: engine in this process, where followers see them within a tenth of a second.
REMOTE_FLUSH_SECONDS = 0.5
EMBEDDED_FLUSH_SECONDS = MIN_FLUSH_SECONDS
#: How long a handler has to end after it was asked to stop. A process is killed a second earlier.
STOP_GRACE_SECONDS = KILL_AFTER_SECONDS + 1.0
#: A handler that returns at most this long after its timeout still counts as in time.
_TIMEOUT_TOLERANCE_SECONDS = 0.5
#: The minimum and maximum seconds between two tries to write the outcome.
_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.05, 5.0


class Execution:
    """One attempt of a claimed job by this worker."""

    _output_dropped = False
    _outcome_reduced = False

    def __init__(
        self,
        queue: AsyncQueue,
        job: Job,
        handler: Handler,
        resources: AttemptResources,
        *,
        flush_seconds: Callable[[], float] = lambda: REMOTE_FLUSH_SECONDS,
        grace: float = STOP_GRACE_SECONDS,
    ) -> None:
        self.queue = queue
        self.job = job
        self._loop = asyncio.get_running_loop()
        # A heartbeat that the handler's output triggers must not run in the handler's context: its log lines would count as output too.
        self._worker_context = contextvars.copy_context()
        self._handler_ended: asyncio.Future[None] = self._loop.create_future()
        self._heartbeat: Heartbeat | None = None
        self._ended = False
        self._timer: asyncio.TimerHandle | None = None
        #: how long the handler took
        self.handler_seconds = 0.0
        self._heartbeat_seconds = queue.context.settings.lease_seconds / 3
        self._flush_seconds = flush_seconds
        self._grace = grace
        self.recorder = AttemptRecorder(queue.context.now, self._on_output)
        self.run = _run_of(handler, job, self.recorder, queue, resources)

    def _on_output(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._flush_soon, context=self._worker_context)

    def _flush_soon(self) -> None:
        if not self._ended:
            self._get_heartbeat().flush_soon()

    def _start_heartbeat(self) -> None:
        if not self._ended:
            self._get_heartbeat().start()

    def _get_heartbeat(self) -> Heartbeat:
        if self._heartbeat is None:
            self._heartbeat = Heartbeat(
                self.queue, self.job, self.recorder, self.stop, interval=self._heartbeat_seconds, flush_seconds=self._flush_seconds
            )
        return self._heartbeat

    def stop(self, reason: StopReason, *, grace: float | None = None) -> None:
        """Ask the handler to stop within `grace` seconds. The first reason is kept."""
        if grace is not None:
            self._grace = grace
        if self.run.stopping is None:
            self.run.stop(reason)
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if not self._handler_ended.done():
            self._handler_ended.set_result(None)

    async def _run_handler(self) -> Any:
        """Run the handler, then wake up `_run_to_outcome` directly: a done callback would take one more turn of the event loop."""
        started = self._loop.time()
        try:
            return await self.run.result()
        finally:
            self.handler_seconds = self._loop.time() - started
            self.recorder.end_lines()
            self._stop_waiting()

    async def execute(
        self, on_handler_end: Callable[[], None] = lambda: None, wait_before: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> Job | None:
        """Run the handler and write the outcome. Returns the updated job, or None if the lease was lost.

        `wait_before` is awaited before the handler starts. `on_handler_end` is called when it has ended, before the outcome is written.
        """
        try:
            if wait_before is not None:
                await self._wait_before(wait_before)
            # Most jobs end without output before their first heartbeat: they need one timer and no heartbeat task.
            self._timer = self._loop.call_later(min(self._heartbeat_seconds, self.job.timeout_seconds), self._on_first_timer)
            outcome = await self._run_to_outcome()
            self.recorder.close()
            on_handler_end()
            return None if outcome is None else await self._write_until_done(outcome)
        finally:
            self._ended = True
            if self._timer is not None:
                self._timer.cancel()
            # Break the reference cycle, so that the attempt is freed without the garbage collector.
            self.recorder.detach()
            heartbeat, self._heartbeat = self._heartbeat, None
            if heartbeat is not None:
                await heartbeat.stop()
            await self.run.clean_up()

    async def _wait_before(self, wait_before: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Renew the lease until the wait is over or the job must stop."""
        self._start_heartbeat()
        waiting = self._loop.create_task(wait_before())
        await asyncio.wait({waiting, self._handler_ended}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    def _on_first_timer(self) -> None:
        """Handle the first heartbeat or the timeout, whichever is due, and set the timer for the other."""
        left = self.job.timeout_seconds - self._heartbeat_seconds
        now, later = (self._start_heartbeat, self._stop_waiting) if left > 0 else (self._stop_waiting, self._start_heartbeat)
        now()
        self._timer = self._loop.call_later(abs(left), later)

    async def _run_to_outcome(self) -> AttemptOutcome | None:
        """Run the handler until it ends or must stop, and return the outcome; None if the lease was lost."""
        work = self._loop.create_task(self._run_handler())
        await self._handler_ended
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
                # asyncio warns of exceptions that nobody retrieves.
                _ = work.cancelled() or work.exception()
            return None
        return self._outcome_of(work)

    def _outcome_of(self, work: asyncio.Future[Any]) -> AttemptOutcome:
        context, job, recorder, stopping = self.queue.context, self.job, self.recorder, self.run.stopping
        if not work.done():
            return interrupted(job, recorder, stopping)
        if work.cancelled():
            return raised(job, recorder, asyncio.CancelledError(), stopping)
        error = work.exception()
        if error is not None:
            return raised(job, recorder, error, stopping)
        if self.handler_seconds > job.timeout_seconds + _TIMEOUT_TOLERANCE_SECONDS:
            # The handler blocked the event loop, so it could not be stopped in time.
            return interrupted(job, recorder, "timed-out")
        return returned(context, job, recorder, work.result())

    async def _write_until_done(self, outcome: AttemptOutcome) -> Job | None:
        """Write the outcome, and retry while the lease is valid, so that no failure of the store loses a result.

        If the store rejects the outcome permanently, the rejected part is left out.
        """
        delay = _MIN_RETRY_SECONDS
        while True:
            try:
                return await self._write(outcome)
            except LeaseLost:
                return None
            except JobError:
                raise
            except UNWRITABLE as error:
                outcome = self._without_rejected(outcome, error)
            except StoreError:
                await asyncio.sleep(delay)
                delay = min(_MAX_RETRY_SECONDS, delay * 2)

    def _without_rejected(self, outcome: AttemptOutcome, error: Exception) -> AttemptOutcome:
        """Drop the last output if the item is too large, or else the handler's result."""
        if isinstance(error, TooLarge) and not self._output_dropped:
            self._output_dropped = True
            self.recorder.replace(f"The last output of the job could not be stored. {error_message(error)}")
            return outcome
        if self._outcome_reduced:
            raise error
        self._outcome_reduced = True
        return reduced_outcome(outcome, error)

    async def _write(self, outcome: AttemptOutcome) -> Job:
        if self._heartbeat is None and self.recorder.is_empty:
            job = await self.queue.finish(self.job, outcome, unchanged=True)
        else:
            job = await self._get_heartbeat().finish(outcome)
        self.queue.context.jobs.updates.notify(uuid_text(self.job.job_id))
        return job


def _run_of(handler: Handler, job: Job, recorder: AttemptRecorder, queue: AsyncQueue, resources: AttemptResources) -> Run:
    """The run of a job, where its handler's `runs` says."""
    kinds: dict[str, type[InlineRun | ThreadRun | ProcessRun]] = {"inline": InlineRun, "thread": ThreadRun, "process": ProcessRun}
    return kinds[handler.runs](handler, job, recorder, queue, resources)
