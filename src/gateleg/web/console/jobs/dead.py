"""Dead letters: the jobs that have failed for good, gathered by type and error, and letting them begin again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import Job, JobStatus
from gateleg.web.console.cells import Column, Row, ago_cell, deed_cell, id_cell, meta_cell
from gateleg.web.console.confirm import confirm
from gateleg.web.console.deeds import carry_out
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.grid import Grid
from gateleg.web.console.jobs.deeds import Choice, bulk_bar
from gateleg.web.console.jobs.filters import Filters
from gateleg.web.console.jobs.places import CRUMBS, section_head
from gateleg.web.console.jobs.shown import short_kind
from gateleg.web.console.live import Pulse, Topic, follow
from gateleg.web.console.markup import tag
from gateleg.web.console.paging import pager
from gateleg.web.console.patience import show_when_there
from gateleg.web.newest import jobs_page
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.store import Page

_LENGTH = 100
COLUMNS = (
    Column("type", "Type"),
    Column("error", "Error", wraps=True),
    Column("about", "About"),
    Column("attempts", "Attempts", right=True),
    Column("ended", "Failed"),
    Column("id", "Id", desk=True),
)
GROUPS = (
    Column("type", "Type"),
    Column("kind", "Error", wraps=True),
    Column("count", "Jobs", right=True),
    Column("last", "Last"),
    Column("deeds", ""),
)


@dataclass(frozen=True)
class Group:
    """Failed jobs of one type with one kind of error."""

    job_type: str
    kind: str
    count: int
    last: datetime


def kind_of(job: Job) -> str:
    """The kind of error that a job has failed with."""
    last = next((attempt.error for attempt in reversed(job.attempts) if attempt.error is not None), None)
    return "unknown" if last is None else last.kind


def message_of(job: Job) -> str:
    """The error that a job has failed with, in one line."""
    last = next((attempt.error for attempt in reversed(job.attempts) if attempt.error is not None), None)
    return "" if last is None else f"{short_kind(last.kind)}: {last.message}".splitlines()[0][:300]


def grouped(jobs: list[Job]) -> list[Group]:
    """Failed jobs by type and error, the most first."""
    counts = Counter((job.job_type, kind_of(job)) for job in jobs)
    last: dict[tuple[str, str], datetime] = {}
    for job in jobs:
        place, ended = (job.job_type, kind_of(job)), job.completed_at or job.updated_at
        last[place] = max(last.get(place, ended), ended)
    return [Group(*place, count, last[place]) for place, count in counts.most_common()]


def dead_row(job: Job) -> Row:
    """A failed job in the list."""
    cells = {
        "type": job.job_type,
        "error": meta_cell(message_of(job)),
        "about": job.subject,
        "attempts": str(job.attempt),
        "ended": ago_cell(job.completed_at),
        "id": id_cell(str(job.job_id)),
    }
    return Row(str(job.job_id), cells, href=f"/jobs/{job.job_id}")


def register() -> None:
    """Serve the dead letters at `/jobs/dead`."""

    @ui.page("/jobs/dead")
    async def dead(cursor: str | None = None) -> None:
        with frame(title="Dead letters", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/dead")
            filters = Filters(status=JobStatus.FAILED, cursor=cursor)
            topic = Topic(
                ("dead", cursor), partial(jobs_page, view.host, limit=_LENGTH, cursor=filters.cursor, **filters.arguments()), every=3.0
            )
            await show_when_there(view.live.now(topic), lambda first: _list(view, topic, first, pulse, cursor))


def _list(view: View, topic: Topic[Page[Job]], first: Page[Job], pulse: Pulse, cursor: str | None) -> None:
    operator = view.may(Role.OPERATOR)
    choice = Choice()
    with tag("section", classes="card tight", aria_label="By error") as kinds:
        groups = Grid("By error", GROUPS if operator else GROUPS[:-1], on_deed=lambda row, verb: _retry_group(view, row, topic))
    with tag("section", classes="card tight", aria_label="Failed jobs"):
        if operator:
            bulk_bar(view, choice, topic.name)
        grid = Grid("Failed jobs", COLUMNS, on_choose=choice.take if operator else None)
        choice.grid = grid
        with tag("div") as nothing:
            sentence = "Jobs that are out of retries stand here for 30 days, with a button to try them again."
            empty("check", "Nothing has failed for good", sentence)
        foot = tag("div", classes="card-foot")

    def show(page: Page[Job]) -> None:
        groups.show([_group_row(one, deeds=operator) for one in grouped(page.items)])
        grid.show([dead_row(job) for job in page])
        choice.known = {str(job.job_id): job for job in page}
        for part in (kinds, grid):
            part.set_visibility(bool(page.items))
        nothing.set_visibility(not page.items)
        foot.clear()
        if page.items:
            with foot:
                pager("/jobs/dead", {}, cursor=cursor, following=page.next, shown=len(page))

    show(first)
    follow(view.live, topic, show, pulse, known=first)


def _group_row(group: Group, *, deeds: bool) -> Row:
    cells = {"type": group.job_type, "kind": group.kind, "count": str(group.count), "last": ago_cell(group.last)}
    again = deed_cell("retry", f"Retry all {group.job_type}")
    return Row(f"{group.job_type} {group.kind}", {**cells, "deeds": again if deeds else None})


async def _retry_group(view: View, row: str, topic: Topic[Page[Job]]) -> None:
    job_type = row.split(" ", 1)[0]
    loss = "Each begins again with all its retries, up to 1,000 of them."
    if not await confirm(f"Retry all failed {job_type} jobs?", loss, verb="Retry all", harmless=True):
        return
    said: list[str] = []

    async def work() -> None:
        retried = await view.host.queue.retry_failed(job_type=job_type)
        await view.host.audit.note(view.principal, "job.retry-failed", job_type, count=len(retried))
        said.append(f"{len(retried)} retried")

    if await carry_out(view, Role.OPERATOR, work):
        ui.notification(said[0], icon="check", timeout=3, position="bottom")
        view.live.hurry(topic.name)
