"""Where handlers run: in the worker's event loop, in their own thread, or in a process that can be killed."""

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
    from gateleg.jobs.worker.recorder import AttemptRecorder
    from gateleg.jobs.worker.scratch import ScratchFolders

T = TypeVar("T")
StopReason = Literal["cancelled", "timed-out", "draining", "lease-lost"]


@dataclass(frozen=True)
class AttemptResources:
    """The scratch folders and processes that all attempts of a worker share."""

    folders: ScratchFolders
    children: ChildPool


class Run:
    """Runs the handler of one attempt. `result` returns its result or raises its exception; `stop` asks it to end."""

    def __init__(self, handler: Handler, job: Job, recorder: AttemptRecorder, queue: AsyncQueue, resources: AttemptResources) -> None:
        self.handler = handler
        self.job = job
        self.recorder = recorder
        self._queue = queue
        self._resources = resources
        self._scratch: Path | None = None
        self.stopping: StopReason | None = None

    @property
    def scratch(self) -> Path:
        """The temporary folder of the attempt, created on first use."""
        if self._scratch is None:
            self._scratch = self._resources.folders.make(self.job)
        return self._scratch

    async def clean_up(self) -> None:
        """Remove the temporary folder of the attempt, if it has one."""
        if self._scratch is not None:
            await asyncio.to_thread(self._resources.folders.remove, self._scratch)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from a plain function and return its result."""
        work.close()
        raise UseAwait("job.wait(...) was called in an async handler; it is for plain functions that run in a thread or a process.")

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        raise NotImplementedError

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end."""
        self.stopping = self.stopping or reason

    def _check_stopping(self) -> None:
        """Raise `CancelledError` if the handler was asked to stop before it started."""
        if self.stopping is not None:
            raise asyncio.CancelledError

    def kill(self) -> None:
        """End the handler by force, if possible."""

    @property
    def alive(self) -> bool:
        """Whether the handler still runs."""
        return False

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._submit(submissions)

    async def _submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._queue.submit_many(submissions, under=self.job)

    def log(self, message: str, level: str = "INFO") -> None:
        """Add lines to the log."""
        self.recorder.log(message, level)

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add captured output to the log."""
        self.recorder.capture(message, level)

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        self.recorder.progress(done, total, message)

    def emit(self, event: Any) -> None:
        """Emit an event for followers of the job."""
        self.recorder.emit(event)

    def output(self, kind: str, *locations: str) -> None:
        """Record where results are stored."""
        self.recorder.output(kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        self.recorder.metric(name, value)


class InlineRun(Run):
    """Runs an async handler in the worker's event loop. Stopping cancels its task."""

    _task: asyncio.Task[Any] | None = None

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        self._task = asyncio.current_task()
        self._check_stopping()
        config = self.handler.loaded_config(self.job.job_config)
        try:
            with captured_by(self.recorder):
                result = await self.handler.handle(JobContext(self.job, self), config)
            return self.handler.checked_result(result)
        except SystemExit as exit:
            # That would end the worker with all its other jobs.
            raise RuntimeError(f"The handler called sys.exit({exit.code!r}); raise an exception instead.") from exit

    def stop(self, reason: StopReason) -> None:
        """Cancel the handler's task."""
        super().stop(reason)
        if self._task is not None:
            self._task.cancel()

    @property
    def alive(self) -> bool:
        """Whether the handler has not ended yet."""
        return self._task is not None and not self._task.done()


class ThreadRun(Run):
    """Runs a handler that computes or blocks in its own thread; an async one gets its own event loop there.

    A thread cannot be stopped from outside: the handler must check whether it is to stop.
    """

    _thread: threading.Thread | None = None

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        self._check_stopping()
        self._worker_loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = self._worker_loop.create_future()
        self._thread = threading.Thread(target=self._work, args=(done,), name=f"job-{self.job.job_id}", daemon=True)
        self._thread.start()
        return self.handler.checked_result(await done)

    def _work(self, done: asyncio.Future[Any]) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            config = self.handler.loaded_config(self.job.job_config)
            with captured_by(self.recorder):
                result = self.handler.handle(JobContext(self.job, self), config)
                if inspect.isawaitable(result):
                    result = asyncio.run(_awaited(result))
        except BaseException as raised:
            error = raised
        # The worker may have stopped waiting for the thread and closed its loop.
        with contextlib.suppress(RuntimeError):
            self._worker_loop.call_soon_threadsafe(_set_done, done, result, error)

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit child jobs in the worker's event loop."""
        pending: Future[list[Submitted]] = asyncio.run_coroutine_threadsafe(self._submit(submissions), self._worker_loop)
        return await asyncio.wrap_future(pending)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the worker's event loop and return its result."""
        return wait_in(self._worker_loop, work)

    @property
    def alive(self) -> bool:
        """Whether the thread has not ended yet."""
        return self._thread is not None and self._thread.is_alive()


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def _set_done(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
