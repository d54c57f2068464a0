"""The queue that a command works on, the applications whose jobs it knows, and saying what went wrong."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from gateleg.commands.failures import FAILED, MISUSED, fail
from gateleg.commands.opening import opened, tell_of_new_store
from gateleg.commands.settings import bad_settings_told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.jobs import Jobs, Queue, TableNames
    from gateleg.store import Store
    from gateleg.web.settings import Settings

#: The beginning of a UUID, long enough not to be a slip of the hand.
_BEGINNING = re.compile(r"(?=.{4,35}$)[0-9a-fA-F]{1,8}(-[0-9a-fA-F]{0,4}){0,3}(-[0-9a-fA-F]{0,11})?")
QueueOption = Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue.")]


def load_jobs(settings: Settings, app: str | None) -> Jobs:
    """The handlers at `module:object`, which is a `Jobs` or an application; without one, those of all installed applications."""
    from gateleg.cli.installed import installed_applications, loaded
    from gateleg.jobs import Jobs

    if app is not None:
        return _jobs_of(loaded(app, "jobs"), app, settings)
    jobs = Jobs()
    for application in installed_applications(settings):
        if application.jobs is not None:
            jobs.include(_jobs_of(application, application.name, settings))
    return jobs


def _jobs_of(found: Any, name: str, settings: Settings) -> Jobs:
    from gateleg.jobs import Jobs
    from gateleg.web.host import settings_only_resources

    made = getattr(found, "jobs", found)
    if made is not found and callable(made):
        # Handlers that are made with resources are only looked at here, and not run.
        with bad_settings_told():
            made = made(settings_only_resources(found, settings))
    if not isinstance(made, Jobs):
        fail(f"{name} is not a gateleg.jobs.Jobs or a gateleg.web.Application with jobs", MISUSED)
    return made


def names_for(settings: Settings, app: str | None) -> TableNames:
    """The tables that jobs of `--app` go to: those of a host for applications, and for a mere `Jobs` those that `Queue` has by default."""
    from gateleg.cli.installed import loaded
    from gateleg.jobs import Jobs
    from gateleg.jobs.tables import LAYOUTS

    bare = app is not None and settings.job_tables is None and isinstance(loaded(app, "jobs"), Jobs)
    return LAYOUTS["plain" if bare else settings.queue_layout]


def names_in(settings: Settings, store: Store) -> TableNames:
    """The tables of the queue that a store has: those of a host, or else the plain ones, if only those are there; or what settings say."""
    from gateleg.jobs.tables import LAYOUTS, tables_named

    if settings.job_tables is not None:
        return LAYOUTS[settings.job_tables]
    there = [names for names in LAYOUTS.values() if "MISSING" not in store.table_states(tables_named(names).all[0]).values()]
    return there[0] if len(there) == 1 else LAYOUTS[settings.queue_layout]


@contextmanager
def opened_queue(settings: Settings) -> Iterator[Queue]:
    """The queue on a store that exists, for commands that look at jobs and direct them; what it refuses ends the command."""
    from gateleg.jobs import JobError, Jobs, Queue
    from gateleg.store import TableMissing

    with opened(settings) as target:
        try:
            queue = Queue(target, Jobs(), tables=names_in(settings, target))
            _tell_of_other_tables(queue)
            yield queue
        except JobError as error:
            fail(str(error), FAILED)
        except TableMissing:
            fail(
                f"the store {settings.store} has no queue yet: `gateleg jobs submit`, `gateleg up`, `gateleg worker` and "
                "`gateleg tables apply` create its tables",
                FAILED,
            )


def _tell_of_other_tables(queue: Queue) -> None:
    """Say on standard error that the store has jobs in tables of other names, and none in those that the command looks at."""
    from gateleg.jobs.other_tables import other_tables_warning

    layout = queue.other_layout()
    if layout is not None:
        typer.echo(f"gateleg: {other_tables_warning(queue.context, layout)}", err=True)


@contextmanager
def submitting_queue(settings: Settings, app: str | None) -> Iterator[Queue]:
    """The queue with its job types, for commands that submit; the store and its tables are made when they are missing."""
    from gateleg.jobs import JobError, Queue, UnknownJobType

    jobs = load_jobs(settings, app)
    tell_of_new_store(settings)
    with opened(settings, create=True) as target:
        try:
            queue = Queue(target, jobs, tables=names_for(settings, app))
            queue.ensure_tables()
            yield queue
        except UnknownJobType as error:
            also = "" if app else " Applications are named by --app module:object, or by `applications` in gateleg.toml."
            fail(f"{error}{also}", FAILED)
        except JobError as error:
            fail(str(error), FAILED)


def read_id(text: str) -> UUID:
    """A whole job id."""
    try:
        return UUID(text)
    except ValueError:
        fail(f"{text!r} is not a job id; `gateleg jobs list` prints the ids of jobs", MISUSED)


def find_id(queue: Queue, text: str) -> UUID:
    """The job id that a text is, or that it is the beginning of.

    Beginnings are looked up among the jobs of the queue, which reads the whole table once. Archived jobs need the whole id.
    """
    from gateleg.jobs import Job

    if not _BEGINNING.fullmatch(text):
        return read_id(text)
    begins = Job.job_id.begins_with(text.lower())
    found = [UUID(item["job_id"]["S"]) for item in queue.store.scan(queue.tables.all[0], filter=begins)]
    if len(found) > 1:
        listed = "".join(f"\n  {job_id}" for job_id in sorted(found, key=str)[:10])
        fail(f"{len(found):,} jobs have ids that begin with {text}. Give more of the id:{listed}", FAILED)
    if not found:
        fail(f"no job in the queue has an id that begins with {text}; archived jobs need the whole id", FAILED)
    return found[0]
