"""Dead letters: the jobs that have failed for good, gathered by type and error, and letting them begin again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import Job, JobStatus, WrongState
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
from gateleg.web.console.patience import PATIENT, show_when_there
from gateleg.web.newest import jobs_page
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.jobs import AsyncQueue
    from gateleg.store import Page

_LENGTH = 100
#: How many jobs are retried at once.
MOST = 1000
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
    Column("deeds", "", right=True),
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
        "attempts": str(job.tries),
        "ended": ago_cell(job.completed_at),
        "id": id_cell(str(job.job_id)),
    }
    return Row(str(job.job_id), cells, href=f"/jobs/{job.job_id}")


def register() -> None:
    """Serve the dead letters at `/jobs/dead`."""

    @ui.page("/jobs/dead", response_timeout=PATIENT)
    async def dead(cursor: str | None = None) -> None:
        with frame(title="Dead letters", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/dead")
            filters = Filters(status=JobStatus.FAILED, cursor=cursor)
            topic = Topic(
                ("dead", cursor), partial(jobs_page, view.host, limit=_LENGTH, cursor=filters.cursor, **filters.arguments()), every=3.0
            )
            await show_when_there(view.live.now(topic), lambda first: _list(view, topic, first, pulse, cursor), pulse=pulse)


def _list(view: View, topic: Topic[Page[Job]], first: Page[Job], pulse: Pulse, cursor: str | None) -> None:
    operator = view.may(Role.OPERATOR)
    choice = Choice()
    with tag("section", classes="card tight", aria_label="By error") as kinds:
        columns = GROUPS if operator else GROUPS[:-1]
        groups = Grid("By error", columns, on_deed=lambda row, verb: _retry_group(view, row, verb, topic))
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
        found = grouped(page.items)
        kinds_of = Counter(one.job_type for one in found)
        groups.show([_group_row(one, deeds=operator, alone=kinds_of[one.job_type] == 1) for one in found])
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


def _group_row(group: Group, *, deeds: bool, alone: bool) -> Row:
    """A kind of failure. Where its type has failed in other ways too, there is a button for all of them."""
    cells = {"type": group.job_type, "kind": short_kind(group.kind), "count": str(group.count), "last": ago_cell(group.last)}
    buttons = [deed_cell("kind", "Retry these"), *([] if alone else [deed_cell("type", f"Retry all {group.job_type}")])]
    return Row(f"{group.job_type} {group.kind}", {**cells, "deeds": buttons if deeds else None})


async def _retry_group(view: View, row: str, verb: str, topic: Topic[Page[Job]]) -> None:
    job_type, kind = row.split(" ", 1)
    only = kind if verb == "kind" else None
    loss = f"Each begins again with all its retries, up to {MOST:,} of them."
    which = f"{job_type} jobs" + (f" with {short_kind(only)}" if only is not None else "")
    if not await confirm(f"Retry all failed {which}?", loss, verb="Retry all", harmless=True):
        return
    said: list[str] = []

    async def work() -> None:
        count = await retry_all(view.host.queue, job_type, only)
        await view.host.audit.note(view.principal, "job.retry-failed", job_type, kind=only, count=count)
        said.append(f"{count} retried")

    if await carry_out(view, Role.OPERATOR, work):
        ui.notification(said[0], icon="check", timeout=3, position="bottom")
        view.live.hurry(topic.name)


async def retry_all(queue: AsyncQueue, job_type: str, kind: str | None) -> int:
    """Let the failed jobs of a type begin again, those with one kind of error or all; how many there were."""
    if kind is None:
        return len(await queue.retry_failed(job_type=job_type, limit=MOST))
    # The kind of an error is inside the attempts, where no filter of the store finds it.
    question = Job.in_status(status=JobStatus.FAILED).filter(Job.job_type == job_type)
    found = [job.job_id async for job in queue.store.query(question) if kind_of(job) == kind]
    count = 0
    for job_id in found[:MOST]:
        try:
            await queue.retry(job_id)
        except WrongState:
            # Somebody else has done so already.
            continue
        count += 1
    return count
