"""Opens the migrations of a command."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.cli.installed import settings_of_tables
from gateleg.commands.opening import opened
from gateleg.commands.printing import FAILED, MISUSED, fail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.migrate import Migrator, MoveOptions
    from gateleg.migrate.migrator import MigrationCallbacks

ApplicationArgument = Annotated[str, typer.Argument(help="The application that has the migrations.")]
NumberArgument = Annotated[int, typer.Argument(help="The number of a migration.")]
StageOption = Annotated[str | None, typer.Option("--stage", help="Only this stage of its moves.")]


@contextmanager
def open_migrator(
    name: str,
    config: Path | None,
    store: str | None,
    prefix: str | None,
    *,
    options: MoveOptions | None = None,
    report: MigrationCallbacks | None = None,
) -> Iterator[Migrator]:
    """The migrations of an application on the store of the settings; errors end the command."""
    from gateleg.errors import GatelegError
    from gateleg.migrate import Migrator, load_migrations

    settings = settings_of_tables(config, store=store, prefix=prefix)
    application = _application(settings, name)
    try:
        migrations = load_migrations(application.migrations)
    except GatelegError as error:
        fail(str(error), MISUSED)
    with opened(settings, create=False) as target:
        try:
            yield Migrator(target, name, migrations, by=operator(), options=options, report=report)
        except GatelegError as error:
            fail(str(error), FAILED)


def with_migrations(config: Path | None, store: str | None, prefix: str | None) -> list[str]:
    """The installed applications that have migrations, by name."""
    return list(_migrated(settings_of_tables(config, store=store, prefix=prefix)))


def submitted(name: str, config: Path | None, store: str | None, prefix: str | None, **task: Any) -> str:
    """Submit the job that applies migrations, and return its id."""
    from gateleg.jobs import Queue, Submission
    from gateleg.jobs.tables import TABLES
    from gateleg.migrate.migration_jobs import MIGRATION_JOB, MigrationTask, migration_jobs, subject_of

    settings = settings_of_tables(config, store=store, prefix=prefix)
    _application(settings, name)
    with opened(settings) as target:
        target.ensure_tables(*TABLES)
        # The handler is only registered here, not run.
        queue = Queue(target, migration_jobs(lambda: opened(settings), {name: ()}))
        task_of = MigrationTask(application=name, **task)
        answer = queue.submit(Submission(MIGRATION_JOB, task_of, subject=subject_of(name), created_by=operator()))
        return str(answer.job.job_id)


def operator() -> str:
    """The user of the command and the machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"


def _application(settings: Any, name: str) -> Any:
    found = _migrated(settings)
    if name not in found:
        known = f"use one of these: {', '.join(found)}" if found else "no installed application has any"
        fail(f"the application {name} has no migrations; {known}", MISUSED)
    return found[name]


def _migrated(settings: Any) -> dict[str, Any]:
    from gateleg.cli.installed import installed_applications

    return {one.name: one for one in installed_applications(settings) if one.migrations is not None}
