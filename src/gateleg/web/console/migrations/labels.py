"""Labels of the pages about migrations: states, phases, stages and progress. Pure.

The phases of a move as a line, with the current one marked, and as a list with explanations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import ui

from gateleg.migrate import Phase
from gateleg.migrate.moves.declaration import PHASES
from gateleg.migrate.moves.passes import describe_progress
from gateleg.web.console.cells import Badge, bar_cell, link_cell, meta_cell
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.migrate import Migration, MigrationStatus, MoveStage
    from gateleg.web.console.cells import Cell, Part


STATES: Mapping[str, Badge] = {
    "pending": Badge("waiting", "Pending", "schedule"),
    "applying": Badge("running", "In progress", "moving"),
    "applied": Badge("done", "Applied", "check_circle"),
    "failed": Badge("failed", "Failed", "error"),
    "rolling-back": Badge("warning", "Rolling back", "undo"),
    "rolled-back": Badge("neutral", "Rolled back", "undo"),
}
PAUSED = Badge("warning", "Paused", "pause_circle")
UNKNOWN = Badge("failed", "Not in this release", "help")

#: What happens in each phase.
MEANS: Mapping[Phase, str] = {
    Phase.OFF: "Only old items are written. The new table may not exist yet.",
    Phase.DUAL_WRITE: "Every write goes to both items, in one transaction. Clients read old items.",
    Phase.BACKFILL: "The stored items are copied to the new side. Clients read old items.",
    Phase.VERIFY: "Both sides are compared: counts, checksums, and item by item. Clients read old items.",
    Phase.DUAL_READ: "Clients of the new entity read new items; a share of their reads compares both sides.",
    Phase.CUT_OVER: "The new items are authoritative. The old ones are still written, so that you can roll back.",
    Phase.CLOSING: "Clients of the old entity are refused. The old items are still written.",
    Phase.CLEAN_UP: "Only new items are written, and the old ones are removed.",
}
TASKS: Mapping[str, str] = {
    "backfill": "Copying old items",
    "verify-old": "Comparing old items with their copies",
    "verify-new": "Looking for copies without an old item",
    "restore": "Restoring old items from the new ones",
    "remove-old": "Removing old items",
    "remove-new": "Removing copies",
}
_JOB = re.compile(r"(?:(?P<name>.+), )?job (?P<job>[0-9a-f-]{36})")
#: The maximum number of partitions named for a stage.
_NAMED = 4


@dataclass(frozen=True)
class StageGroup:
    """The stages with one name: those of all moves of a migration, which advance together."""

    name: str
    #: its partitions, in words
    covers: str
    #: of each move: `gateleg.migrate.ledger.stage_report`
    moves: tuple[dict[str, Any], ...] = field(default=(), hash=False)

    @property
    def phase(self) -> Phase:
        """The phase that all its moves have reached."""
        return min((Phase(one["phase"]) for one in self.moves), key=PHASES.index)

    @property
    def farthest(self) -> Phase:
        """The phase that one of its moves has reached."""
        return max((Phase(one["phase"]) for one in self.moves), key=PHASES.index)

    @property
    def paused(self) -> bool:
        """Whether one of its moves is paused."""
        return any(one["paused"] for one in self.moves)

    @property
    def failed(self) -> bool:
        """Whether items could not be moved or differ."""
        return any(one["errors"] for one in self.moves)


def state_of(status: MigrationStatus) -> Badge:
    """The badge of a migration's state."""
    if not status.in_code:
        return UNKNOWN
    open_state = status.state not in ("applied", "rolled-back", "pending")
    paused = status.paused or any(one["paused"] for one in status.stages)
    return PAUSED if paused and open_state else STATES[status.state]


def title_of(status: MigrationStatus) -> str:
    """The title of a migration."""
    return f"{status.number:04d} {status.name}"


def address_of(application: str, number: int, move: str | None = None, stage: str | None = None) -> str:
    """The page of a migration, or of a stage of one of its moves."""
    below = "" if move is None else f"/{quote(move)}/{quote(stage or 'all')}"
    return f"/migrations/{quote(application)}/{number}{below}"


def grouped(status: MigrationStatus, migration: Migration | None) -> list[StageGroup]:
    """The stages of a migration by name, in order. Before it starts, all are in the phase off."""
    if migration is None:
        return []
    reports = {(one["move"], one["stage"]): one for one in status.stages}
    found: dict[str, StageGroup] = {}
    for move in migration.moves:
        for stage in move.stages:
            report = reports.get((move.name, stage.name)) or not_begun(move.name, stage.name)
            known = found.get(stage.name) or StageGroup(stage.name, covered(stage, alone=len(move.stages) == 1))
            found[stage.name] = StageGroup(known.name, known.covers, (*known.moves, report))
    return list(found.values())


