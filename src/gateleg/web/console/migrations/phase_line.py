"""The phases of a move as a line, with the current one marked, and as a list with explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.migrate.moves.phases import PHASES
from gateleg.web.console.markup import tag
from gateleg.web.console.migrations.labels import MEANS

if TYPE_CHECKING:
    from gateleg.migrate import Phase


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
