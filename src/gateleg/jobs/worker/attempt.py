"""One attempt of a claimed job: run the handler, enforce its timeout, stop it on request, and write the outcome.

Meanwhile a `Heartbeat` renews the lease, and writes new log lines, progress and events in the same update. Jobs that may have crashed their
workers run alone (`Quarantine`), in their own process if their handler can be imported there. A thread (`Watchdog`) detects a handler that
blocks its worker's event loop.

Each attempt is logged as a readable message, with the same facts as fields of the log record. Snoozed attempts are logged at the level
DEBUG, because most are parents that wait for their children.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import BadHandler, JobError, LeaseLost
from gateleg.jobs.finish import UNWRITABLE, interrupted, raised, reduced_outcome, returned
from gateleg.jobs.monitor.listing import extended
from gateleg.jobs.rules import error_message, expiry_of, must_run_alone
from gateleg.jobs.tables.job import JobStatus
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.tasks import Task
from gateleg.jobs.worker.output import AttemptRecorder
from gateleg.jobs.worker.runs import KILL_AFTER_SECONDS, InlineRun, ProcessRun, Run, ThreadRun, module_of
from gateleg.model.wire import uuid_text
from gateleg.store import StoreError, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from types import FrameType
    from uuid import UUID

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.rules import AttemptOutcome
    from gateleg.jobs.tables.job import Job, LogEntry, Logs
    from gateleg.jobs.tables.records import LogChunk
    from gateleg.jobs.worker.runs import AttemptResources, StopReason

_log = logging.getLogger("gateleg.jobs")

_attempt_log = logging.getLogger("gateleg.jobs.worker")
_WARNING_OUTCOMES = ("failed", "retried")
#: The minimum time for which log lines, progress and events are collected before they are written.
MIN_FLUSH_SECONDS = 0.04
#: How long log lines, progress and events are collected before they are written to a remote store, where each write is billed, and to an
#: engine in this process, where followers see them within a tenth of a second.
REMOTE_FLUSH_SECONDS = 0.5
EMBEDDED_FLUSH_SECONDS = MIN_FLUSH_SECONDS
#: How long a handler has to end after it was asked to stop. A process is killed a second earlier.
STOP_GRACE_SECONDS = KILL_AFTER_SECONDS + 1.0
#: A handler that returns at most this long after its timeout still counts as in time.
_TIMEOUT_TOLERANCE_SECONDS = 0.5


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


def in_own_process(handler: Handler) -> Handler:
    """The handler with `runs="process"` if another process can import it; otherwise unchanged."""
    if handler.factory is not None:
        return replace(handler, runs="process")
    required = [handler.handle] if handler.config is None else [handler.handle, handler.config]
    return replace(handler, runs="process") if all(map(_is_importable, required)) else handler


def _is_importable(target: Any) -> bool:
    try:
        # A module started with `python -m` is imported under another name.
        module_of(target)
        module = sys.modules[target.__module__]
    except (BadHandler, KeyError, AttributeError):
        return False
    member = getattr(module, getattr(target, "__qualname__", ""), None)
    return (member.function if isinstance(member, Task) else member) is target


#: How many times in an attempt the first event after a pause is written at once, without collecting more.
_PROMPT_FLUSHES = 3


class Heartbeat:
    """Renews the lease of one attempt every `interval` seconds, and `flush_seconds()` after new output.

    The first events are written at once, because followers wait for them most (`_PROMPT_FLUSHES`). `stop` is called with the reason if the
    lease was lost or cancellation was requested. Most jobs end without output before their first heartbeat, and never start one.
    """

    def __init__(
        self,
        queue: AsyncQueue,
        job: Job,
        recorder: AttemptRecorder,
        stop: Callable[[StopReason], None],
        *,
        interval: float,
        flush_seconds: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._job = job
        self._recorder = recorder
        self._stop_attempt = stop
        self._interval = interval
        self._flush_seconds = flush_seconds
        self._flushed_at = float("-inf")
        self._prompt_flushes_left = _PROMPT_FLUSHES
        self._logs = job.logs
        self._emitted = job.emitted or 0
        #: whether the job was written, or may have been, since its claim
        self._written = False
        #: whether output was dropped because the item had no room for it, and whether only the lease is written from now on
        self._output_dropped = False
        self._lease_only = False
        self._new_output = asyncio.Event()
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def flush_soon(self) -> None:
        """Announce new output, which the next flush writes."""
        self._new_output.set()
        self.start()

    def start(self) -> None:
        """Start the heartbeats, if they have not started. The first is sent at once, unless new output is still being collected."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(due=not self._new_output.is_set()))

    async def stop(self) -> None:
        """Stop the heartbeats."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, due: bool) -> None:
        interval = self._interval
        while True:
            if not due:
                try:
                    await asyncio.wait_for(self._new_output.wait(), interval)
                    await asyncio.sleep(self._seconds_to_collect())
                except TimeoutError:
                    pass
            due = False
            self._new_output.clear()
            try:
                await self._flush()
            except LeaseLost:
                self._stop_attempt("lease-lost")
                return
            except UNWRITABLE as error:
                # The item has no room for the output. Renew the lease all the same.
                self._recorder.replace(f"Output of the job could not be stored. {error_message(error)}")
                self._lease_only, self._output_dropped = self._output_dropped, True
                self._new_output.set()
            except StoreError:
                # The next heartbeat retries; nothing is lost until the lease expires.
                await asyncio.sleep(min(1.0, interval / 4))
                self._new_output.set()

    def _seconds_to_collect(self) -> float:
        usual = min(self._flush_seconds(), self._interval)
        if not self._recorder.has_events or self._prompt_flushes_left == 0:
            return usual
        self._prompt_flushes_left -= 1
        return max(0.0, self._flushed_at + MIN_FLUSH_SECONDS - asyncio.get_running_loop().time())

    async def _flush(self) -> None:
        self._flushed_at = asyncio.get_running_loop().time()
        async with self._lock:
            lines, progress, events = self._recorder.lines(), self._recorder.unwritten_progress(), self._recorder.events()
            logs, chunk = self._extended([] if self._lease_only else lines)
            self._written = True
            if self._lease_only:
                renewal = await self._queue.renew(self._job)
            else:
                emitted = self._event_chunk(events)
                renewal = await self._queue.renew(self._job, progress=progress, logs=logs if lines else None, chunk=chunk, events=emitted)
                self._emitted += len(events)
            self._logs = logs
            self._recorder.mark_written(len(lines), progress, len(events))
        self._queue.context.jobs.updates.notify(uuid_text(self._job.job_id))
        if renewal.cancel:
            self._stop_attempt("cancelled")

    async def finish(self, outcome: AttemptOutcome) -> Job:
        """Write the outcome of the attempt, together with the output that is still unwritten."""
        while self._recorder.has_backlog:
            await self._flush()
        async with self._lock:
            lines, progress = self._recorder.lines(), self._recorder.unwritten_progress()
            if not lines:
                return await self._queue.finish(self._job, outcome, progress=progress, unchanged=not self._written)
            logs, chunk = self._extended(lines)
            return await self._queue.finish(self._job, outcome, logs=logs, chunk=chunk, progress=progress)

    def _event_chunk(self, events: list[Any]) -> EventChunk | None:
        """The item for new events. It is kept for the longest retention, so that followers can read it after the job has finished."""
        if not events:
            return None
        context = self._queue.context
        expires_at = expiry_of(JobStatus.FAILED, context.now(), context.settings.retention)
        return EventChunk(job_id=self._job.job_id, first=self._emitted, events=events, expires_at=expires_at)

    def _extended(self, lines: Sequence[LogEntry]) -> tuple[Logs, LogChunk | None]:
        """The log with new lines, and a chunk for older lines that no longer fit into the job's item."""
        return extended(self._job.job_id, self._logs, lines)


