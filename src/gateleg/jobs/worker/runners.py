"""Where handlers run: in the worker's event loop, in a thread of their own, or in a process that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gateleg.jobs.context import JobContext, wait_in
from gateleg.jobs.errors import UseAwait
from gateleg.jobs.worker.capture import captured_by

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.submit.submission import Submission, Submitted
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.worker.child_process import ChildPool
    from gateleg.jobs.worker.output import Notes
    from gateleg.jobs.worker.scratch import ScratchFolders

T = TypeVar("T")
StopReason = Literal["cancelled", "timed-out", "draining", "lease-lost"]


@dataclass(frozen=True)
class AttemptMeans:
    """What a worker has for all its attempts."""

    folders: ScratchFolders
    children: ChildPool


class Run:
    """One attempt under way. `outcome` ends with what the handler returned or raised; `stop` asks it to end."""

    def __init__(self, handler: Handler, job: Job, notes: Notes, queue: AsyncQueue, means: AttemptMeans) -> None:
        self.handler = handler
        self.job = job
        self.notes = notes
        self._queue = queue
        self._means = means
        self._scratch: Path | None = None
        self.stopping: StopReason | None = None

    @property
    def scratch(self) -> Path:
        """The folder of the attempt."""
        if self._scratch is None:
            self._scratch = self._means.folders.make(self.job)
        return self._scratch

    async def tidy(self) -> None:
        """Remove the folder of the attempt, if it has one."""
        if self._scratch is not None:
            await asyncio.to_thread(self._means.folders.remove, self._scratch)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something that is awaited, in a function that cannot await."""
        work.close()
        raise UseAwait("job.wait(...) is for plain functions in a thread or a process; this handler is async.")

    async def outcome(self) -> Any:
        """What the handler returned."""
        raise NotImplementedError

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end."""
        self.stopping = self.stopping or reason

    def _check_stopping(self) -> None:
        """Do not begin what is to end."""
        if self.stopping is not None:
            raise asyncio.CancelledError

    def kill(self) -> None:
        """End the handler, if that can be done from outside."""

    @property
    def alive(self) -> bool:
        """Whether something of it still runs."""
        return False

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit children."""
        return await self._submit(submissions)

    async def _submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._queue.submit_many(submissions, under=self.job)

    def log(self, message: str, level: str = "INFO") -> None:
        """Add to the log."""
        self.notes.log(message, level)

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add what was printed or logged to the log."""
        self.notes.capture(message, level)

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Say how far the job is."""
        self.notes.progress(done, total, message)

    def emit(self, event: Any) -> None:
        """Send an event to those who follow the job."""
        self.notes.emit(event)

    def output(self, kind: str, *locations: str) -> None:
        """Say where results are."""
        self.notes.output(kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        """Say a number about the work."""
        self.notes.metric(name, value)


class InlineRun(Run):
    """In the worker's own event loop: for handlers that await. Stopping cancels what they await."""

    _task: asyncio.Task[Any] | None = None

    async def outcome(self) -> Any:
        """What the handler returned."""
        self._task = asyncio.current_task()
        self._check_stopping()
        config = self.handler.loaded_config(self.job.job_config)
        try:
            with captured_by(self.notes):
                result = await self.handler.handle(JobContext(self.job, self), config)
            return self.handler.checked_result(result)
        except SystemExit as exit:
            # It is the handler that wanted to end, not the worker with all its other jobs.
            raise RuntimeError(f"The handler wanted to end the process with status {exit.code}.") from exit

    def stop(self, reason: StopReason) -> None:
        """Cancel what the handler awaits."""
        super().stop(reason)
        if self._task is not None:
            self._task.cancel()

    @property
    def alive(self) -> bool:
        """Whether the handler has not ended."""
        return self._task is not None and not self._task.done()


class ThreadRun(Run):
    """In a thread: for handlers that compute or block, plain functions or, with an event loop of their own, async ones.

    Stopping is up to the handler.
    """

    _thread: threading.Thread | None = None

    async def outcome(self) -> Any:
        """What the handler returned."""
        self._check_stopping()
        self._home = asyncio.get_running_loop()
        done: asyncio.Future[Any] = self._home.create_future()
        self._thread = threading.Thread(target=self._work, args=(done,), name=f"job-{self.job.job_id}", daemon=True)
        self._thread.start()
        return self.handler.checked_result(await done)

    def _work(self, done: asyncio.Future[Any]) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            config = self.handler.loaded_config(self.job.job_config)
            with captured_by(self.notes):
                result = self.handler.handle(JobContext(self.job, self), config)
                if inspect.isawaitable(result):
                    result = asyncio.run(_awaited(result))
        except BaseException as raised:
            error = raised
        # The worker may have given up on the thread and closed its loop.
        with contextlib.suppress(RuntimeError):
            self._home.call_soon_threadsafe(_settle, done, result, error)

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit children, in the worker's event loop."""
        pending: Future[list[Submitted]] = asyncio.run_coroutine_threadsafe(self._submit(submissions), self._home)
        return await asyncio.wrap_future(pending)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something that is awaited, in the worker's event loop."""
        return wait_in(self._home, work)

    @property
    def alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread is not None and self._thread.is_alive()


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))


def run_of(handler: Handler, job: Job, notes: Notes, queue: AsyncQueue, means: AttemptMeans) -> Run:
    """The run of a job, where its handler says."""
    if handler.runs == "process":
        from gateleg.jobs.worker.processes import ProcessRun

        return ProcessRun(handler, job, notes, queue, means)
    return (ThreadRun if handler.runs == "thread" else InlineRun)(handler, job, notes, queue, means)
