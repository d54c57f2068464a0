"""The list of jobs: live, with filters in the address and actions on selected jobs.

Filters of a list of jobs, which are all part of its address. Pure.

Jobs as rows of a grid. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nicegui import context, ui

from gateleg.durations import duration
from gateleg.host.live import Topic
from gateleg.host.principal import Role
from gateleg.jobs import Job, JobStatus
from gateleg.jobs.monitor.stats import distinct_stage, labels
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.web.console.cells import (
    BY_STATUS,
    UNREADABLE,
    Cell,
    Column,
    Row,
    ago_cell,
    badge_of,
    bar_cell,
    chip_cell,
    id_cell,
    meta_cell,
    since_cell,
)
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.actions import SelectedJobs, bulk_bar
from gateleg.web.console.jobs.topics import section_head
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, address, pager, show_when_loaded
from gateleg.web.console.live import LiveIndicator, follow
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store import Page
    from gateleg.store.setup import Unreadable


#: Jobs per page.
_PAGE_SIZE = 50


@dataclass(frozen=True)
class JobRows:
    """A page of jobs, and its rows, shared by all viewers."""

    page: Page[Job]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The jobs as rows, after those that are not valid."""
        return (*unreadable_rows(self.page.unreadable), *job_rows(self.page))


def register() -> None:
    """Serve the list at `/jobs`."""

    @ui.page("/jobs", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def jobs() -> None:
        filters = Filters.read(context.client.request.query_params)
        with frame(title="Jobs", section="jobs", wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs")
            _filter_bar(view, filters)

            async def read() -> JobRows:
                return JobRows(await view.host.queue.jobs_page(limit=_PAGE_SIZE, cursor=filters.cursor, **filters.arguments()))

            topic = Topic(("jobs", filters), read, every=2.0)
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, filters, topic, first, pulse), rows=12, pulse=pulse)


def _filter_bar(view: View, filters: Filters) -> None:
    with tag("form", classes="filters", action="/jobs", method="get", data_tidy="", aria_label="Filters"):
        with tag("nav", classes="choices", aria_label="State"):
            tag("a", "All", href=filters.address(status=None), aria_current="true" if filters.status is None else None)
            for status, badge in BY_STATUS.items():
                current = "true" if filters.status == status else None
                with tag("a", classes=f"k-{badge.kind}", href=filters.address(status=status), aria_current=current):
                    ui.icon(badge.icon).style("color:var(--tone)")
                    tag("span", badge.word)
        if filters.status is not None:
            word = next(word for word, status in STATUS_WORDS.items() if status == filters.status)
            tag("input", type="hidden", name="status", value=word)
        handlers = sorted(view.host.queue.context.jobs, key=lambda handler: handler.job_type)
        _select("type", "Any type", filters.type, [handler.job_type for handler in handlers])
        _select("queue", "Any queue", filters.queue, sorted({handler.queue for handler in handlers}))
        for name, label in (("subject", "Subject"), ("tag", "Tag"), ("worker", "Worker")):
            value = getattr(filters, name)
            if value is not None or name == "subject":
                tag("input", classes="box", type="search", name=name, value=value or "", placeholder=label, aria_label=label)
        shown = filters.internal is not None
        if shown:
            tag("input", type="hidden", name="internal", value="1")
        words = "Hide internal jobs" if shown else "Show internal jobs"
        tag("a", words, "deed", href=filters.address(internal=None if shown else "1"))
        if filters.any:
            tag("a", "Clear", "deed bare", href="/jobs")
        tag("button", "Filter", "sr", type="submit")


def _select(name: str, anything: str, value: str | None, known: list[str]) -> None:
    choices = known if value is None or value in known else [*known, value]
    with tag("select", classes="box", name=name, aria_label=anything, data_submits=""):
        tag("option", anything, value="")
        for choice in choices:
            tag("option", choice, value=choice, selected=True if choice == value else None)


def _list(view: View, filters: Filters, topic: Topic[JobRows], first: JobRows, pulse: LiveIndicator) -> None:
    choice = SelectedJobs()
    with tag("section", classes="card tight", aria_label="Jobs"):
        bar = bulk_bar(view, choice) if view.may(Role.OPERATOR) else None
        grid = Grid("Jobs", COLUMNS, on_choose=None if bar is None else choice.take)
        choice.grid = grid
        nothing = tag("div")
        with nothing:
            _empty(view, filters)
        foot = tag("div", classes="card-foot")

    drawn: tuple[str | None, int] | None = None

    def show(listed: JobRows) -> None:
        page = listed.page
        grid.show(listed.rows)
        choice.known = {str(job.job_id): job for job in page}
        grid.set_visibility(bool(listed.rows))
        nothing.set_visibility(not listed.rows)
        nonlocal drawn
        if (page.next, len(listed.rows)) != drawn:
            drawn = (page.next, len(listed.rows))
            foot.clear()
            if listed.rows or page.next:
                # A filter that matches little may leave a page empty although others follow.
                with foot:
                    pager("/jobs", filters.state(), cursor=filters.cursor, following=page.next, shown=len(listed.rows))

    show(first)
    follow(view.live, topic, show, pulse, known=first)


def _empty(view: View, filters: Filters) -> None:
    if filters.status == JobStatus.FAILED and filters == Filters(status=JobStatus.FAILED):
        empty("check", "No failed jobs", "Jobs that are out of retries are listed here, with their error and a button to retry them.")
    elif filters.any:
        empty("search", "No matching jobs", "Remove a filter to see more.", button="Clear the filters", href="/jobs")
    elif view.may(Role.OPERATOR):
        sentence = "A job is work that runs in the background: submit one, watch it run, and find its result here."
        empty("tray", "No jobs yet", sentence, button="Submit a job", href="/jobs/submit")
    else:
        empty("tray", "No jobs yet", "Submitted jobs are listed here.")


