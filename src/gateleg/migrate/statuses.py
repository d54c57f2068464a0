"""Where the migrations of an application stand, for the command line and the console. Reads only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.migrate.ledger import read_records
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
    from gateleg.store.setup import Setup

#: states of migrations that nobody works on
_RESTING = frozenset({"applied", "rolled-back"})

__all__ = ["MigrationStatus", "in_data_only", "read_statuses", "shown_error", "stage_report"]


@dataclass
class MigrationStatus:
    """Where a migration stands."""

    number: int
    name: str
    about: str
    #: pending, applying, applied, failed, rolling-back, rolled-back
    state: str
    changed_at: datetime | None = None
    changed_by: str = ""
    error: str | None = None
    paused: bool = False
    #: whether this program has the migration; False when the data is newer than the code
    in_code: bool = True
    #: every stage of every move: phase, progress, verification and errors
    stages: list[dict[str, Any]] = field(default_factory=list)


def read_statuses(
    application: str, migrations: Sequence[Migration], setup: Setup, *, number: int | None = None, brief: bool = False
) -> Flow[list[MigrationStatus]]:
    """Where every migration stands, or the one with a number, by number. Those that only the data has are among them.

    `brief` is for lists that are read again and again: of migrations that nobody works on, only the phases of the stages.
    """
    records = yield from read_records(application, setup)
    found = [_status(one, records.get(one.number)) for one in migrations]
    states = {(one.move, one.stage): one for one in (yield from read_states(setup))} if brief and records else {}
    for one, status in zip(migrations, found, strict=True):
        if status.changed_at is None or number not in (None, one.number):
            continue
        for move in one.moves:
            for stage in move.stages:
                if brief and status.state in _RESTING:
                    found_states = (states.get((key, stage.name)) for key in (move.state_key, move.name))
                    state = next(filter(None, found_states), MoveState(move=move.state_key, stage=stage.name))
                    status.stages.append(_brief(move, state))
                else:
                    status.stages.append((yield from stage_report(move, stage, setup)))
    found += [
        MigrationStatus(record.number, record.name, "", record.state, record.changed_at, record.changed_by, record.error, in_code=False)
        for record in in_data_only(migrations, records.values())
    ]
    return sorted((one for one in found if number in (None, one.number)), key=lambda one: one.number)


def in_data_only(migrations: Sequence[Migration], records: Any) -> list[MigrationRecord]:
    """The migrations that are in the data and not in the code; one that was rolled back has left nothing there."""
    known = {(one.number, one.name) for one in migrations}
    return [record for record in records if record.state != "rolled-back" and (record.number, record.name) not in known]


def stage_report(move: KeyMove, stage: MoveStage, setup: Setup) -> Flow[dict[str, Any]]:
    """How far a stage is, with what its last verification has found; None before the first one."""
    report: dict[str, Any] = yield from steps.stage_status(move, stage, setup)
    found = None
    if "verify-old" in report["passes"]:
        one = yield from steps.verification(move, stage, setup)
        found = {"old": one.old, "new": one.new, "compared": one.compared, "wrong": one.wrong, "holds": one.holds}
    return {**report, "verification": found}


def shown_error(move: KeyMove, error: ItemError) -> dict[str, Any]:
    """An item that could not be moved, in plain values."""
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


def _status(one: Migration, record: MigrationRecord | None) -> MigrationStatus:
    if record is None or record.name != one.name:
        return MigrationStatus(one.number, one.name, one.about, "pending")
    return MigrationStatus(
        one.number, one.name, one.about, record.state, record.changed_at, record.changed_by, record.error, paused=record.paused
    )
