"""What keeps a migration from being applied: every table that it will touch is checked before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.consistency_scan import tables_to_read
from gateleg.migrate.errors import MigrationRefused
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.phases import Phase
from gateleg.migrate.moves.tables import migrations_table
from gateleg.migrate.pauses import stages_of
from gateleg.model import spec_of
from gateleg.store.locks import locks
from gateleg.store.operations.tables import describe, key_differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.migrate.migrations import Migration
    from gateleg.model import Table
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["counted_tables", "refuse_problems", "table_problems"]


def counted_tables(migration: Migration) -> list[Table]:
    """The new tables of a migration's moves that have counters or are counted: they are recounted at its end."""
    tables = [spec_of(move.new).table for move in migration.moves]
    return list(dict.fromkeys(table for table in tables if any(spec.counted or spec.counters for spec in table.specs)))


def table_problems(migrations: Sequence[Migration], setup: Setup) -> Flow[dict[Migration, list[str]]]:
    """By migration, the tables that do not exist or have another key than declared, each with what to do about it. Writes nothing.

    Tables that an earlier one of the migrations creates count as existing.
    """
    found: dict[Migration, list[str]] = {}
    created: set[Table] = set()
    for migration in migrations:
        problems = yield from _problems(migration, created, setup)
        created |= {*migration.tables, *migration.uses, *(spec_of(move.new).table for move in migration.moves)}
        if problems:
            found[migration] = problems
    return found


def refuse_problems(found: dict[Migration, list[str]]) -> None:
    """Raise `MigrationRefused` with all problems, if there are any."""
    if found:
        listed = "".join(f"\n- {problem}" for problems in found.values() for problem in problems)
        which = ", ".join(map(str, found))
        raise MigrationRefused(f"{which} cannot be applied. Nothing was written.{listed}", fix="")


def _problems(migration: Migration, created: set[Table], setup: Setup) -> Flow[list[str]]:
    sources: dict[Table, Table] = {}
    for move, stage in stages_of(migration, None):
        # After the clean-up, the old table may be gone.
        if (yield from steps.state_of(move, stage, setup)) is not Phase.CLEAN_UP:
            sources[spec_of(move.old).table] = spec_of(move.new).table
    filled = list(dict.fromkeys(spec_of(move.new).table for move in migration.moves))
    rewritten = list(dict.fromkeys(spec_of(entity).table for entity in migration.rewrites))
    problems: list[str] = []
    for before, after in sources.items():
        problems += yield from _source_problems(before, after, setup)
    for table in filled:
        problems += yield from _key_problems(table, setup, _FILLED)
    for table in rewritten:
        if table not in created and table not in migration.tables and (yield from describe(setup.name_of(table))) is None:
            problems.append(f"The table {setup.name_of(table)}, whose items are to be rewritten, does not exist. {_NAMES}")
    others = (*migration.tables, *migration.uses, *rewritten, *tables_to_read(counted_tables(migration)), migrations_table, locks)
    for table in dict.fromkeys(others):
        if table not in filled:
            problems += yield from _key_problems(table, setup, _KEPT)
    return problems


_NAMES = "Check the prefix and [table_names] in gateleg.toml."
_FILLED = "The items move to a new table: give `{table}` a name in [table_names] of gateleg.toml that is still free."
_KEPT = (
    "This migration does not move its items: give `{table}` a name in [table_names] of gateleg.toml that is still free; the table "
    "{name} stays as it is."
)


def _source_problems(before: Table, after: Table, setup: Setup) -> Flow[Iterable[str]]:
    """The problems of a table whose items move."""
    name = setup.name_of(before)
    if name == setup.name_of(after) and before is not after:
        return [f"The tables {before.name} and {after.name} are both called {name}. Give them different names in [table_names]."]
    described = yield from describe(name)
    if described is None:
        missing = f"The table {name}, whose items move to {setup.name_of(after)}, does not exist."
        return [f"{missing} Name the deployed one with `{before.name} = ...` in [table_names], or create it empty if there is none."]
    return [f"{problem} {_NAMES}" for problem in key_differences(before, name, described)]


def _key_problems(table: Table, setup: Setup, fix: str) -> Flow[Iterable[str]]:
    name = setup.name_of(table)
    described = yield from describe(name)
    if described is None:
        return []
    return [f"{problem} {fix.format(table=table.name, name=name)}" for problem in key_differences(table, name, described)]
