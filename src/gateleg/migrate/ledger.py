"""The ledger: the state of each migration, and a history of what was done to it, when, by whom, with what result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import CodeOlder
from gateleg.migrate.moves.phases import Phase
from gateleg.migrate.moves.tables import LedgerEntry, MigrationRecord, MoveState, migrations_table
from gateleg.model import spec_of
from gateleg.store import AlreadyExists
from gateleg.store.flow import Request
from gateleg.store.locks import Lock, locks
from gateleg.store.operations.reads import Find
from gateleg.store.operations.tables import describe, ensure_tables
from gateleg.store.operations.write_operation import Patch, Put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate.migrations import Migration
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["begin_empty"]


def read_records(application: str, setup: Setup) -> Flow[dict[int, MigrationRecord]]:
    """The records of an application's migrations by number; empty before the first one."""
    if (yield from describe(setup.name_of(migrations_table))) is None:
        return {}
    (payload,) = MigrationRecord.of_application(application=application).requests(
        table_name=setup.name_of(migrations_table), consistent=True
    )
    found: dict[int, MigrationRecord] = {}
    while True:
        response = yield Request("Query", payload, "migrations")
        records = [spec_of(MigrationRecord).decode(item) for item in response["Items"]]
        found |= {record.number: record for record in records}
        if "LastEvaluatedKey" not in response:
            return found
        payload = payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}


def note(
    application: str,
    migration: Migration,
    state: Any,
    action: str,
    by: str,
    setup: Setup,
    *,
    error: str | None = None,
    working: bool = False,
    **details: Any,
) -> Flow[None]:
    """Record the state of a migration, and what was done to it; `working` at the beginning of work."""
    now = setup.now()
    changes = (
        MigrationRecord.name.set(migration.name),
        MigrationRecord.state.set(state),
        MigrationRecord.changed_at.set(now),
        MigrationRecord.changed_by.set(by),
        MigrationRecord.error.set(error),
        MigrationRecord.working.set(working),
    )
    # A patch, because somebody may pause the migration at the same time.
    yield from Patch(MigrationRecord.key(application=application, number=migration.number), changes, "upsert", returning="none").flow(setup)
    yield from log(application, migration, action, by, setup, result=error or str(state), **details)


def read_lock(application: str, setup: Setup) -> Flow[Lock | None]:
    """The lock of a process that works on an application's migrations now; None if nobody holds it."""
    if (yield from describe(setup.name_of(locks))) is None:
        return None
    lock: Lock | None = yield from Find(Lock.key(name=lock_name(application)), consistent=True).flow(setup)
    return lock if lock is not None and lock.until > setup.now() else None


def lock_name(application: str) -> str:
    """The name of the lock of an application's migrations."""
    return f"migrate {application}"


def log(application: str, migration: Migration, action: str, by: str, setup: Setup, *, result: str = "done", **details: Any) -> Flow[None]:
    """Record what was done to a migration."""
    entry = LedgerEntry(
        application=application, number=migration.number, at=setup.now(), action=action, by=by, result=result[:2000], details=details
    )
    yield from Put(entry, returning="none").flow(setup)


def check_code(application: str, migrations: Sequence[Migration], setup: Setup) -> Flow[dict[int, MigrationRecord]]:
    """The records of the migrations. Raises `CodeOlder` if one was applied that this program does not have."""
    records = yield from read_records(application, setup)
    known = {migration.number: migration.name for migration in migrations}
    for number, record in records.items():
        if record.state != "rolled-back" and known.get(number) != record.name:
            raise CodeOlder(
                f"{application} has the migration {number:04d} {record.name} in its data ({record.state}), but not in its code."
            )
    return records


def begin_empty(application: str, migrations: Sequence[Migration], by: str, setup: Setup) -> Flow[None]:
    """Note migrations as applied that have no old items: in a new store, moves begin in the phase that is deployed.

    Those are moves from tables that do not exist, and rewrites of tables that are yet to be made, unless `apply=` runs code besides. Only
    from the first migration on that the ledger does not have; one that has something to move ends it.
    """
    records = yield from check_code(application, migrations, setup)
    for migration in migrations:
        if migration.number in records:
            continue
        for move in migration.moves:
            if (yield from describe(setup.name_of(spec_of(move.old).table))) is not None:
                return
        phase = Phase(migration.deployed)
        # While both items are written, the old table must exist.
        old = dict.fromkeys(spec_of(move.old).table for move in migration.moves if phase.writes_both)
        yield from ensure_tables(migrations_table, *old).flow(setup)
        for move in migration.moves:
            for stage in move.stages:
                yield from _begin_in(phase, move, stage, by, setup)
        if migration.moves or (yield from _rewrites_nothing(migration, setup)):
            yield from note(application, migration, "applied", "apply", by, setup, reason="there were no old items")


def _rewrites_nothing(migration: Migration, setup: Setup) -> Flow[bool]:
    """Whether a migration only rewrites items of tables that do not exist."""
    if migration.apply is not None or not migration.rewrites:
        return False
    for table in {*migration.tables, *(spec_of(entity).table for entity in migration.rewrites)}:
        if (yield from describe(setup.name_of(table))) is not None:
            return False
    return True


def _begin_in(phase: Phase, move: KeyMove, stage: MoveStage, by: str, setup: Setup) -> Flow[None]:
    """Mark a stage without items to move. No wait is needed: without an old table, nobody has written old items."""
    state = MoveState(move=move.state_key, stage=stage.name, phase=phase, epoch=1, changed_at=setup.now(), changed_by=by)
    try:
        yield from Put(state, create=True, returning="none").flow(setup)
    except AlreadyExists:
        # Another process of the same host was first.
        return
