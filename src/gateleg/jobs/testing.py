"""Running jobs in a test: in this thread, one after another, with a clock that is moved instead of waited for."""

from __future__ import annotations

import asyncio
import inspect
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from gateleg.jobs.claim.selection import Picker
from gateleg.jobs.context import JobContext
from gateleg.jobs.finish.complete import SETTLE
from gateleg.jobs.finish.outcome import raised, returned
from gateleg.jobs.monitor.logs import extended
from gateleg.jobs.rules import Ending, Failed
from gateleg.jobs.submit.fan_in import GATE
from gateleg.jobs.tables.job import Failure, Job
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.worker.output import Notes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Sequence

    from gateleg.jobs.manual_clock import ManualClock
    from gateleg.jobs.queue import Queue
    from gateleg.jobs.submit.submission import Submission, Submitted

T = TypeVar("T")


class TestWorker:
    """Runs what is in the queue: `TestWorker(queue, clock).run()`.

    Every handler runs inline, whatever its `runs=` says. With a clock, delayed jobs and retries run as well: when no job is ready, the
    clock moves on to the next one. Schedules never end, so they are not followed; call `queue.run_schedules()`.
    """

    #: pytest takes classes named Test... for tests, and this one is imported into test modules
    __test__ = False

    def __init__(self, queue: Queue, clock: ManualClock | None = None, *, worker_id: str = "test-worker") -> None:
        self.queue = queue
        self.clock = clock
        self.worker_id = worker_id
        self._picker = Picker(queue.context.setup.ticks, fresh_for=-1.0)

    def run(self, *, limit: int = 10_000) -> list[Job]:
        """Run until nothing is left to run, or so many attempts were made; the jobs as each attempt left them."""
        ended: list[Job] = []
        while len(ended) < limit:
            job = self.step()
            if job is not None:
                ended.append(job)
            elif not self._move_on():
                break
        return ended

    def step(self) -> Job | None:
        """Run one attempt; the job as it is then, or None when nothing can be run now."""
        for name in self._queues():
            self.queue.promote(name, 100)
            job = self.queue.claim(self._picker, name, self.worker_id)
            if job is not None:
                return self._attempt(job)
        return None

    def _queues(self) -> list[str]:
        return sorted({"default", *(handler.queue for handler in self.queue.context.jobs)})

    def _move_on(self) -> bool:
        """Move the clock to the next delayed job; False when there is none."""
        if self.clock is None:
            return False
        store, due_in = self.queue.store, self.queue.context.tables.job.due
        due = [job["run_at"] for name in self._queues() for job in store.query(due_in, queue=name, limit=1, project=[Job.run_at])]
        if not due:
            return False
        self.clock.reach(min(due))
        return True

    def _attempt(self, job: Job) -> Job:
        notes = Notes(self.queue.context.now)
        ending = self._ending(job, notes)
        logs = job.logs
        while notes.backlog:
            job = self._flush(job, notes)
            logs = job.logs
        logs, chunk = extended(job.job_id, logs, notes.lines())
        return self.queue.finish(job, ending, logs=logs, chunk=chunk, progress=notes.current())

    def _flush(self, job: Job, notes: Notes) -> Job:
        lines, events, emitted = notes.lines(), notes.events(), job.emitted or 0
        logs, chunk = extended(job.job_id, job.logs, lines)
        along = EventChunk(job_id=job.job_id, first=emitted, events=events) if events else None
        self.queue.renew(job, logs=logs, chunk=chunk, events=along)
        notes.written(len(lines), None, len(events))
        return job.model_copy(update={"logs": logs, "emitted": emitted + len(events) or None})

    def _ending(self, job: Job, notes: Notes) -> Ending:
        if job.job_type == SETTLE:
            return returned(self.queue.context, job, notes, self.queue.settle(UUID(job.job_config["job_id"])))
        if job.job_type == GATE:
            return returned(self.queue.context, job, notes, None)
        handler = self.queue.context.jobs.find(job.job_type)
        if handler is None:
            return Failed(Failure(kind="unknown-job-type", message=f"There is no handler for {job.job_type}."))
        try:
            with tempfile.TemporaryDirectory(prefix="gateleg-") as folder:
                link = _Direct(self.queue, job, notes, Path(folder))
                result: Any = handler.handle(JobContext(job, link), handler.loaded_config(job.job_config))
                if inspect.isawaitable(result):
                    result = asyncio.run(_awaited(result))
                result = handler.checked_result(result)
        except Exception as error:
            return raised(job, notes, error)
        return returned(self.queue.context, job, notes, result)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


class _Direct:
    """The link from a handler to the queue, in the same thread."""

    stopping: str | None = None

    def __init__(self, queue: Queue, job: Job, notes: Notes, scratch: Path) -> None:
        self._queue = queue
        self._job = job
        self.scratch = scratch
        self.log = notes.log
        self.progress = notes.progress
        self.emit = notes.emit
        self.output = notes.output
        self.metric = notes.metric

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return self._queue.submit_many(submissions, under=self._job)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)