def log_attempt_start(job: Job) -> None:
    """Log that an attempt starts."""
    snoozed_before = bool(job.attempts) and job.attempts[-1].outcome == "snoozed"
    level = logging.DEBUG if snoozed_before else logging.INFO
    if _attempt_log.isEnabledFor(level):
        _attempt_log.log(level, "%s %s started, attempt %d", job.job_type, job.job_id, job.tries, extra=fields_of(job))


def log_attempt_end(job: Job) -> None:
    """Log the outcome of the last attempt of a job, and its error if it has failed."""
    last = job.attempts[-1]
    level = logging.WARNING if last.outcome in _WARNING_OUTCOMES else logging.DEBUG if last.outcome == "snoozed" else logging.INFO
    if not _attempt_log.isEnabledFor(level):
        return
    seconds = (last.ended_at - last.started_at).total_seconds()
    message = f"{job.job_type} {job.job_id} {last.outcome} after {seconds:.2f} s, attempt {last.number}"
    if last.error is not None:
        message += f": {last.error.kind}: {last.error.message.splitlines()[0] if last.error.message else ''}"
    if last.outcome == "retried" and job.run_at is not None:
        message += f"; next attempt at {job.run_at:%H:%M:%S}"
    error = None if last.error is None else last.error.kind
    _attempt_log.log(level, "%s", message, extra=fields_of(job) | {"outcome": last.outcome, "seconds": round(seconds, 3), "error": error})


def fields_of(job: Job) -> dict[str, Any]:
    """The job's fields for a log record."""
    return {
        "job_id": str(job.job_id),
        "job_type": job.job_type,
        "queue": job.queue,
        "attempt": job.tries,
        "worker": job.worker_id,
    }


