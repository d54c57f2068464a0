"""The migrations of a host's applications: stores that work in every phase of a move, and checks that code and data fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.store import KeysDiffer
from gateleg.store.operations.tables import check_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.host.application import Application
    from gateleg.host.resources import Resources
    from gateleg.host.settings import Settings
    from gateleg.jobs import Jobs
    from gateleg.migrate import Migration
    from gateleg.model import Table
    from gateleg.store import AsyncStore

__all__ = ["migrations_of"]


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


async def check_deployed_keys(applications: Iterable[Application], tables: Iterable[Table], store: AsyncStore) -> None:
    """Raise `KeysDiffer`, which says what to do about each table, if one is deployed with another key than declared. Writes nothing."""
    declared = tuple(tables)
    try:
        await store.drive(check_keys(declared, store.setup))
    except KeysDiffer as error:
        deployed = {table.name: store.setup.name_of(table) for table in declared}
        migrated = _names_before_moves(applications)
        ways = [_way_out(name, deployed[name], migrated.get(name)) for name in error.problems]
        raise KeysDiffer.of(error.problems, fix=" ".join(("Nothing was written.", *ways))) from None


def _names_before_moves(applications: Iterable[Application]) -> dict[str, tuple[str, str]]:
    """By the name of a table that a migration fills: the application, and the name under which it declares the table before."""
    from gateleg.model import spec_of

    return {
        spec_of(move.new).table.name: (application, spec_of(move.old).table.name)
        for application, migrations in migrations_of(applications).items()
        for migration in migrations
        for move in migration.moves
        if spec_of(move.new).table is not spec_of(move.old).table
    }


def _way_out(name: str, deployed: str, migrated: tuple[str, str] | None) -> str:
    """What to do about a table that is deployed with another key."""
    if migrated is None:
        return (
            f"No migration moves the items of {deployed}: keep it for the program that wrote it, and name a new table with "
            f"`{name} = ...` in [table_names] of gateleg.toml; `gateleg tables plan` shows the difference."
        )
    application, before = migrated
    return (
        f"A migration of {application} moves the items of {deployed}: in [table_names] of gateleg.toml, set `{before} = "
        f'"{deployed}"` and `{name} = ...` to a new name, then `gateleg migrate plan {application}` shows its steps.'
    )


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
