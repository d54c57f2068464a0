"""`/migrations/{application}/{number}/{move}/{stage}`: one stage of a move: phases, passes, failed items, and a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.migrate import Phase
from gateleg.migrate.moves.passes import describe_progress
from gateleg.web.console.cells import Badge, Column, Row, ago_cell, bar_cell, chip, chip_cell, mono_cell
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import Crumb, View, current_view, frame
from gateleg.web.console.lists import live_list, show_when_loaded
from gateleg.web.console.live import LiveIndicator, RedrawCache, follow
from gateleg.web.console.markup import ago, card, section, tag
from gateleg.web.console.migrations.actions import MigrationButtons
from gateleg.web.console.migrations.labels import PAUSED, TASKS, address_of, covered, fraction, not_begun, phase_list
from gateleg.web.console.migrations.migration_page import CRUMBS, missing, operator
from gateleg.web.console.migrations.topics import dry_run, errors_topic, find_migration, find_stage, migration_topic
from gateleg.web.console.widgets import Grid, json_block

if TYPE_CHECKING:
    from gateleg.host.live import Topic
    from gateleg.migrate import KeyMove, Migration, MoveStage
    from gateleg.migrate.moves.tables import ItemError
    from gateleg.store import Page
    from gateleg.web.console.migrations.topics import MigrationState

_PASSES = (Column("task", "Pass"), Column("done", "Done"), Column("progress", "Progress", wraps=True))
_ERRORS = (
    Column("key", "Item", wraps=True),
    Column("side", "Side"),
    Column("reason", "Reason"),
    Column("why", "Why", wraps=True),
    Column("at", "Noted"),
)
_REASONS = {
    "orphan": Badge("warning", "Orphan", "link_off"),
    "inconvertible": Badge("failed", "Cannot be converted", "error"),
    "missing": Badge("failed", "No copy", "remove_circle"),
    "surplus": Badge("failed", "No original", "add_circle"),
    "differs": Badge("failed", "Differs", "difference"),
}


async def stage(application: str, number: int, move: str, stage: str, cursor: str | None = None) -> None:
    """The page."""
    console = current_view()
    one = find_migration(console.host, application, number)
    place = None if one is None else find_stage(one, move, stage)
    topic = migration_topic(console.host, application, number)
    current = await console.host.events.now(topic)
    if one is None or place is None or current is None:
        missing(f"{application} has no migration {number} with the stage {stage} of {move}.")
        return
    crumbs = [*CRUMBS, Crumb(str(one), address_of(application, number))]
    with frame(title=f"{move}, {stage}", section="migrations", crumbs=crumbs, wide=True, titled=False) as view:
        page = _Page(view, application, one, place, current)
        follow(view.live, topic, page.show, page.pulse, known=current)
        await _failed_items(view, address_of(application, number, move, stage), place, cursor)
        _samples(view, place)


def report_of(current: MigrationState, move: KeyMove, which: MoveStage) -> dict[str, Any]:
    """The report of one stage."""
    found = (one for one in current.status.stages if (one["move"], one["stage"]) == (move.name, which.name))
    return next(found, not_begun(move.name, which.name))


class _Page:
    """One open page of a stage."""

    def __init__(self, view: View, application: str, one: Migration, place: tuple[KeyMove, MoveStage], current: MigrationState) -> None:
        self._move, self._stage = place
        self._parts = RedrawCache()
        alone = len(self._move.stages) == 1
        self._buttons = MigrationButtons(view, application, one, None if alone else self._stage.name)
        with tag("header", classes="head"):
            with tag("div", classes="titles"):
                self._titles = tag("div", classes="line gap-2")
                words = f"{self._move.old.__name__} becomes {self._move.new.__name__}; {covered(self._stage, alone=alone)}"
                tag("p", words, "meta")
            with tag("div", classes="deeds"):
                self.pulse = LiveIndicator()
                self._actions = tag("div", classes="deeds")
        with tag("div", classes="halves"):
            with card("roomy", label="Phases"):
                tag("h2", "Phases")
                self._phases = tag("div", classes="stack gap-1")
            with tag("div", classes="stack gap-2"):
                with card("roomy", label="Last verification"):
                    tag("h2", "Last verification")
                    self._verification = tag("div", classes="stack gap-1")
                with card("roomy", label="Clients"):
                    tag("h2", "Clients")
                    self._clients = tag("div", classes="stack gap-1")
        with section("Passes over the tables"), tag("div", classes="card tight"):
            self._passes = Grid("Passes", _PASSES)
            self._nothing = empty(
                "clock", "No passes yet", "Backfill, verification and clean-up read a table; their progress is shown here."
            )
        self.show(current)

    def show(self, current: MigrationState | None) -> None:
        """Show the stage as it is now."""
        if current is None:
            return
        one = report_of(current, self._move, self._stage)
        phase = Phase(one["phase"])
        draw = self._parts.draw
        draw(self._titles, (phase, one["paused"]), lambda: self._draw_titles(phase, paused=one["paused"]))
        groups = [group for group in current.groups if group.name == self._stage.name]
        draw(self._actions, self._buttons.key(current, groups), lambda: self._buttons.draw(current, groups))
        draw(self._phases, phase, lambda: phase_list(phase))
        draw(self._verification, one["verification"], lambda: _draw_verification(one["verification"]))
        used = one.get("old_used_seconds_ago")
        draw(self._clients, (one.get("processes"), used), lambda: _draw_clients(one.get("processes", 0), used, one))
        self._passes.show([_pass_row(task, progress) for task, progress in one["passes"].items()])
        self._passes.set_visibility(bool(one["passes"]))
        self._nothing.set_visibility(not one["passes"])

    def _draw_titles(self, phase: Phase, *, paused: bool) -> None:
        tag("h1", f"{self._move.name}, {self._stage.name}")
        chip(PAUSED if paused else Badge("done" if phase is Phase.CLEAN_UP else "running", str(phase), "moving"), large=True)


def _pass_row(task: str, progress: dict[str, Any]) -> Row:
    part = fraction(progress)
    bar = bar_cell(part, "done" if progress["done"] else "running", f"{part:.0%}")
    return Row(task, {"task": TASKS.get(task, task), "done": bar, "progress": describe_progress(progress)})


def _draw_verification(found: dict[str, Any] | None) -> None:
    if found is None:
        tag("p", "Not compared yet.", "meta")
        return
    chip(Badge("done", "Both sides match", "check_circle") if found["holds"] else Badge("failed", "The sides differ", "error"))
    with tag("dl", classes="facts"):
        for name, key in (("Old items", "old"), ("New items", "new"), ("Compared one by one", "compared"), ("Wrong", "wrong")):
            tag("dt", name)
            tag("dd", f"{found[key]:,}", "num")


def _draw_clients(processes: int, used: float | None, one: dict[str, Any]) -> None:
    with tag("dl", classes="facts"):
        tag("dt", "Processes that know of the move")
        tag("dd", f"{processes:,}", "num")
        tag("dt", "Old entity last used")
        tag("dd", "not recently" if used is None else f"{used:,.0f} s ago", "num")
        if one.get("changed_at") is not None:
            tag("dt", "Phase since")
            with tag("dd"), tag("span", classes="line gap-1"):
                ago(one["changed_at"])
                operator(one["changed_by"])


async def _failed_items(view: View, path: str, place: tuple[KeyMove, MoveStage], cursor: str | None) -> None:
    topic = errors_topic(view.host, *place, cursor)
    with section("Failed items") as box:
        box.props["id"] = "failed-items"
        await show_when_loaded(view.live.now(topic), lambda first: _errors(view, topic, first, path, cursor), rows=3)


def error_row(error: ItemError) -> Row:
    """An item that could not be moved, or that differs."""
    badge = _REASONS.get(error.reason) or Badge("failed", error.reason.capitalize(), "error")
    cells = {"key": mono_cell(error.item_key), "side": error.side, "reason": chip_cell(badge), "why": error.why, "at": ago_cell(error.at)}
    return Row(f"{error.side} {error.digest}", cells)


def _errors(view: View, topic: Topic[Page[ItemError]], first: Page[ItemError], path: str, cursor: str | None) -> None:
    def nothing() -> None:
        sentence = "Orphans, items that cannot be converted, and those that differ from their copies are listed here."
        empty("check", "No failed items", sentence)

    live_list(view, topic, first, label="Failed items", columns=_ERRORS, row=error_row, nothing=nothing, path=path, cursor=cursor)


def _samples(view: View, place: tuple[KeyMove, MoveStage]) -> None:
    """A dry run, which reads the old table on request."""
    with section("Dry run"), card("roomy", label="Dry run") as box:
        tag("p", "Sample items and their conversions. Nothing is written.", "meta")
        with tag("div") as before:
            button("Show samples", lambda: fill(), icon="preview")

    async def fill() -> None:
        before.delete()
        with box:
            await show_when_loaded(dry_run(view.host, *place), _pairs, saying="Reading the old table")


def _pairs(found: list[dict[str, Any]]) -> None:
    if not found:
        empty("tray", "No old items", "This stage has no old items left, or none yet.")
    for number, one in enumerate(found, 1):
        with tag("div", classes="pair"):
            with tag("div"):
                tag("h3", "Before")
                json_block(one["before"], f"Item {number} before", lines=True)
            with tag("div"):
                tag("h3", "After")
                if "error" in one:
                    with tag("div", classes="note failed"):
                        tag("span", one["error"])
                elif one["after"] is None:
                    tag("p", "This move does not change the item.", "meta")
                else:
                    json_block(one["after"], f"Item {number} after", lines=True)


__all__ = ["stage"]
