"""The ledger: the state of each migration, and a history of what was done to it, when, by whom, with what result.

The state of an application's migrations, for the command line and the console. Read-only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.migrate.errors import CodeOlder
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.control import read_states
from gateleg.migrate.moves.declaration import Phase
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
    from datetime import datetime

    from gateleg.migrate.migrations import Migration
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.tables import ItemError
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["MigrationStatus", "begin_empty", "error_summary", "only_in_data", "read_statuses", "stage_report"]


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


#: states without work in progress
_FINISHED = frozenset({"applied", "rolled-back"})


@dataclass
class MigrationStatus:
    """The state of a migration."""

    number: int
    name: str
    about: str
    #: pending, applying, applied, failed, rolling-back, rolled-back
    state: str
    changed_at: datetime | None = None
    changed_by: str = ""
    error: str | None = None
    paused: bool = False
    #: whether the process that worked on it stopped before the end; the next `apply` or `rollback` continues
    interrupted: bool = False
    #: the process that works on the application's migrations now, and until when nobody else can, should it have been killed
    held_by: str | None = None
    held_until: datetime | None = None
    #: whether this program has the migration; False if the data is newer than the code
    in_code: bool = True
    #: every stage of every move: phase, progress, verification and errors
    stages: list[dict[str, Any]] = field(default_factory=list)


def read_statuses(
    application: str, migrations: Sequence[Migration], setup: Setup, *, number: int | None = None, brief: bool = False
) -> Flow[list[MigrationStatus]]:
    """The state of every migration, or of one, by number, including those that exist only in the data.

    `brief` is for lists that are polled: for finished migrations, it reads only the phases of their stages.
    """
    records = yield from read_records(application, setup)
    lock = yield from read_lock(application, setup)
    found = [_status(one, records.get(one.number), lock) for one in migrations]
    states = {(one.move, one.stage): one for one in (yield from read_states(setup))} if brief and records else {}
    for one, status in zip(migrations, found, strict=True):
        if status.changed_at is None or number not in (None, one.number):
            continue
        for move in one.moves:
            for stage in move.stages:
                if brief and status.state in _FINISHED:
                    found_states = (states.get((key, stage.name)) for key in (move.state_key, move.name))
                    state = next(filter(None, found_states), MoveState(move=move.state_key, stage=stage.name))
                    status.stages.append(_brief(move, state))
                else:
                    status.stages.append((yield from stage_report(move, stage, setup)))
    found += [
        MigrationStatus(record.number, record.name, "", record.state, record.changed_at, record.changed_by, record.error, in_code=False)
        for record in only_in_data(migrations, records.values())
    ]
    return sorted((one for one in found if number in (None, one.number)), key=lambda one: one.number)


def only_in_data(migrations: Sequence[Migration], records: Any) -> list[MigrationRecord]:
    """The migrations that are in the data but not in the code, except those rolled back, which have left nothing there."""
    known = {(one.number, one.name) for one in migrations}
    return [record for record in records if record.state != "rolled-back" and (record.number, record.name) not in known]


def stage_report(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[dict[str, Any]]:
    """The progress of a stage, with the result of its last verification; None before the first."""
    report: dict[str, Any] = yield from steps.stage_status(move, stage, setup)
    found = None
    if "verify-old" in report["passes"]:
        one = yield from steps.verification(move, stage, setup)
        found = {"old": one.old, "new": one.new, "compared": one.compared, "wrong": one.wrong, "holds": one.holds}
    return {**report, "verification": found}


def error_summary(move: KeyMove, error: ItemError) -> dict[str, Any]:
    """An item that could not be moved, as plain values."""
    return {
        "move": move.name,
        "stage": error.stage,
        "side": error.side,
        "key": error.item_key,
        "reason": error.reason,
        "why": error.why,
        "at": error.at,
    }


def _brief(move: KeyMove, state: MoveState) -> dict[str, Any]:
    return {
        "move": move.name,
        "stage": state.stage,
        "phase": str(state.phase),
        "paused": state.paused,
        "verified": state.verified,
        "passes": {},
        "errors": [],
        "verification": None,
    }


def _status(one: Migration, record: MigrationRecord | None, lock: Lock | None) -> MigrationStatus:
    status = MigrationStatus(one.number, one.name, one.about, "pending")
    if record is not None and record.name == one.name:
        status = MigrationStatus(
            one.number, one.name, one.about, record.state, record.changed_at, record.changed_by, record.error, paused=record.paused
        )
        status.interrupted = record.working and lock is None
    if lock is not None and status.state not in _FINISHED:
        status.held_by, status.held_until = lock.holder, lock.until
    return status
