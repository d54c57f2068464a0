"""The migrations of a host's applications: stores that work in every phase of a move, and a check that code is not older than its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.jobs import Jobs
    from gateleg.migrate import Migration
    from gateleg.model import Table
    from gateleg.store import AsyncStore
    from gateleg.web.application import Application
    from gateleg.web.resources import Resources
    from gateleg.web.settings import Settings


def store_for(application: Application, store: AsyncStore) -> AsyncStore:
    """The store of an application; one that knows its moves, if it has any."""
    if application.migrations is None:
        return store
    from gateleg.migrate import Moving, load_migrations

    moves = [move for migration in load_migrations(application.migrations) for move in migration.moves]
    return store.moving(Moving(moves)) if moves else store


def migrations_of(applications: Iterable[Application]) -> dict[str, tuple[Migration, ...]]:
    """The migrations of the applications that have any, by application name."""
    named = {application.name: application.migrations for application in applications if application.migrations is not None}
    if not named:
        return {}
    from gateleg.migrate import load_migrations

    return {name: load_migrations(package) for name, package in named.items()}


def tables_for_migrations(applications: Iterable[Application]) -> tuple[Table, ...]:
    """The tables that migrations need, if an application has any."""
    if all(application.migrations is None for application in applications):
        return ()
    from gateleg.migrate import migrations_table
    from gateleg.store.locks import locks

    return migrations_table, locks


async def check_migrations(application: Application, store: AsyncStore) -> None:
    """Refuse to start an application that is older than its data. A new store starts with the latest layout."""
    if application.migrations is None:
        return
    from gateleg.migrate import load_migrations
    from gateleg.migrate.ledger import begin_empty

    await store.drive(begin_empty(application.name, load_migrations(application.migrations), "host", store.setup))


def jobs_for_migrations(applications: Iterable[Application], settings: Settings, resources: Mapping[str, Resources[Any]]) -> Jobs:
    """The job type of migrations, if an application has any. Its webhooks are notified of the result."""
    from gateleg.jobs import Jobs

    migrations = migrations_of(applications)
    if not migrations:
        return Jobs()
    from gateleg.migrate.migration_jobs import migration_jobs
    from gateleg.store import Store

    def open_store() -> Store:
        return Store.connect(settings.store, settings.prefix, table_names=settings.table_names)

    async def tell(application: str, event: str, data: dict[str, Any]) -> None:
        await resources[application].webhooks.send(event, data)

    return migration_jobs(open_store, migrations, tell)
