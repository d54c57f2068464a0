"""The heartbeat of a running job: renews its lease, and writes its new log lines, progress and events in the same update."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.finish.outcome import UNWRITABLE
from gateleg.jobs.monitor.logs import extended
from gateleg.jobs.rules import expiry_of
from gateleg.jobs.tables.job import JobStatus
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.texts import error_message
from gateleg.model.codec.wire import uuid_text
from gateleg.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.rules import AttemptOutcome
    from gateleg.jobs.tables.job import Job, LogEntry, Logs
    from gateleg.jobs.tables.records import LogChunk
    from gateleg.jobs.worker.recorder import AttemptRecorder
    from gateleg.jobs.worker.runners import StopReason


#: The minimum time for which log lines, progress and events are collected before they are written.
MIN_FLUSH_SECONDS = 0.04
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
