"""What handlers have in common: telling how far they are, stopping where they are told to, and giving up what cannot succeed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.jobs.signals import GiveUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.jobs.context import JobContext


def reporting(job: JobContext) -> Callable[[float, str], None]:
    """A function that computing code calls at each step, from any thread, with how much is done (0 to 1) and what it does.

    It tells the job's progress, logs each step once, and raises `Stopped` when the job is to stop, which ends the work.
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
    """Give a job up for errors that would be the same if it were tried again: `with giving_up(DelphiError, AiError): ...`.

    An error whose `passing` is true is raised as it is, so that the job is retried.
    """
    try:
        yield
    except errors as error:
        if getattr(error, "passing", False):
            raise
        raise GiveUp(str(error)) from error
