"""The list of jobs: live, with filters in the address and actions on selected jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nicegui import context, ui

from gateleg.jobs import JobStatus
from gateleg.web.console.badges import BY_STATUS
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, frame
from gateleg.web.console.grid import Grid
from gateleg.web.console.jobs.actions import SelectedJobs, bulk_bar
from gateleg.web.console.jobs.filters import STATUS_WORDS, Filters
from gateleg.web.console.jobs.rows import COLUMNS, job_rows, unreadable_rows
from gateleg.web.console.jobs.section import section_head
from gateleg.web.console.live import LiveIndicator, Topic, follow
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS, show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.console.paging import pager
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.jobs import Job
    from gateleg.store import Page
    from gateleg.web.console.cells import Row

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
        bar = bulk_bar(view, choice, topic.name) if view.may(Role.OPERATOR) else None
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
