"""`/migrations/{application}/{number}`: one migration, with its stages, its last job, its parts and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import context

from gateleg.web.console.cells import Cell, Column, Row, ago_cell, badge_of, chip, chip_cell, link_cell, meta_cell
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import Crumb, View, current_view, frame
from gateleg.web.console.lists import live_list, show_when_loaded
from gateleg.web.console.live import LiveIndicator, RedrawCache, follow
from gateleg.web.console.markup import ago, section, tag
from gateleg.web.console.migrations.actions import MigrationButtons
from gateleg.web.console.migrations.labels import (
    MEANS,
    PAUSED,
    address_of,
    operator_cell,
    operator_of,
    parts_of,
    phase_line,
    progress_cell,
    state_of,
    title_of,
    wrong_text,
)
from gateleg.web.console.migrations.topics import MigrationState, events_topic, find_migration, migration_topic
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from gateleg.host.live import Topic
    from gateleg.jobs import Job
    from gateleg.migrate import Migration
    from gateleg.migrate.moves.tables import LedgerEntry
    from gateleg.store import Page
    from gateleg.web.console.migrations.labels import StageGroup

CRUMBS = (Crumb("Migrations", "/migrations"),)
_MOVES = (
    Column("move", "Move"),
    Column("items", "Items"),
    Column("phase", "Phase"),
    Column("progress", "Progress", wraps=True),
    Column("verified", "Last verification", wraps=True),
    Column("wrong", "Failed items", right=True),
)
_EVENTS = (
    Column("action", "What"),
    Column("result", "Result", wraps=True),
    Column("details", "Details", wraps=True, desk=True),
    Column("at", "When"),
    Column("by", "By", wraps=True),
)


async def migration(application: str, number: int, cursor: str | None = None) -> None:
    """The page."""
    console = current_view()
    topic = migration_topic(console.host, application, number)
    current = await console.host.events.now(topic)
    if current is None:
        missing(f"{application} has no migration {number}.")
        return
    with frame(title=title_of(current.status), section="migrations", crumbs=CRUMBS, wide=True, titled=False) as view:
        page = _Page(view, application, find_migration(view.host, application, number), current)
        follow(view.live, topic, page.show, page.pulse, known=current)
        with section("Events"):
            events, path = events_topic(view.host, application, number, cursor), address_of(application, number)
            await show_when_loaded(view.live.now(events), lambda first: _events(view, events, first, path, cursor), rows=3)


def missing(sentence: str) -> None:
    """Show that there is no such migration or stage."""
    context.client.status_code = 404
    with frame(title="Migration not found", section="migrations", crumbs=CRUMBS, titled=False):
        tag("h1", "No such migration", "sr")
        empty("search", "No such migration", sentence, button="All migrations", href="/migrations")


class _Page:
    """One open page of a migration."""

    def __init__(self, view: View, application: str, one: Migration | None, current: MigrationState) -> None:
        self._view, self._application, self._migration = view, application, one
        self._parts = RedrawCache()
        with tag("header", classes="stack gap-2"):
            with tag("div", classes="head"):
                self._titles = tag("div", classes="titles")
                with tag("div", classes="deeds"):
                    self.pulse = LiveIndicator()
                    self._actions = tag("div", classes="deeds")
            self._notes = tag("div", classes="stack gap-1")
        self._stages = [_StagePart(view, application, one, group, current, len(current.groups)) for group in current.groups] if one else []
        if one is not None and parts_of(one):
            with section("Other parts"), tag("ul", classes="remarks card roomy"):
                for words in parts_of(one):
                    with tag("li"):
                        tag("span", words)
        self.show(current)

    def show(self, current: MigrationState | None) -> None:
        """Show the migration as it is now."""
        if current is None:
            return
        status = current.status
        self._parts.draw(self._titles, (state_of(status), status.changed_at, status.changed_by), lambda: self._draw_titles(current))
        if self._migration is not None:
            deeds = MigrationButtons(self._view, self._application, self._migration)
            self._parts.draw(self._actions, deeds.key(current, current.groups), lambda: deeds.draw(current, current.groups))
        job = current.job
        job_state = None if job is None else (job.job_id, job.status, job.progress)
        self._parts.draw(self._notes, (status.error, status.in_code, current.busy, job_state), lambda: _draw_notes(current))
        for part, group in zip(self._stages, current.groups, strict=False):
            part.show(current, group)

    def _draw_titles(self, current: MigrationState) -> None:
        status = current.status
        with tag("div", classes="line gap-2"):
            tag("h1", title_of(status))
            chip(state_of(status), large=True)
        with tag("div", classes="job-meta"):
            tag("span", next((one.title for one in self._view.host.applications if one.name == self._application), self._application))
            if status.about:
                tag("span", status.about)
            if status.changed_at is not None:
                with tag("span"):
                    tag("span", "changed")
                    ago(status.changed_at)
                    operator(status.changed_by)


def _draw_notes(current: MigrationState) -> None:
    status, job = current.status, current.job
    if not status.in_code:
        with tag("div", classes="note failed"):
            tag(
                "span",
                "It was applied to the data, but is not in the code of this host. Deploy the release that has it, or roll it back "
                "with that release.",
            )
    if status.error:
        with tag("div", classes="note failed" if status.state == "failed" else "note warning", role="alert"):
            tag("span", status.error)
    if job is not None and not job.finished:
        _draw_job(job)


def _draw_job(job: Job) -> None:
    part = None if job.progress is None else job.progress.fraction
    percent = None if part is None else round(part * 100)
    with tag("div", classes="note line gap-2"):
        chip(badge_of(job))
        tag("a", str(job.job_config.get("action", "job")).capitalize(), "link", href=f"/jobs/{job.job_id}")
        with tag("div", classes="progress-line grow"):
            bar = "bar unsure" if part is None else "bar"
            with tag("span", classes=bar, role="progressbar", aria_label="Progress", aria_valuenow=percent):
                tag("span").style(f"width:{percent or 0}%")
            if job.progress is not None:
                tag("span", job.progress.message, "meta")


class _StagePart:
    """The moves of one stage, with their phases."""

    def __init__(self, view: View, application: str, one: Migration, group: StageGroup, current: MigrationState, stages: int) -> None:
        self._place, self._migration, self._alone = (application, one.number), one, stages == 1
        self._entities = {move.name: f"{move.old.__name__} → {move.new.__name__}" for move in one.moves}
        self._buttons = None if self._alone else MigrationButtons(view, application, one, group.name)
        self._parts = RedrawCache()
        with section("Moves" if self._alone else f"Stage {group.name}"):
            with tag("div", classes="line gap-2 spread fill"):
                tag("p", f"Takes {group.covers}.", "meta")
                self._actions = tag("div", classes="line gap-1")
            with tag("div", classes="card roomy"):
                self._line = tag("div", classes="stack gap-2")
            with tag("div", classes="card tight"):
                self._grid = Grid(f"Moves of {group.name}", _MOVES)

    def show(self, current: MigrationState, group: StageGroup) -> None:
        """Show the stage as it is now."""
        self._parts.draw(self._line, (group.phase, group.farthest, group.paused), lambda: _draw_line(group))
        if self._buttons is not None:
            buttons = self._buttons
            self._parts.draw(self._actions, buttons.key(current, [group]), lambda: buttons.draw(current, [group], small=True))
        self._grid.show([self._row(one) for one in group.moves])

    def _row(self, one: dict[str, object]) -> Row:
        report: dict[str, object] = one
        move, stage = str(report["move"]), str(report["stage"])
        paused = [chip_cell(PAUSED)] if report["paused"] else []
        return Row(
            move,
            {
                "move": move,
                "items": self._entities.get(move),
                "phase": [str(report["phase"]), *paused],
                "progress": progress_cell([one]),
                "verified": verified_cell(one),
                "wrong": _wrong(one, address_of(*self._place, move, stage)),
            },
            href=address_of(*self._place, move, stage),
        )


def _wrong(one: dict[str, object], href: str) -> Cell:
    count = wrong_text([one])
    return link_cell(count, f"{href}#failed-items") if count else None


def verified_cell(one: dict[str, object]) -> Cell:
    """The result of the last verification of a stage."""
    found = one["verification"]
    if not isinstance(found, dict):
        return None
    counts = f"{found['old']:,} old and {found['new']:,} new items"
    return [counts, meta_cell("agree" if found["holds"] else f"{found['wrong']:,} wrong" if found["wrong"] else "differ")]


def operator(text: str) -> None:
    """Who acted, with a link to the job."""
    name, job = operator_of(text)
    if name or job:
        tag("span", f"by {name}".strip())
    if job is not None:
        tag("a", "job", "link", href=f"/jobs/{job}")


def _draw_line(group: StageGroup) -> None:
    phase_line(group.phase, group.farthest)
    with tag("p"):
        tag("span", f"{group.phase}: ".capitalize(), "strong")
        tag("span", MEANS[group.phase])
        if group.farthest is not group.phase:
            tag("span", f" Other moves of the stage have reached {group.farthest}.", "meta")


def event_row(entry: LedgerEntry) -> Row:
    """One line of the ledger."""
    details = "; ".join(
        f"{name}: {', '.join(value) if isinstance(value, dict) else value}" for name, value in entry.details.items() if value
    )
    cells = {"action": entry.action, "result": entry.result, "details": meta_cell(details) if details else None}
    return Row(str(entry.entry_id), {**cells, "at": ago_cell(entry.at), "by": operator_cell(entry.by)})


def _events(view: View, topic: Topic[Page[LedgerEntry]], first: Page[LedgerEntry], path: str, cursor: str | None) -> None:
    def nothing() -> None:
        empty("clock", "No history yet", "Actions on this migration are listed here: when, by whom, with what result.")

    live_list(view, topic, first, label="Events", columns=_EVENTS, row=event_row, nothing=nothing, path=path, cursor=cursor)
