"""The queue that a command works on, the application whose jobs it knows, and saying what went wrong."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from gateleg.cli.failures import FAILED, MISUSED, fail
from gateleg.cli.tables.opening import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.jobs import Jobs, Queue

AppOption = Annotated[
    str | None, typer.Option("--app", envvar="GATELEG_APP", help="module:object with the job handlers, such as shop.work:jobs.")
]
QueueOption = Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue.")]


def load_jobs(app: str | None) -> Jobs:
    """The handlers of an application: a `Jobs`, or an object that has one as `jobs`, or makes one. Without an application, none."""
    from gateleg.cli.installed import loaded
    from gateleg.jobs import Jobs

    if app is None:
        return Jobs()
    found = loaded(app, "jobs")
    made = getattr(found, "jobs", found)
    if made is not found and callable(made):
        # Handlers that are made with resources are only looked at here, and not run.
        made = made(SimpleNamespace(store=None, objects=None, queue=None))
    if not isinstance(made, Jobs):
        fail(f"{app} is not a gateleg.jobs.Jobs", MISUSED)
    return made


@contextmanager
def opened_queue(store: str, prefix: str, app: str | None = None) -> Iterator[Queue]:
    """The queue on a store, whose tables are made when they are missing; what it refuses ends the command."""
    from gateleg.jobs import JobError, Queue, UnknownJobType

    jobs = load_jobs(app)
    with opened(store, prefix) as target:
        try:
            queue = Queue(target, jobs)
            queue.ensure_tables()
            yield queue
        except JobError as error:
            if app is None and isinstance(error, UnknownJobType):
                fail("No application is named whose job types are known: say --app module:object, or set GATELEG_APP", MISUSED)
            fail(str(error), FAILED)


def read_id(text: str) -> UUID:
    """A job's id."""
    try:
        return UUID(text)
    except ValueError:
        fail(f"{text!r} is not a job id", MISUSED)
