"""Helpers for handlers: report progress and stop on request; fail without retrying."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.jobs.signals import GiveUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.jobs.context import JobContext


def reporting(job: JobContext) -> Callable[[float, str], None]:
    """A function for computing code to call at each step, from any thread, with the fraction done (0 to 1) and the step's name.

    It sets the job's progress, logs each step once, and raises `Stopped` when the job is to stop.
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
    """Fail the job without retrying on these errors: `with giving_up(DelphiError, AiError): ...`.

    An error whose `passing` attribute is true is raised unchanged, so that the job is retried.
    """
    try:
        yield
    except errors as error:
        if getattr(error, "passing", False):
            raise
        raise GiveUp(str(error)) from error
