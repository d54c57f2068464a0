"""`TestWorker` runs jobs in a test, in the calling thread, one after another. `ManualClock` moves only when a test moves it."""

from __future__ import annotations

import asyncio
import inspect
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import UseAwait, WrongArgument
from gateleg.jobs.finish import SETTLE, UNWRITABLE, raised, reduced_outcome, returned
from gateleg.jobs.monitor.listing import extended
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.submit import BARRIER
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.output import AttemptRecorder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Sequence

    from gateleg.jobs.rules import AttemptOutcome
    from gateleg.jobs.submission import Submission, Submitted

T = TypeVar("T")


class TestWorker:
    """Runs the jobs of a queue in a test, in the calling thread: `TestWorker(queue, clock).run()`.

    Every handler runs inline, whatever its `runs=` option. With a clock, delayed jobs and retries run too: when no job is claimable, the
    clock moves to the time of the next one. Jobs that other programs have put into the table run
    too. Schedules do not run, because they never end; call `queue.run_schedules()` for them.
    """

    #: keeps pytest from collecting this class as a test
    __test__ = False

    def __init__(self, queue: Queue, clock: ManualClock | None = None, *, worker_id: str = "test-worker") -> None:
        argument: Any = queue
        if not isinstance(argument, Queue):
            fix = "Open a Queue on a second store, and give it the same tables." if isinstance(argument, AsyncQueue) else "Give it a Queue."
            raise WrongArgument(f"A TestWorker takes a Queue, and was given {type(argument).__name__}.", fix=fix)
        self.queue = queue
        self.clock = clock
        self.worker_id = worker_id
        self._selectors = [CandidateSelector(queue.context.setup.ticks, fresh_for=-1.0) for _ in queue.members]

    def run(self, *, limit: int = 10_000) -> list[Job]:
        """Run until no job is left, or for `limit` attempts. Returns the job as it was after each attempt."""
        ended: list[Job] = []
        while len(ended) < limit:
            job = self.step()
            if job is not None:
                ended.append(job)
            elif not self.queue.adopt_jobs() and not self._advance_to_next_job():
                break
        return ended

    def step(self) -> Job | None:
        """Run one attempt and return the updated job; None if no job is claimable."""
        for name in self._queues():
            for member, selector in zip(self.queue.members, self._selectors, strict=True):
                member.promote(name, 100)
                job = member.claim(selector, name, self.worker_id)
                if job is not None:
                    return self._attempt(job)
        return None

    def _queues(self) -> list[str]:
        return sorted({"default", *(handler.queue for handler in self.queue.context.jobs)})

    def _advance_to_next_job(self) -> bool:
        """Move the clock to the time of the next delayed job. Returns False if there is no clock or no such job.

        A job that is due already is not valid: it would have been promoted.
        """
        if self.clock is None:
            return False
        store, kinds = self.queue.store, [member.tables.job for member in self.queue.members]
        queries = [kind.due(queue=name).where(Job.run_at > self.queue.context.now()) for kind in kinds for name in self._queues()]
        due = [job["run_at"] for question in queries for job in store.query(question, limit=1, project=[Job.run_at])]
        if not due:
            return False
        self.clock.reach(min(due))
        return True

    def _attempt(self, job: Job) -> Job:
        recorder = AttemptRecorder(self.queue.context.now)
        outcome = self._outcome(job, recorder)
        logs = job.logs
        while recorder.has_backlog:
            job = self._flush(job, recorder)
            logs = job.logs
        logs, chunk = extended(job.job_id, logs, recorder.lines())
        try:
            return self.queue.finish(job, outcome, logs=logs, chunk=chunk, progress=recorder.unwritten_progress())
        except UNWRITABLE as error:
            return self.queue.finish(job, reduced_outcome(outcome, error), logs=logs, chunk=chunk)

    def _flush(self, job: Job, recorder: AttemptRecorder) -> Job:
        lines, events, emitted = recorder.lines(), recorder.events(), job.emitted or 0
        logs, chunk = extended(job.job_id, job.logs, lines)
        along = EventChunk(job_id=job.job_id, first=emitted, events=events) if events else None
        self.queue.renew(job, logs=logs, chunk=chunk, events=along)
        recorder.mark_written(len(lines), None, len(events))
        return job.model_copy(update={"logs": logs, "emitted": emitted + len(events) or None})

    def _outcome(self, job: Job, recorder: AttemptRecorder) -> AttemptOutcome:
        if job.job_type == SETTLE:
            return returned(self.queue.context, job, recorder, self.queue.settle(UUID(job.job_config["job_id"])))
        if job.job_type == BARRIER:
            return returned(self.queue.context, job, recorder, None)
        handler = self.queue.context.jobs.of(job.job_type)
        try:
            with tempfile.TemporaryDirectory(prefix="gateleg-") as folder:
                link = _InlineLink(self.queue, job, recorder, Path(folder))
                result: Any = handler.handle(JobContext(job, link), handler.loaded_config(job.job_config))
                if inspect.isawaitable(result):
                    result = asyncio.run(_awaited(result))
                result = handler.checked_result(result)
        except Exception as error:
            return raised(job, recorder, error)
        return returned(self.queue.context, job, recorder, result)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


class _InlineLink:
    """Connects a handler with the queue in the same thread."""

    stopping: str | None = None

    def __init__(self, queue: Queue, job: Job, recorder: AttemptRecorder, scratch: Path) -> None:
        self._queue = queue
        self._job = job
        self.scratch = scratch
        self.log = recorder.log
        self.progress = recorder.progress
        self.emit = recorder.emit
        self.output = recorder.output
        self.metric = recorder.metric

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return self._queue.submit_many(submissions, under=self._job)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        work.close()
        raise UseAwait("job.wait(...) was called in an async handler; it is for plain functions that run in a thread or a process.")


#: The default start: late enough that the engine, which has its own clock, does not consider items expired.
_DEFAULT_START = datetime(2100, 1, 1, tzinfo=UTC)


class ManualClock:
    """A clock for tests: `Store.embedded(clock=clock, ticks=clock)`, then `clock.advance(seconds=30)`.

    The store and its queues then use this clock. But `stamp(on="create")` takes the machine's time, because the object is constructed
    before a store is involved; pass the time yourself (`created_at=clock.now`) where a test depends on it.
    """

    def __init__(self, start: datetime = _DEFAULT_START) -> None:
        if start.utcoffset() is None:
            raise ValueError(f"ManualClock({start!r}) has no time zone. Give an aware datetime, such as datetime(2030, 1, 1, tzinfo=UTC).")
        self.now = start

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now.timestamp()

    def advance(self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0) -> datetime:
        """Move the clock forward and return the new time."""
        self.now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self.now

    def reach(self, time: datetime) -> datetime:
        """Move the clock forward to a time, and return the new time. A time in the past changes nothing."""
        self.now = max(self.now, time)
        return self.now
