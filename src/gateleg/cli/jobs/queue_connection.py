"""Opens the queue of a command, finds the applications whose jobs it knows, and explains failures."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn
from uuid import UUID

import typer

from gateleg.commands.opening import explaining_bad_settings, opened, print_new_store
from gateleg.commands.printing import FAILED, MISUSED, fail

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.host.settings import Settings
    from gateleg.jobs import AsyncQueue, Jobs, Queue, TableNames
    from gateleg.jobs.handlers import Handler
    from gateleg.store import Store

#: A prefix of a UUID that is long enough not to be a typing mistake.
_BEGINNING = re.compile(r"(?=.{4,35}$)[0-9a-fA-F]{1,8}(-[0-9a-fA-F]{0,4}){0,3}(-[0-9a-fA-F]{0,11})?")
_WHOLE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
QueueOption = Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue.")]


def load_jobs(settings: Settings, app: str | None) -> Jobs:
    """The handlers at `module:object`, which is a `Jobs` or an application; by default those of all installed applications."""
    from gateleg.cli.installed import installed_applications, loaded
    from gateleg.host import Application
    from gateleg.host.queues import queue_tables_of
    from gateleg.jobs import Jobs

    jobs = Jobs()
    if app is not None:
        found = loaded(app, "jobs")
        jobs.include(_jobs_of(found, app, settings), tables=queue_tables_of(found) if isinstance(found, Application) else None)
        return jobs
    for application in installed_applications(settings):
        if application.jobs is not None:
            made = _jobs_of(application, application.name, settings)
            jobs.include(made, application=application.name, tables=queue_tables_of(application))
    return jobs


def _jobs_of(found: Any, name: str, settings: Settings) -> Jobs:
    from gateleg.host.host import settings_only_resources
    from gateleg.jobs import Jobs

    made = getattr(found, "jobs", found)
    if made is not found and callable(made):
        # Handlers that need resources are only listed here, not run.
        with explaining_bad_settings():
            made = made(settings_only_resources(found, settings))
    if not isinstance(made, Jobs):
        fail(f"{name} is not a gateleg.jobs.Jobs or a gateleg.host.Application with jobs", MISUSED)
    return made


def brought_tables(settings: Settings, app: str | None) -> tuple[TableNames, ...]:
    """The queue tables that applications bring: those of a host with these settings, and the one at `--app`."""
    from gateleg.cli.installed import installed_applications, loaded
    from gateleg.host import Application
    from gateleg.host.queues import further_tables

    named = None if app is None else loaded(app, "jobs")
    return further_tables([*installed_applications(settings), *([named] if isinstance(named, Application) else [])])


def existing_tables(settings: Settings, app: str | None, store: Store) -> list[TableNames]:
    """The queue tables of a host with these settings that the store has, the queue's own first."""
    from gateleg.jobs.tables import PLAIN, tables_named

    known = (PLAIN, *brought_tables(settings, app))
    return [names for names in known if "MISSING" not in store.table_states(tables_named(names).all[0]).values()]


@contextmanager
def opened_queue(settings: Settings, app: str | None = None) -> Iterator[Queue]:
    """The queue of an existing store, for commands that inspect and control jobs; errors end the command."""
    from gateleg.jobs import JobError, Jobs, Queue
    from gateleg.jobs.tables import PLAIN
    from gateleg.store import TableMissing

    with opened(settings) as target:
        try:
            names = existing_tables(settings, app, target) or [PLAIN]
            queue = Queue(target, Jobs(), tables=names[0], further=names[1:])
            warn_of_unread_tables(queue)
            yield queue
        except JobError as error:
            fail(str(error), FAILED)
        except TableMissing:
            fail_without_queue(settings)


def fail_without_queue(settings: Settings) -> NoReturn:
    """End a command on a store without the tables of a queue."""
    fail(
        f"the store {settings.store} has no queue yet: `gateleg jobs submit`, `gateleg up`, `gateleg worker` and "
        "`gateleg tables apply` create its tables",
        FAILED,
    )


