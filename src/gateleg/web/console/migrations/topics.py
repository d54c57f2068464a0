"""Topics of the pages about migrations, polled while they are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.host.live import Topic
from gateleg.host.migrations import migrations_of
from gateleg.migrate.ledger import read_statuses
from gateleg.migrate.migration_jobs import MIGRATION_JOB, subject_of
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.control import stored_key
from gateleg.migrate.moves.tables import ItemError, LedgerEntry
from gateleg.web.console.migrations.labels import StageGroup, grouped

if TYPE_CHECKING:
    from gateleg.host.host import Host
    from gateleg.jobs import Job
    from gateleg.migrate import KeyMove, Migration, MigrationStatus, MoveStage
    from gateleg.store import Page

#: The number of items that a dry run shows.
SAMPLES = 3
_PAGE = 50


@dataclass(frozen=True)
class MigrationSummary:
    """A migration in the list."""

    application: str
    #: the title of the application
    title: str
    status: MigrationStatus


@dataclass(frozen=True)
class MigrationState:
    """The state of a migration, with the last job on the application's migrations."""

    status: MigrationStatus
    groups: tuple[StageGroup, ...]
    #: whether a later migration was applied
    later: bool
    #: earlier migrations that are applied with it
    before: tuple[str, ...]
    job: Job | None

    @property
    def busy(self) -> bool:
        """Whether the last job is unfinished."""
        return self.job is not None and not self.job.finished


def list_topic(host: Host) -> Topic[list[MigrationSummary]]:
    """The migrations of all applications."""
    known = migrations_of(host.applications)
    titles = {application.name: application.title for application in host.applications}

    async def read() -> list[MigrationSummary]:
        found: list[MigrationSummary] = []
        for name, migrations in known.items():
            statuses = await host.store.drive(read_statuses(name, migrations, host.store.setup, brief=True))
            # Newest first: it is the one that is being worked on.
            found += [MigrationSummary(name, titles[name], status) for status in reversed(statuses)]
        return found

    return Topic("migrations", read, every=2.0)


def find_migration(host: Host, application: str, number: int) -> Migration | None:
    """A migration of an application; None if the code has none with that number."""
    return next((one for one in migrations_of(host.applications).get(application, ()) if one.number == number), None)


def find_stage(migration: Migration, move: str, stage: str) -> tuple[KeyMove, MoveStage] | None:
    """A stage of a move of a migration."""
    return next(((one, which) for one in migration.moves for which in one.stages if (one.name, which.name) == (move, stage)), None)


def migration_topic(host: Host, application: str, number: int) -> Topic[MigrationState | None]:
    """One migration; None if neither the code nor the data has it."""
    migrations = migrations_of(host.applications).get(application, ())
    one = find_migration(host, application, number)

    async def read() -> MigrationState | None:
        setup = host.store.setup
        found = await host.store.drive(read_statuses(application, migrations, setup, number=number))
        if not found:
            return None
        every: list[MigrationStatus] = await host.store.drive(read_statuses(application, migrations, setup, brief=True))
        # Code and data may both list it; the actionable one comes first.
        status = next((status for status in found if status.in_code), found[0])
        later = any(other.number > number and other.state not in ("pending", "rolled-back") for other in every)
        before = tuple(f"{other.number:04d} {other.name}" for other in every if other.number < number and other.state != "applied")
        return MigrationState(status, tuple(grouped(status, one)), later, before, await _last_job(host, application))

    return Topic(("migration", application, number), read, every=1.0)


async def _last_job(host: Host, application: str) -> Job | None:
    page = await host.queue.jobs_page(subject=subject_of(application), job_type=MIGRATION_JOB, limit=1)
    return page.items[0] if page.items else None


def errors_topic(host: Host, move: KeyMove, stage: MoveStage, cursor: str | None) -> Topic[Page[ItemError]]:
    """Items of a stage that could not be moved or that differ."""

    async def read() -> Page[ItemError]:
        key = await host.store.drive(stored_key(move, stage, host.store.setup))
        return await host.store.page(ItemError.of_stage, move=key, stage=stage.name, limit=_PAGE, cursor=cursor)

    return Topic(("migration errors", move.state_key, stage.name, cursor), read, every=2.0)


def events_topic(host: Host, application: str, number: int, cursor: str | None) -> Topic[Page[LedgerEntry]]:
    """The history of a migration, newest first."""

    async def read() -> Page[LedgerEntry]:
        question = LedgerEntry.history(application=application).filter(LedgerEntry.number == number)
        return await host.store.page(question, limit=_PAGE, cursor=cursor)

    return Topic(("migration events", application, number, cursor), read, every=2.0)


async def dry_run(host: Host, move: KeyMove, stage: MoveStage) -> list[dict[str, Any]]:
    """Sample items of a stage and their conversions. Nothing is written."""
    return await host.store.drive(steps.sample(move, stage, host.store.setup, SAMPLES))
