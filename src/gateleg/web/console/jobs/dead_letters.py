"""The jobs that are out of retries (dead letters), grouped by type and error; retrying and archiving them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.actions.jobs import MAX_JOBS, archive_jobs, retry_jobs
from gateleg.host.live import Topic
from gateleg.host.principal import Role
from gateleg.jobs import Job, JobStatus
from gateleg.jobs.monitor import last_failure
from gateleg.web.console.actions import act
from gateleg.web.console.cells import Column, Row, ago_cell, button_cell, id_cell, meta_cell
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.actions import SelectedJobs, bulk_bar
from gateleg.web.console.jobs.job_details import short_kind
from gateleg.web.console.jobs.list_page import Filters
from gateleg.web.console.jobs.topics import CRUMBS, section_head
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, pager, show_when_loaded
from gateleg.web.console.live import LiveIndicator, follow
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.store import Page

_PAGE_SIZE = 100
COLUMNS = (
    Column("type", "Type"),
    Column("error", "Error", wraps=True),
    Column("about", "Subject"),
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
class FailureGroup:
    """Failed jobs with the same type and error."""

    job_type: str
    kind: str
    count: int
    last: datetime
    #: the distinct first lines of their messages
    messages: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """Their common error, or only its class if the messages differ."""
        return f"{short_kind(self.kind)}: {self.messages[0]}" if len(self.messages) == 1 and self.messages[0] else short_kind(self.kind)


def kind_of(job: Job) -> str:
    """The exception class of a failed job."""
    failure = last_failure(job)
    return "unknown" if failure is None else failure.kind


def message_of(job: Job) -> str:
    """The first line of a failed job's error message."""
    failure = last_failure(job)
    return "" if failure is None or not failure.message else failure.message.splitlines()[0][:300]


def grouped(jobs: Sequence[Job]) -> list[FailureGroup]:
    """Failed jobs by type and error, the largest group first."""
    found: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        found.setdefault((job.job_type, kind_of(job)), []).append(job)
    groups = [
        FailureGroup(
            *place, len(same), max(job.completed_at or job.updated_at for job in same), tuple(dict.fromkeys(map(message_of, same)))
        )
        for place, same in found.items()
    ]
    return sorted(groups, key=lambda group: -group.count)


def dead_rows(jobs: Sequence[Job]) -> list[Row]:
    """Failed jobs as rows. What their group already says about the error is not repeated."""
    groups = {(group.job_type, group.kind): group for group in grouped(jobs)}
    return [_row(job, groups[job.job_type, kind_of(job)]) for job in jobs]


def _row(job: Job, group: FailureGroup) -> Row:
    cells = {
        "type": job.job_type,
        "error": meta_cell(short_kind(group.kind) if len(group.messages) == 1 else message_of(job)),
        "about": job.subject,
        "attempts": str(job.tries),
        "ended": ago_cell(job.completed_at),
        "id": id_cell(str(job.job_id)),
    }
    return Row(str(job.job_id), cells, href=f"/jobs/{job.job_id}")


def register() -> None:
    """Serve the failed jobs at `/jobs/dead`."""

    @ui.page("/jobs/dead", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def dead(cursor: str | None = None) -> None:
        with frame(title="Failed jobs", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/dead")
            filters = Filters(status=JobStatus.FAILED, cursor=cursor)
            topic = Topic(
                ("dead", cursor),
                partial(view.host.queue.jobs_page, limit=_PAGE_SIZE, cursor=filters.cursor, **filters.arguments()),
                every=3.0,
            )
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, topic, first, pulse, cursor), pulse=pulse)


def _list(view: View, topic: Topic[Page[Job]], first: Page[Job], pulse: LiveIndicator, cursor: str | None) -> None:
    operator = view.may(Role.OPERATOR)
    choice = SelectedJobs()
    with tag("section", classes="card tight", aria_label="By error") as kinds:
        columns = GROUPS if operator else GROUPS[:-1]
        groups = Grid("By error", columns, on_action=lambda row, verb: _act_on_group(view, row, verb))
    with tag("section", classes="card tight", aria_label="Failed jobs"):
        if operator:
            bulk_bar(view, choice, archives=True)
        grid = Grid("Failed jobs", COLUMNS, on_choose=choice.take if operator else None)
        choice.grid = grid
        with tag("div") as nothing:
            sentence = "Jobs that are out of retries are listed here for 30 days, to be retried or archived."
            empty("check", "No failed jobs", sentence)
        foot = tag("div", classes="card-foot")

    def show(page: Page[Job]) -> None:
        found = grouped(page.items)
        kinds_of = Counter(one.job_type for one in found)
        groups.show([_group_row(one, deeds=operator, alone=kinds_of[one.job_type] == 1) for one in found])
        grid.show(dead_rows(page.items))
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


def _group_row(group: FailureGroup, *, deeds: bool, alone: bool) -> Row:
    """A group of failures. If its type has also failed in other ways, there is a button for all of them."""
    several = [] if len(group.messages) == 1 else [meta_cell(f"{len(group.messages)} different messages")]
    cells = {"type": group.job_type, "kind": [group.error, *several], "count": str(group.count), "last": ago_cell(group.last)}
    retries = [button_cell("kind", "Retry these"), *([] if alone else [button_cell("type", f"Retry all {group.job_type}")])]
    return Row(f"{group.job_type} {group.kind}", {**cells, "deeds": [*retries, button_cell("archive", "Archive these")] if deeds else None})


async def _act_on_group(view: View, row: str, verb: str) -> None:
    job_type, kind = row.split(" ", 1)
    only = None if verb == "type" else kind
    which = f"{job_type} jobs" + (f" with {short_kind(only)}" if only is not None else "")
    action = archive_jobs if verb == "archive" else retry_jobs
    choice = action.input(status=JobStatus.FAILED, job_type=job_type, error_kind=only)
    await act(view, action, choice, loss=f"All failed {which}, up to {MAX_JOBS:,}. {action.asks}")
