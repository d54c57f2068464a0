"""`JobContext`: what a handler is given beside its config."""

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


class Link(Protocol):
    """How a handler reaches its worker, from the same thread, another one, or another process."""

    def log(self, message: str, level: str = "INFO") -> None:
        """Add to the log."""
        ...

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Say how far the job is."""
        ...

    def emit(self, event: Any) -> None:
        """Send an event to those who follow the job."""
        ...

    def output(self, kind: str, *locations: str) -> None:
        """Say where results are."""
        ...

    def metric(self, name: str, value: Any) -> None:
        """Say a number about the work."""
        ...

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit children."""
        ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something that is awaited, in a function that cannot await."""
        ...

    @property
    def scratch(self) -> Path:
        """The folder of the attempt."""
        ...

    @property
    def stopping(self) -> str | None:
        """Why the handler is to stop, if it is."""
        ...


def wait_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Wait for something that is awaited in the event loop of another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run_coroutine_threadsafe(work, loop).result()
    work.close()
    raise UseAwait("job.wait(...) was called where an event loop runs, which it would hold up.")


class JobContext(Submitter["Coroutine[Any, Any, Submitted]"]):
    """The job that a handler works on, and what it can say about it. All of it may be used from any thread.

    Leases are renewed by the worker. A handler that runs for long looks at `should_stop` now and then, or calls `check`.
    """

    def __init__(self, job: Job, link: Link) -> None:
        self.job = job
        self._link = link

    @property
    def job_id(self) -> UUID:
        """The job's id: what results are keyed by, so that a second run writes the same."""
        return self.job.job_id

    @property
    def attempt(self) -> int:
        """How often the job was claimed: a number that only grows, to fence writes to other systems."""
        return self.job.attempt

    def log(self, message: str, level: str = "INFO") -> None:
        """Add to the job's log."""
        self._link.log(message, level)

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Say how far the job is: `job.progress(3, 10, "embedding")`."""
        self._link.progress(done, total, message)

    def emit(self, event: Any) -> None:
        """Send an event to those who follow the job: `job.emit({"token": "Hel"})`. A JSON value or a pydantic model.

        Events are written together a few times a second, however many they are, and numbered, so that whoever was away gets them all.
        """
        self._link.emit(event)

    def output(self, kind: str, *locations: str) -> None:
        """Say where results are: `job.output("dynamodb_tables", "CommentClusters")`."""
        self._link.output(kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        """Add to the summary metrics."""
        self._link.metric(name, value)

    @property
    def scratch(self) -> Path:
        """A folder for this attempt alone, made when it is first asked for and removed with all that is in it when the attempt ends.

        What is to stay belongs into the object store. In a process, temporary files (`tempfile`, `TMPDIR`) lie there as well.
        """
        return self._link.scratch

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something that is awaited, in a plain `def` handler: `job.wait(store.get(Scene, ...))`."""
        return self._link.wait(work)

    @property
    def should_stop(self) -> bool:
        """Whether the job was cancelled, its worker stops, its time is up, or another worker has it."""
        return self._link.stopping is not None

    @property
    def cancelled(self) -> bool:
        """Whether somebody has cancelled the job."""
        return self._link.stopping == "cancelled"

    def check(self) -> None:
        """Stop here if the job is to stop."""
        reason = self._link.stopping
        if reason is not None:
            raise Stopped(reason)

    def submit_task(self, submission: Submission) -> Coroutine[Any, Any, Submitted]:
        """Submit what a task asks for: `submit`."""
        return self.submit(submission)

    async def submit(self, submission: Submission) -> Submitted:
        """Submit a child of this job; refused when the job is no longer this worker's."""
        (submitted,) = await self._link.submit([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit children of this job, which may depend on each other."""
        return await self._link.submit(submissions)
