"""`JobContext`: the first argument of a handler, with its job and the methods to report on it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gateleg.jobs.errors import UseAwait
from gateleg.jobs.signals import Stopped
from gateleg.jobs.submit.submission import Submitter

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from pathlib import Path
    from uuid import UUID

    from gateleg.jobs.submit.submission import Submission, Submitted
    from gateleg.jobs.tables.job import Job

T = TypeVar("T")


class WorkerLink(Protocol):
    """How a handler reaches its worker, from the same thread, another one, or another process."""

    def log(self, message: str, level: str = "INFO") -> None:
        """Add lines to the log."""
        ...

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Set the progress."""
        ...

    def emit(self, event: Any) -> None:
        """Emit an event for followers of the job."""
        ...

    def output(self, kind: str, *locations: str) -> None:
        """Record where results are stored."""
        ...

    def metric(self, name: str, value: Any) -> None:
        """Record a metric."""
        ...

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit child jobs."""
        ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from a plain function and return its result."""
        ...

    @property
    def scratch(self) -> Path:
        """The temporary folder of the attempt."""
        ...

    @property
    def stopping(self) -> str | None:
        """Why the handler must stop; None while it may continue."""
        ...


def wait_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the event loop of another thread and return its result."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run_coroutine_threadsafe(work, loop).result()
    work.close()
    raise UseAwait("job.wait(...) was called in a thread with a running event loop, which it would block.")


class JobContext(Submitter["Coroutine[Any, Any, Submitted]"]):
    """The first argument of a handler: its job, and methods to log, report progress, emit events and submit child jobs. Thread-safe.

    The worker renews the lease meanwhile. A long-running handler should call `check`, or read `should_stop`, from time to time.
    """

    def __init__(self, job: Job, link: WorkerLink) -> None:
        self.job = job
        self._link = link

    @property
    def job_id(self) -> UUID:
        """The job's id. Use it as the key of results, so that a second run overwrites those of the first."""
        return self.job.job_id

    @property
    def attempt(self) -> int:
        """The number of claims so far. It only grows, so it is a fencing token for writes to other systems."""
        return self.job.attempt

    def log(self, message: str, level: str = "INFO") -> None:
        """Add a message, of one or more lines, to the job's log. Console and API show it while the job runs."""
        self._link.log(message, level)

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Report the progress: `job.progress(3, 10, "embedding")`."""
        self._link.progress(done, total, message)

    def emit(self, event: Any) -> None:
        """Emit an event, a JSON value or a pydantic model, for followers of the job: `job.emit({"token": "Hel"})`.

        Events are numbered and written in batches a few times a second. A follower that reconnects receives the events it has missed.
        Raises `BadEvent` for a value that is not JSON, or larger than 64 KiB.
        """
        self._link.emit(event)

    def output(self, kind: str, *locations: str) -> None:
        """Record where the handler has stored results: `job.output("dynamodb_tables", "CommentClusters")`."""
        self._link.output(kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        """Add a named value to the metrics of the job's result: `job.metric("rows", 120)`."""
        self._link.metric(name, value)

    @property
    def scratch(self) -> Path:
        """A temporary folder for this attempt, created on first use and removed when the attempt ends.

        Put files that must be kept into the object store. In a process, `tempfile` and `TMPDIR` also use this folder.
        """
        return self._link.scratch

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in a plain `def` handler and return its result: `job.wait(store.get(Scene, ...))`."""
        return self._link.wait(work)

    @property
    def should_stop(self) -> bool:
        """Whether the handler must stop: the job was cancelled or timed out, its worker shuts down, or the lease was lost."""
        return self._link.stopping is not None

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled."""
        return self._link.stopping == "cancelled"

    def check(self) -> None:
        """Raise `Stopped` if the handler must stop. Do not catch it: the worker then records why the attempt ended."""
        reason = self._link.stopping
        if reason is not None:
            raise Stopped(reason)

    def submit_task(self, submission: Submission) -> Coroutine[Any, Any, Submitted]:
        """Submit a child job; `Task.submit` calls this."""
        return self.submit(submission)

    async def submit(self, submission: Submission) -> Submitted:
        """Submit a child of this job. Raises `ParentGone` if the job was cancelled, or its lease was lost to another worker."""
        (submitted,) = await self._link.submit([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit several children of this job, which may depend on each other. Raises `ParentGone` like `submit`."""
        return await self._link.submit(submissions)
