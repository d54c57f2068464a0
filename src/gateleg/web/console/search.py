"""Search: a job by its id, and everything that has a name: pages, applications, job types, queues, tables, subjects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from fastapi.responses import RedirectResponse
from nicegui import ui

from gateleg.jobs import JobMissing
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, current_view, frame
from gateleg.web.console.jobs.filters import Filters
from gateleg.web.console.jobs.places import PLACES
from gateleg.web.console.markup import section, tag
from gateleg.web.console.navigation import KIT, SETTINGS
from gateleg.web.console.patience import PATIENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.web.host import Host
    from gateleg.web.principal import Principal


@dataclass(frozen=True)
class Place:
    """Somewhere that a search can lead to."""

    kind: str
    title: str
    href: str
    icon: str


def known_places(host: Host, principal: Principal) -> list[Place]:
    """Everything that has a name and a page, and that somebody may look into."""
    handlers = list(host.queue.context.jobs)
    return [
        *(Place("Page", entry.title, entry.href, entry.icon) for entry in (*KIT, SETTINGS)),
        *(Place("Page", title, href, "checklist") for href, title in PLACES[1:]),
        *(Place("Application", one.title, f"/{one.name}", one.icon) for one in host.applications if one.pages is not None),
        *(Place("Job type", one.job_type, Filters(type=one.job_type).address(), "checklist") for one in handlers),
        *(Place("Queue", name, Filters(queue=name).address(), "reorder") for name in sorted({one.queue for one in handlers})),
        *(Place("Table", table.name, f"/tables/{table.name}", "table_chart") for table in host.tables_for(principal)),
    ]


def matching(places: Iterable[Place], text: str) -> list[Place]:
    """The places whose name has all words of a text; those that begin with it come first."""
    words = text.lower().split()
    found = [place for place in places if all(word in place.title.lower() for word in words)]
    return sorted(found, key=lambda place: (not place.title.lower().startswith(text.lower().strip()), len(place.title)))


def uuid_of(text: str) -> UUID | None:
    """The id that a text is, if it is one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def register() -> None:
    """Serve the search at `/search`."""

    @ui.page("/search", response_timeout=PATIENT)
    async def search(q: str = "") -> RedirectResponse | None:
        text = q.strip()
        view = current_view()
        job = await _job_place(view, text)
        if job is not None:
            return RedirectResponse(job, 303)
        found = matching(known_places(view.host, view.principal), text) if text else []
        exact = [place for place in found if place.title.lower() == text.lower()]
        if len(exact) == 1:
            return RedirectResponse(exact[0].href, 303)
        with frame(title="Search", section="search", titled=False):
            tag("h1", f"Search: {text}" if text else "Search")
            await _show(view, text, found)
        return None


async def _job_place(view: View, text: str) -> str | None:
    job_id = uuid_of(text)
    if job_id is None:
        return None
    try:
        await view.host.queue.get_or_archived(job_id)
    except JobMissing:
        return None
    return f"/jobs/{job_id}"


async def _show(view: View, text: str, found: list[Place]) -> None:
    about = await view.host.queue.jobs_page(subject=text, limit=1) if text and len(text) <= 500 else None
    places = [*found, *([Place("Jobs about", text, Filters(subject=text).address(), "checklist")] if about and about.items else [])]
    if not places:
        sentence = "Search finds jobs by their id or by what they are about, and pages, applications, job types, queues and tables by name."
        empty("search", "Nothing is called that" if text else "What are you looking for?", sentence)
        return
    for kind in dict.fromkeys(place.kind for place in places):
        with section({"Jobs about": "Jobs"}.get(kind, f"{kind}s")), tag("div", classes="card tight"):
            for place in places:
                if place.kind == kind:
                    with tag("a", classes="menu-item", href=place.href, data_row=""):
                        ui.icon(place.icon)
                        tag("span", place.title)
