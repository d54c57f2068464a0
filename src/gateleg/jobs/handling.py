"""`reporting` and `giving_up`, for handlers: progress callbacks that also stop on request, and errors that are not retried."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.jobs.signals import GiveUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.jobs.context import JobContext


def reporting(job: JobContext) -> Callable[[float, str], None]:
    """Return a progress callback, `report(done, step)`, to pass to long computations. It can be called from any thread.

    `done` is the fraction from 0 to 1, `step` the name of the current step. Each call sets the job's progress, logs the step if it is new,
    and raises `Stopped` if the job must stop.
    """
    logged = ""

    def report(done: float, step: str) -> None:
        nonlocal logged
        job.check()
        job.progress(done, 1.0, step)
        if step != logged:
            job.log(step)
            logged = step

    return report


@contextmanager
def giving_up(*errors: type[Exception]) -> Iterator[None]:
    """A context manager that turns these errors into `GiveUp`, so that the job fails without retries: `with giving_up(AiError): ...`.

    An error with a true attribute `passing` (a temporary failure) is raised unchanged, so that the job is retried.
    """
    try:
        yield
    except errors as error:
        if getattr(error, "passing", False):
            raise
        raise GiveUp(str(error)) from error
