"""The available actions on a migration or one of its stages. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateleg.migrate import Phase
from gateleg.migrate.moves.phases import PHASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.migrate import MigrationStatus
    from gateleg.web.console.migrations.labels import StageGroup

Verb = Literal["apply", "verify", "repeat", "pause", "resume", "rollback"]


@dataclass(frozen=True)
class MigrationAction:
    """A button: its action, and the target phase."""

    verb: Verb
    text: str
    phase: Phase | None = None


def available_actions(status: MigrationStatus, groups: Sequence[StageGroup], *, busy: bool, later: bool) -> list[MigrationAction]:
    """The buttons for a migration, or for some of its stages.

    `busy` means that a job is working on the application's migrations, `later` that a later migration was applied, which must be rolled
    back first.
    """
    if not status.in_code:
        return []
    begun = status.state not in ("pending", "rolled-back") and (not groups or any(group.farthest is not Phase.OFF for group in groups))
    if status.paused or any(group.paused for group in groups):
        return [MigrationAction("resume", "Resume")]
    if busy:
        return [MigrationAction("pause", "Pause")] if begun else []
    found = _forward(status, groups) + _checks(groups)
    if begun and status.state != "applied":
        found.append(MigrationAction("pause", "Pause"))
    if begun and not later:
        found.append(MigrationAction("rollback", "Roll back"))
    return found


def _forward(status: MigrationStatus, groups: Sequence[StageGroup]) -> list[MigrationAction]:
    if not groups:
        return [MigrationAction("apply", "Apply")] if status.state != "applied" else []
    least = min((group.phase for group in groups), key=PHASES.index)
    if least is Phase.CLEAN_UP:
        # Its last pass may have been interrupted.
        return [MigrationAction("apply", "Apply again", least)] if status.state in ("applying", "failed") else []
    following = PHASES[least.order + 1]
    found = [MigrationAction("apply", f"Apply {following}", following)]
    if least.order < Phase.DUAL_READ.order:
        found.append(MigrationAction("apply", "Apply all up to cut-over", Phase.CUT_OVER))
    return found


def _checks(groups: Sequence[StageGroup]) -> list[MigrationAction]:
    compared = [Phase.VERIFY.order <= group.phase.order and group.farthest.order < Phase.CLEAN_UP.order for group in groups]
    found = [MigrationAction("verify", "Verify")] if groups and all(compared) else []
    return found + ([MigrationAction("repeat", "Repeat failed items")] if any(group.failed for group in groups) else [])


def earlier(groups: Sequence[StageGroup]) -> list[Phase]:
    """The phases that stages can be rolled back to, the last one first."""
    if not groups:
        return [Phase.OFF]
    farthest = max((group.farthest for group in groups), key=PHASES.index)
    return [phase for phase in reversed(PHASES) if phase.order < farthest.order] or [Phase.OFF]