def warn_of_unread_tables(queue: Queue) -> None:
    """Warn on standard error if the store has jobs in queue tables that the command does not read."""
    from gateleg.jobs.queue_context import unread_tables_warning

    names = queue.unread_tables()
    if names:
        typer.echo(f"gateleg: {unread_tables_warning(names)}", err=True)


@contextmanager
def submitting_queue(settings: Settings, app: str | None, job_type: str, config: dict[str, Any]) -> Iterator[Queue]:
    """The queue with its job types, for commands that submit; the store and its tables are created if they are missing.

    The job type and its config are checked first, so that a command that fails creates nothing.
    """
    from gateleg.jobs import Queue

    jobs = load_jobs(settings, app)
    with _failing_submission(app):
        handler = jobs.of(job_type)
        _check_names(handler, config)
        handler.checked_config(config)
    print_new_store(settings)
    with opened(settings, create=True) as target, _failing_submission(app):
        needed = [handler.tables for handler in jobs if handler.tables is not None]
        queue = Queue(target, jobs, further=[*needed, *existing_tables(settings, app, target)])
        queue.ensure_tables()
        yield queue


@contextmanager
def _failing_submission(app: str | None) -> Iterator[None]:
    """End the command with the error of a submission."""
    from gateleg.jobs import JobError, UnknownJobType

    try:
        yield
    except UnknownJobType as error:
        also = "" if app else " Choose applications with --app module:object, or with `applications` in gateleg.toml."
        fail(f"{error}{also}", FAILED)
    except JobError as error:
        fail(str(error), FAILED)


def _check_names(handler: Handler, config: Mapping[str, Any]) -> None:
    """End the command if a config typed by hand has a name that its model would ignore: it is more likely misspelt than meant."""
    from gateleg.jobs.handlers import ignored_names, known_names
    from gateleg.model.types import did_you_mean

    if handler.config is None:
        return
    known = sorted(known_names(handler.config) or ())
    for name in ignored_names(handler.config, config):
        suggestion = did_you_mean(name, known, otherwise=f"It has {', '.join(known) or 'no attributes'}.")
        fail(f"the config of {handler.job_type} has no {name!r}. {suggestion} Nothing was submitted.", FAILED)


def read_id(text: str) -> UUID:
    """Parse a full job id."""
    try:
        return UUID(text)
    except ValueError:
        fail(f"{text!r} is not a job id; `gateleg jobs list` prints the ids of jobs", MISUSED)


def find_id(queue: Queue, text: str) -> UUID:
    """The job id in a text, or the one that starts with it.

    Prefixes are looked up among the jobs of the queue, which reads its whole tables once. Archived jobs need the full id.
    """
    if is_beginning(text):
        return only_one(text, queue.ids_beginning(text))
    bad = queue.find_set_aside(text) if may_be_set_aside(text) else None
    return read_id(text) if bad is None else fail(bad.sentence, FAILED)


async def find_id_of(queue: AsyncQueue, text: str) -> UUID:
    """As `find_id`, with the queue of a host."""
    if is_beginning(text):
        return only_one(text, await queue.ids_beginning(text))
    bad = await queue.find_set_aside(text) if may_be_set_aside(text) else None
    return read_id(text) if bad is None else fail(bad.sentence, FAILED)


def is_beginning(text: str) -> bool:
    """Whether a text may be the beginning of a job id, rather than a whole one."""
    return _BEGINNING.fullmatch(text) is not None


def may_be_set_aside(text: str) -> bool:
    """Whether a text may be the id of an item that is no valid job."""
    return bool(text) and not _WHOLE.fullmatch(text)


def only_one(text: str, ids: Sequence[UUID]) -> UUID:
    """The only job id that starts with a text. Ends the command for none and for several."""
    if len(ids) > 1:
        listed = "".join(f"\n  {job_id}" for job_id in ids[:10])
        fail(f"{len(ids):,} jobs have ids that start with {text}. Use a longer prefix:{listed}", FAILED)
    if not ids:
        fail(f"no job in the queue has an id that starts with {text}; archived jobs need the full id", FAILED)
    return ids[0]