def not_begun(move: str, stage: str) -> dict[str, Any]:
    """The report of a stage that has not started."""
    nothing: dict[str, Any] = {"phase": "off", "paused": False, "verified": None, "passes": {}, "errors": [], "verification": None}
    return {"move": move, "stage": stage, **nothing}


def covered(stage: MoveStage, *, alone: bool) -> str:
    """The partitions of a stage, in words."""
    if stage.percent is not None:
        return f"{stage.percent:g}% of the partitions"
    if not stage.partitions:
        return "all partitions" if alone else "all other partitions"
    names = sorted(stage.partitions)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ("the partition " if len(names) == 1 else "the partitions ") + ", ".join(names[:_NAMED]) + more


def phases_text(status: MigrationStatus) -> str:
    """The phases of a migration's stages in a few words: one, or the first and the last."""
    found = sorted({Phase(one["phase"]) for one in status.stages}, key=PHASES.index)
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def current_pass(stages: Iterable[dict[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """The current pass over a table, with its task; None between passes."""
    for one in stages:
        for task, progress in one["passes"].items():
            if not progress["done"]:
                return task, progress
    return None


def fraction(progress: dict[str, Any]) -> float:
    """The completed fraction of a pass, from 0 to 1."""
    seen, total = progress["seen"], progress["total"]
    part: float = seen / total if total else progress["segments_done"] / max(1, progress["segments"])
    return 1.0 if progress["done"] else min(1.0, part)


def progress_cell(stages: Iterable[dict[str, Any]]) -> Cell:
    """The current pass as a bar, with its rate and remaining time."""
    found = current_pass(stages)
    if found is None:
        return None
    task, progress = found
    return [bar_cell(fraction(progress)), meta_cell(f"{TASKS.get(task, task)}: {describe_progress(progress)}")]


def operator_of(text: str) -> tuple[str, str | None]:
    """The actor of a ledger entry: the name, and the job."""
    found = _JOB.fullmatch(text)
    return (text, None) if found is None else (found["name"] or "", found["job"])


def operator_cell(text: str) -> Cell:
    """The actor in a cell, with a link to the job."""
    name, job = operator_of(text)
    link: list[Part] = [] if job is None else [link_cell("job", f"/jobs/{job}")]
    return [*([name] if name else []), *link] or None


def wrong_text(stages: Iterable[dict[str, Any]], most: int = 20) -> str:
    """The number of items that could not be moved or differ; a report names the first twenty of a stage."""
    stages = list(stages)
    count = sum(len(one["errors"]) for one in stages)
    more = any(len(one["errors"]) >= most for one in stages)
    return "" if not count else f"{count} or more" if more else str(count)


def parts_of(migration: Migration) -> list[str]:
    """The parts of a migration besides its moves, in words."""
    found = [f"Brings the table {table.name} to its declaration." for table in migration.tables]
    found += [f"Rewrites the stored items of {entity.__name__}." for entity in migration.rewrites]
    return found + (["Runs code of its own."] if migration.apply is not None else [])


def phase_line(present: Phase, farthest: Phase | None = None) -> None:
    """The phases in a row. `farthest` is the phase that some of the moves have reached."""
    with tag("ol", classes="phases", aria_label="Phases"):
        for phase in PHASES:
            _step(phase, present, farthest)


def phase_list(present: Phase) -> None:
    """The phases below each other, with explanations."""
    with tag("ol", classes="phases detailed", aria_label="Phases"):
        for phase in PHASES:
            _step(phase, present, None, means=MEANS[phase])


def _step(phase: Phase, present: Phase, farthest: Phase | None, means: str = "") -> None:
    at, done = phase is present, phase.order < present.order
    ahead = farthest is not None and present.order < phase.order <= farthest.order
    classes = "at" if at else "done" if done else "ahead" if ahead else ""
    with tag("li", classes=classes, aria_current="step" if at else None):
        with tag("span", classes="dot"):
            ui.icon("check" if done else "circle" if at else "").props('aria-hidden="true"')
        tag("span", str(phase), "word")
        if done:
            tag("span", "done", "sr")
        if means:
            tag("span", means, "meta")