#: States by their names in addresses.
STATUS_WORDS = {badge.word.lower(): status for status, badge in BY_STATUS.items()}
_WORDS = {status: word for word, status in STATUS_WORDS.items()}


@dataclass(frozen=True)
class Filters:
    """Filters of a list of jobs; None matches anything."""

    status: JobStatus | None = None
    type: str | None = None
    queue: str | None = None
    subject: str | None = None
    worker: str | None = None
    tag: str | None = None
    #: "1" to include internal jobs
    internal: str | None = None
    #: where the page starts
    cursor: str | None = None

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Filters:
        """The filters of an address. Unknown values are ignored."""
        given: dict[str, Any] = {
            name: value for one in fields(cls) if (name := one.name) != "status" and (value := query.get(name, "").strip())
        }
        if given.get("internal") != "1":
            given.pop("internal", None)
        return cls(status=STATUS_WORDS.get(query.get("status", "").lower()), **given)

    def state(self) -> dict[str, str | None]:
        """The query of the address."""
        return {
            "status": None if self.status is None else _WORDS[self.status],
            **{one.name: getattr(self, one.name) for one in fields(self) if one.name != "status"},
        }

    def address(self, **changes: Any) -> str:
        """The address of the list with some filters changed; a changed filter starts at the first page."""
        return address("/jobs", replace(self, **{"cursor": None, **changes}).state())

    @property
    def any(self) -> bool:
        """Whether a filter is set."""
        return self != Filters(cursor=self.cursor)

    def arguments(self) -> dict[str, Any]:
        """The filters as arguments of the queue's method."""
        wanted = {"status": self.status, "job_type": self.type, "queue": self.queue, "subject": self.subject}
        return {**wanted, "worker": self.worker, "tag": self.tag, "internal": self.internal == "1"}


#: How much of the reason is shown why an item is not a valid job.
_MAX_REASON_CHARACTERS = 200
COLUMNS = (
    Column("type", "Type"),
    Column("state", "State"),
    Column("about", "Subject"),
    Column("queue", "Queue", desk=True),
    Column("priority", "Priority", right=True, desk=True),
    Column("created", "Submitted"),
    Column("time", "Time"),
    Column("id", "Id", desk=True),
)
ARCHIVE_COLUMNS = (
    Column("type", "Type"),
    Column("state", "State"),
    Column("about", "Subject"),
    Column("queue", "Queue", desk=True),
    Column("ended", "Ended"),
    Column("time", "Time"),
    Column("id", "Id", desk=True),
)


def job_rows(jobs: Iterable[Job]) -> tuple[Row, ...]:
    """Jobs as rows. Children of one job that look alike have a label."""
    listed = tuple(jobs)
    labels_by_id = labels(job for job in listed if job.parent_job_id is not None)
    return tuple(job_row(job, labels_by_id.get(job.job_id, "")) for job in listed)


def unreadable_rows(unreadable: Iterable[Unreadable]) -> tuple[Row, ...]:
    """Items of the job table that are not valid jobs, with what is wrong."""
    return tuple(unreadable_row(UnreadableJob.of(bad)) for bad in unreadable)


def unreadable_row(bad: UnreadableJob) -> Row:
    """An item of the job table that is not a valid job."""
    return Row(
        bad.job_id,
        {"type": meta_cell(bad.reason[:_MAX_REASON_CHARACTERS]), "state": chip_cell(UNREADABLE), "id": id_cell(bad.job_id)},
        href=f"/jobs/{quote(bad.job_id, safe='')}",
        label=f"Unreadable item {bad.job_id[:60]}",
    )


def job_row(job: Job, label: str = "") -> Row:
    """A job in the list. A label that repeats another column is left out."""
    stage = distinct_stage(job.job_type, job.job_stage)
    shown = [text for text in (stage, label) if text and text not in (job.subject, str(job.job_id)[:8])]
    return Row(
        str(job.job_id),
        {
            "type": [job.job_type, *map(meta_cell, shown)] if shown else job.job_type,
            "state": chip_cell(badge_of(job)),
            "about": job.subject,
            "queue": job.queue,
            "priority": str(job.priority),
            "created": ago_cell(job.created_at),
            "time": time_of(job),
            "id": id_cell(str(job.job_id)),
        },
        href=f"/jobs/{job.job_id}",
    )


def time_of(job: Job) -> Cell:
    """The time of a job: progress or running time, how long a finished one took, or what a waiting one waits for."""
    if job.status == JobStatus.PROCESSING:
        if job.progress is not None:
            return bar_cell(job.progress.fraction, "running", job.progress.message)
        return since_cell(job.started_at) if job.started_at else None
    if job.finished:
        if job.started_at is None or job.completed_at is None:
            return meta_cell("never started")
        return duration((job.completed_at - job.started_at).total_seconds())
    if job.waiting_for:
        count = len(job.waiting_for)
        return meta_cell(f"for {count} job{'' if count == 1 else 's'}")
    if job.run_at is not None and job.readiness == "delayed":
        return ago_cell(job.run_at)
    return meta_cell(f"retry {job.retry_count} of {job.max_retries}") if job.retry_count else None


def archived_row(job: ArchivedJob) -> Row:
    """A job of the archive."""
    return Row(
        str(job.job_id),
        {
            "type": job.job_type,
            "state": chip_cell(BY_STATUS[job.status]),
            "about": job.subject,
            "queue": job.queue,
            "ended": ago_cell(job.completed_at),
            "time": None if job.run_seconds is None else duration(job.run_seconds),
            "id": id_cell(str(job.job_id)),
        },
        href=f"/jobs/{job.job_id}",
    )
