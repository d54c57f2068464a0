"""The archive: jobs that have left the queue, by type or by subject."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nicegui import context, ui

from gateleg.web.console.empty import empty
from gateleg.web.console.frame import frame
from gateleg.web.console.grid import Grid
from gateleg.web.console.jobs.rows import ARCHIVE_COLUMNS, archived_row
from gateleg.web.console.jobs.section import CRUMBS, section_head
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS, show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.console.paging import pager

if TYPE_CHECKING:
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store import Page

_PAGE_SIZE = 50


def register() -> None:
    """Serve the archive at `/jobs/archive`."""

    @ui.page("/jobs/archive", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def archive() -> None:
        query = context.client.request.query_params
        subject, cursor = query.get("subject", "").strip() or None, query.get("cursor") or None
        with frame(title="Archive", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            section_head(view, "/jobs/archive").box.set_visibility(False)
            types = sorted(handler.job_type for handler in view.host.queue.context.jobs)
            wanted = query.get("type", "").strip() or (None if subject or not types else types[0])
            _filters(types, wanted, subject)
            if wanted is None and subject is None:
                _nothing()
                return
            job_type = wanted if subject is None else None
            asked = view.host.queue.archive_page(job_type=job_type, subject=subject, limit=_PAGE_SIZE, cursor=cursor)
            await show_when_loaded(asked, partial(_list, job_type, subject, cursor), retry="/jobs/archive")


def _filters(types: list[str], wanted: str | None, subject: str | None) -> None:
    with tag("form", classes="filters", action="/jobs/archive", method="get", data_tidy="", aria_label="Filters"):
        with tag("select", classes="box", name="type", aria_label="Type", data_submits=""):
            tag("option", "By subject", value="")
            for one in [*types, *([wanted] if wanted and wanted not in types else [])]:
                tag("option", one, value=one, selected=True if one == wanted else None)
        tag("input", classes="box", type="search", name="subject", value=subject or "", placeholder="Subject", aria_label="Subject")
        tag("button", "Show", "deed", type="submit")


def _list(job_type: str | None, subject: str | None, cursor: str | None, page: Page[ArchivedJob]) -> None:
    if not page.items:
        _nothing()
        return
    with tag("section", classes="card tight", aria_label="Archived jobs"):
        Grid("Archived jobs", ARCHIVE_COLUMNS, [archived_row(job) for job in page])
        with tag("div", classes="card-foot"):
            pager("/jobs/archive", {"type": job_type, "subject": subject}, cursor=cursor, following=page.next, shown=len(page))


def _nothing() -> None:
    with tag("section", classes="card", aria_label="Archive"):
        sentence = "Completed and cancelled jobs are archived after 7 days, failed ones after 30. Nothing is deleted."
        empty("box", "No archived jobs", sentence)
