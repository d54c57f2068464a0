"""The state of an application's migrations, for the command line and the console. Read-only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.migrate.ledger import read_lock, read_records
from gateleg.migrate.moves import steps
from gateleg.migrate.moves.phase_views import read_states
from gateleg.migrate.moves.tables import MoveState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.migrate.migrations import Migration
    from gateleg.migrate.moves.declaration import KeyMove, MoveStage
    from gateleg.migrate.moves.tables import ItemError, MigrationRecord
    from gateleg.store.flow import Flow
    from gateleg.store.locks import Lock
    from gateleg.store.setup import Setup

#: states without work in progress
_FINISHED = frozenset({"applied", "rolled-back"})

__all__ = ["MigrationStatus", "error_summary", "only_in_data", "read_statuses", "stage_report"]


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