class Quarantine:
    """The jobs of a worker, and which of them must run alone, with no other job at the same time."""

    def __init__(self) -> None:
        self._jobs: set[UUID] = set()
        self._alone: list[UUID] = []
        self._job_removed = asyncio.Event()

    def add(self, job: Job) -> None:
        """Record that a claimed job starts."""
        self._jobs.add(job.job_id)
        if must_run_alone(job):
            self._alone.append(job.job_id)

    def remove(self, job: Job) -> None:
        """Record that a job has ended completely."""
        self._jobs.discard(job.job_id)
        if job.job_id in self._alone:
            self._alone.remove(job.job_id)
        self._job_removed.set()

    @property
    def active(self) -> bool:
        """Whether the worker has a job that must run alone, so that it must not start another."""
        return bool(self._alone)

    async def wait_until_alone(self, job: Job) -> None:
        """Wait until no other job runs in this worker."""
        while self._alone[0] != job.job_id or self._jobs - set(self._alone):
            self._job_removed.clear()
            await self._job_removed.wait()


#: The minimum and maximum seconds between two tries to write the outcome.
_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS = 0.05, 5.0
#: How long the loop must be blocked before it is logged, and how many times it is checked within that time.
BLOCKED_AFTER_SECONDS = 1.0
_CHECKS = 4
#: The watchdog of each event loop, with the number of blocks that use it: several workers may share a loop.
_watchdogs: dict[asyncio.AbstractEventLoop, tuple[Watchdog, int]] = {}


@contextmanager
def watching_loop(blocked_after: float = BLOCKED_AFTER_SECONDS) -> Iterator[None]:
    """Watch the running event loop from a thread while the block runs. Blocks on one loop share the thread of the first."""
    loop = asyncio.get_running_loop()
    watchdog, users = _watchdogs.get(loop) or (Watchdog(loop, blocked_after), 0)
    if users == 0:
        watchdog.start()
    _watchdogs[loop] = watchdog, users + 1
    try:
        yield
    finally:
        _, users = _watchdogs.pop(loop)
        if users > 1:
            _watchdogs[loop] = watchdog, users - 1
        else:
            watchdog.end()


class Watchdog:
    """A timer in the event loop records when it ran; a thread checks how long ago that was."""

    def __init__(self, loop: asyncio.AbstractEventLoop, blocked_after: float) -> None:
        self._loop = loop
        self._blocked_after = blocked_after
        self._interval = blocked_after / _CHECKS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="gateleg-watchdog", daemon=True)
        self._last_beat = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the watchdog. Called in the event loop's thread."""
        self._beat()
        self._thread.start()

    def end(self) -> None:
        """End the watchdog. Called in the event loop's thread."""
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()
        self._thread.join()

    def _beat(self) -> None:
        self._last_beat = time.monotonic()
        self._timer = self._loop.call_later(self._interval, self._beat)

    def _watch(self, watched: int) -> None:
        logged, checked_at, used = 0.0, time.monotonic(), time.process_time()
        while not self._ended.wait(self._interval):
            now, using, last_beat = time.monotonic(), time.process_time(), self._last_beat
            gap, checked_at = now - checked_at, now
            worked, used = using - used, using
            # If this thread did not run either, the process was suspended; but if the process used the CPU meanwhile, code that
            # holds the GIL blocked both threads.
            if gap > self._blocked_after and worked < gap / 2:
                continue
            if now - last_beat > self._blocked_after + self._interval and last_beat != logged:
                logged = last_beat
                _log_blocked(now - last_beat, sys._current_frames().get(watched))


#: How many frames of a stack are shown at each end.
_MAX_FRAMES = 4


def _log_blocked(seconds: float, frame: FrameType | None) -> None:
    """Log which handler blocks the loop, and where, also in the log of its job."""
    run, stack = blocker(frame)
    if run is None:
        _log.warning("the worker's event loop has been blocked for %.1f s, but not by a handler, at\n%s", seconds, stack)
        return
    job = run.job
    problem = f'has blocked the worker\'s event loop for {seconds:.1f} s: other jobs and heartbeats wait. Use await, or runs="thread".'
    # Write to the job's log first, because the job may end at any moment.
    run.recorder.log(f"The handler {problem} It is at\n{stack}", "WARNING")
    _log.warning("%s %s %s It is at\n%s", job.job_type, job.job_id, problem, stack, extra=fields_of(job))


def blocker(frame: FrameType | None) -> tuple[InlineRun | None, str]:
    """The run whose handler is on this stack, with the handler's part of the stack; or None with the whole stack."""
    innermost, depth = frame, 0
    while frame is not None:
        if frame.f_code is InlineRun.result.__code__:
            run: InlineRun = frame.f_locals["self"]
            return run, _stack(innermost, depth)
        frame, depth = frame.f_back, depth + 1
    return None, _stack(innermost, depth)


def _stack(frame: FrameType | None, depth: int) -> str:
    """The innermost `depth` frames, formatted like a traceback, without the import machinery and the middle of a long stack."""
    if frame is None:
        return ""
    frames = [entry for entry in traceback.extract_stack(frame)[-depth:] if not entry.filename.startswith("<frozen ")]
    texts = traceback.StackSummary.from_list(frames).format()
    if len(texts) > 2 * _MAX_FRAMES:
        texts = [*texts[:_MAX_FRAMES], f"  ... {len(texts) - 2 * _MAX_FRAMES} more ...\n", *texts[-_MAX_FRAMES:]]
    return "".join(texts).rstrip()
