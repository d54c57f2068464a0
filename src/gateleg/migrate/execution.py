"""Apply a plan: one step at a time, each awaited and followed by a new plan, so that it can be interrupted and resumed anywhere.

What keeps a migration from being applied: every table that it will touch is checked before anything is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from gateleg.migrate.consistency import tables_to_read
from gateleg.migrate.diff import plan_table
from gateleg.migrate.errors import MigrationRefused, Unsettled
from gateleg.migrate.migrations import stages_of
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.declaration import Phase
from gateleg.migrate.moves.tables import migrations_table
from gateleg.migrate.shapes import TableSettings, declared_shape, inspect_table, offered
from gateleg.model import spec_of
from gateleg.store import Refused, TableBusy, TableMissing, TimedOut
from gateleg.store.flow import Pause, Request
from gateleg.store.locks import locks
from gateleg.store.operations.tables import describe, key_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.migrate.migrations import Action, Migration, Plan, Step
    from gateleg.model import Table
    from gateleg.store import Store
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["counted_tables", "refuse_problems", "table_problems"]


#: interval for polling a change in progress
_POLL_SECONDS = 2.0
#: enough for an index of a very large table, which can take hours
_MAX_POLLS = 21_600


#: actions that may require another one first: an index or stream that is in the way
_REQUIRES_FIRST: dict[Action, Action] = {"create-index": "delete-index", "change-stream": "change-stream"}


class Watcher(Protocol):
    """Observes the application of a plan, and confirms steps that lose data or an index."""

    def agree(self, step: Step) -> bool:
        """Whether to take a step that loses something."""
        ...

    def begin(self, step: Step) -> None:
        """Called before a step."""
        ...

    def waiting(self, text: str) -> None:
        """Called while a change is in progress."""
        ...

    def end(self, step: Step) -> None:
        """Called after a step."""
        ...

    def kept(self, name: str, backup: str | None) -> None:
        """Called after the backup of a table that is about to be deleted; `backup` is None if the service offers none."""
        ...


@dataclass
class Outcome:
    """The result of applying a plan."""

    done: list[Step] = field(default_factory=list)
    #: steps that were not confirmed
    declined: list[Step] = field(default_factory=list)
    #: steps that the service does not support
    unknown: list[Step] = field(default_factory=list)
    #: the remaining plan
    left: Plan | None = None


def plan_of(store: Store, table: Table, settings: TableSettings, *, replace: bool = False) -> Plan:
    """Compare a declared table with the deployed one."""
    wanted = declared_shape(table, name=store.setup.name_of(table))
    return plan_table(wanted, store.drive(inspect_table(wanted.name, settings)), settings, replace=replace)


def apply(store: Store, table: Table, settings: TableSettings, watcher: Watcher, *, replace: bool = False) -> Outcome:
    """Take steps until the deployed table matches its declaration, or only declined steps are left."""
    outcome = Outcome()
    store.drive(until_settled(store.setup.name_of(table), watcher.waiting))
    while True:
        plan = plan_of(store, table, settings, replace=replace)
        step = _next(plan, outcome, watcher)
        if step is None:
            outcome.left = plan
            return outcome
        watcher.begin(step)
        try:
            taken = store.drive(carry_out(step, store.setup.now().strftime("%Y%m%dT%H%M%SZ"), watcher))
        except (Refused, TableBusy, TableMissing):
            # Another process may have applied the same declaration first.
            store.drive(until_settled(step.table, watcher.waiting))
            if step in plan_of(store, table, settings, replace=replace).steps:
                raise
            watcher.end(step)
            continue
        if taken:
            watcher.end(step)
            outcome.done.append(step)
        else:
            outcome.unknown.append(step)


def _next(plan: Plan, outcome: Outcome, watcher: Watcher) -> Step | None:
    """The first step that may be taken. Steps that require a declined one are skipped."""
    if plan.rebuild and outcome.declined:
        return None
    for step in plan.steps:
        if step in outcome.done:
            raise Unsettled(f"{step.table}: the step “{step.title}” was done and is needed again.")
        if step in outcome.declined or step in outcome.unknown:
            continue
        if any(other.action == _REQUIRES_FIRST.get(step.action) for other in outcome.declined):
            continue
        if not step.loses or watcher.agree(step):
            return step
        outcome.declined.append(step)
        return _next(plan, outcome, watcher)
    return None


def carry_out(step: Step, moment: str, watcher: Watcher) -> Flow[bool]:
    """Send a step's request and wait until it has taken effect; False if the service does not support it.

    A table is backed up before it is deleted.
    """
    if step.action == "delete-table":
        watcher.kept(step.table, (yield from create_backup(step.table, f"{step.table[:200]}-before-{moment}")))
    if (yield from offered(step.operation, step.request)) is None:
        return False
    if step.action == "delete-table":
        yield from _until_gone(step.table)
    elif step.action == "change-ttl":
        yield from _until_ttl(step.table, watcher.waiting)
    else:
        yield from until_settled(step.table, watcher.waiting)
    return True


def create_backup(table: str, name: str) -> Flow[str | None]:
    """Create a backup of a table and wait until it is available; returns its ARN, or None if the service offers no backups."""
    response = yield from offered("CreateBackup", {"TableName": table, "BackupName": name})
    if response is None:
        return None
    arn: str = response["BackupDetails"]["BackupArn"]
    for _ in range(_MAX_POLLS):
        backup = yield Request("DescribeBackup", {"BackupArn": arn}, f"{table} backup")
        if backup["BackupDescription"]["BackupDetails"]["BackupStatus"] == "AVAILABLE":
            return arn
        yield Pause(_POLL_SECONDS)
    raise TimedOut(f"The backup of {table} is still not available.", fix="Nothing was deleted. Check the backup, and apply again.")


def until_settled(name: str, waiting: Callable[[str], None]) -> Flow[None]:
    """Wait until no change of a table or its indexes is in progress; returns at once for a missing table."""
    for _ in range(_MAX_POLLS):
        table = yield from describe(name)
        if table is None:
            return
        indexes = table.get("GlobalSecondaryIndexes", ())
        busy = [f"{index['IndexName']} is {_lower(index['IndexStatus'])}" for index in indexes if _busy(index.get("IndexStatus"))]
        if _busy(table["TableStatus"]):
            busy.append(f"{name} is {_lower(table['TableStatus'])}")
        if not busy:
            return
        waiting(busy[0])
        yield Pause(_POLL_SECONDS)
    raise TimedOut(f"The table {name} is still being changed.", fix="Apply again later; it continues where it stopped.")


def _busy(status: str | None) -> bool:
    return status not in (None, "ACTIVE", "ARCHIVED", "INACCESSIBLE_ENCRYPTION_CREDENTIALS")


def _lower(status: str) -> str:
    return status.lower().replace("_", " ")


def _until_gone(name: str) -> Flow[None]:
    for _ in range(_MAX_POLLS):
        if (yield from describe(name)) is None:
            return
        yield Pause(_POLL_SECONDS)
    raise TimedOut(f"The table {name} still exists.", fix="Apply again later; it continues where it stopped.")


def _until_ttl(name: str, waiting: Callable[[str], None]) -> Flow[None]:
    for _ in range(_MAX_POLLS):
        response = yield Request("DescribeTimeToLive", {"TableName": name}, "tables ttl")
        status = response["TimeToLiveDescription"].get("TimeToLiveStatus", "DISABLED")
        if not status.endswith("ING"):
            return
        waiting(f"expiry of {name} is {_lower(status)}")
        yield Pause(_POLL_SECONDS)
    raise TimedOut(f"The expiry of {name} is still being changed.", fix="Apply again later; it continues where it stopped.")


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
