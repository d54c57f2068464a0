"""Search in the console, while typing and as a page. Members find only applications and their results.

It finds jobs by id (the newest also by its first 8 characters) or exact subject, pages, applications, job types, queues and tables by
name, and what applications find themselves.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import nicegui
from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from fastapi.responses import RedirectResponse
from nicegui import ui

from gateleg.host.principal import Principal, Role
from gateleg.jobs import JobMissing, JobUnreadable
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import KIT, SETTINGS, current_view, frame
from gateleg.web.console.jobs.list_page import Filters
from gateleg.web.console.jobs.topics import PAGES
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.markup import section, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.host.host import Host
    from gateleg.jobs import Job
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.web.console.frame import Console

#: The maximum number of suggestions while typing.
_MAX_SUGGESTIONS = 10
_MAX_SUBJECT_CHARACTERS = 500
#: The number of jobs among which a shortened id is looked up.
_NEWEST_JOBS = 200
_SHORT_ID = re.compile("[0-9a-f]{8}[0-9a-f-]*", re.IGNORECASE)


@dataclass(frozen=True)
class SearchResult:
    """A page that matches a search."""

    kind: str
    title: str
    href: str
    icon: str
    #: whether an application found it by more than its name
    found: bool = False


def named_pages(host: Host, principal: Principal) -> list[SearchResult]:
    """All pages, applications, job types, queues and tables that the caller may open."""
    applications = [SearchResult("Application", one.title, f"/{one.name}", one.icon) for one in host.applications if one.pages is not None]
    if not principal.may(Role.VIEWER):
        return applications
    handlers = list(host.queue.context.jobs)
    return [
        *(SearchResult("Page", entry.title, entry.href, entry.icon) for entry in (*KIT, SETTINGS)),
        *(SearchResult("Page", title, href, "checklist") for href, title in PAGES[1:]),
        *applications,
        *(SearchResult("Job type", one.job_type, Filters(type=one.job_type).address(), "checklist") for one in handlers),
        *(SearchResult("Queue", name, Filters(queue=name).address(), "reorder") for name in sorted({one.queue for one in handlers})),
        *(SearchResult("Table", table.name, f"/tables/{table.name}", "table_chart") for table in host.tables_for(principal)),
    ]


def matching(results: Iterable[SearchResult], text: str) -> list[SearchResult]:
    """The results whose name contains all words of a text; those that start with it come first."""
    words = text.lower().split()
    found = [result for result in results if all(word in result.title.lower() for word in words)]
    return sorted(found, key=lambda result: (not result.title.lower().startswith(text.lower().strip()), len(result.title)))


def uuid_of(text: str) -> UUID | None:
    """The UUID in a text, if it is one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


async def search_results(host: Host, principal: Principal, text: str) -> list[SearchResult]:
    """Results for a text: the job with this id, everything with this name, and jobs about it."""
    text = text.strip()
    if not text:
        return []
    hits = await host.search(principal, text)
    own = [SearchResult(hit.found.kind, hit.found.title, hit.found.href, hit.found.icon or hit.application.icon, True) for hit in hits]
    results = [*matching(named_pages(host, principal), text), *own]
    if not principal.may(Role.VIEWER):
        return results
    job_id = uuid_of(text)
    if job_id is not None and (job := await _job(host, job_id)) is not None:
        results.insert(0, SearchResult("Job", job.job_type, f"/jobs/{job_id}", "checklist"))
    elif _SHORT_ID.fullmatch(text):
        results[:0] = await _jobs_with_short_id(host, text.lower())
    if len(text) <= _MAX_SUBJECT_CHARACTERS and (await host.queue.jobs_page(subject=text, limit=1)).items:
        results.append(SearchResult("Jobs about", text, Filters(subject=text).address(), "checklist"))
    return results


async def _jobs_with_short_id(host: Host, start: str) -> list[SearchResult]:
    """The newest jobs whose id starts with a text, as pages shorten ids. Older ones would need a scan of the table."""
    page = await host.queue.jobs_page(limit=_NEWEST_JOBS, internal=True)
    found = [job for job in page.items if str(job.job_id).startswith(start)]
    return [SearchResult("Job", job.job_type, f"/jobs/{job.job_id}", "checklist") for job in found]


async def _job(host: Host, job_id: UUID) -> Job | ArchivedJob | None:
    try:
        return await host.queue.get_or_archived(job_id)
    except (JobMissing, JobUnreadable):
        return None


def _is_named_page(result: SearchResult) -> bool:
    return result.kind != "Jobs about" and not result.found


def exact(results: Sequence[SearchResult], text: str) -> SearchResult | None:
    """The only exact match: a job by its id, or a unique name."""
    named = [result for result in results if result.kind == "Job" or (_is_named_page(result) and result.title.lower() == text.lower())]
    return named[0] if len(named) == 1 else None


def register() -> None:
    """Serve the search page at `/search`, and suggestions at `/search/places`."""

    @ui.page("/search", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def search(q: str = "") -> RedirectResponse | None:
        text = q.strip()
        view = current_view()
        results = await search_results(view.host, view.principal, text)
        named = exact(results, text)
        if named is not None:
            return RedirectResponse(named.href, 303)
        with frame(title="Search", section="search", titled=False):
            tag("h1", f"Search: {text}" if text else "Search")
            _show(text, results)
        return None

    @nicegui.app.get("/search/places")
    async def results(request: Request, q: str = "") -> list[dict[str, object]]:
        principal: Principal = request.state.principal
        console: Console = request.app.state.console
        return [asdict(result) for result in (await search_results(console.host, principal, q))[:_MAX_SUGGESTIONS]]


def _show(text: str, results: Sequence[SearchResult]) -> None:
    if not results:
        sentence = "Search finds jobs by id or exact subject, and pages, applications, job types, queues and tables by name."
        empty("search", "Nothing found" if text else "What are you looking for?", sentence)
        return
    for kind in dict.fromkeys(result.kind for result in results):
        with section({"Jobs about": "Jobs with this subject"}.get(kind, f"{kind}s")), tag("div", classes="card tight"):
            for result in results:
                if result.kind == kind:
                    with tag("a", classes="menu-item", href=result.href, data_row=""):
                        ui.icon(result.icon)
                        tag("span", result.title)
