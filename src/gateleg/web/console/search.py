"""Search: jobs by id or subject, pages, applications, job types, queues and tables by name, and what applications find; while typing, and
as a page. Members find applications and what those find for them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import nicegui
from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from fastapi.responses import RedirectResponse
from nicegui import ui

from gateleg.jobs import JobMissing
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import current_view, frame
from gateleg.web.console.jobs.filters import Filters
from gateleg.web.console.jobs.places import PLACES
from gateleg.web.console.markup import section, tag
from gateleg.web.console.navigation import KIT, SETTINGS
from gateleg.web.console.patience import PATIENT
from gateleg.web.principal import Principal, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.jobs import ArchivedJob, Job
    from gateleg.web.console.site import Console
    from gateleg.web.host import Host

#: How many places are suggested while somebody types.
_SUGGESTED = 10
_LONGEST_SUBJECT = 500


@dataclass(frozen=True)
class Place:
    """Somewhere that a search can lead to."""

    kind: str
    title: str
    href: str
    icon: str
    #: whether an application has found it by more than its name
    found: bool = False


def known_places(host: Host, principal: Principal) -> list[Place]:
    """Everything that has a name and a page, and that somebody may look into."""
    applications = [Place("Application", one.title, f"/{one.name}", one.icon) for one in host.applications if one.pages is not None]
    if not principal.may(Role.VIEWER):
        return applications
    handlers = list(host.queue.context.jobs)
    return [
        *(Place("Page", entry.title, entry.href, entry.icon) for entry in (*KIT, SETTINGS)),
        *(Place("Page", title, href, "checklist") for href, title in PLACES[1:]),
        *applications,
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


async def found_places(host: Host, principal: Principal, text: str) -> list[Place]:
    """Where a text may lead: to the job that it is the id of, to what has it in its name, and to jobs about it."""
    text = text.strip()
    if not text:
        return []
    hits = await host.search(principal, text)
    own = [Place(hit.found.kind, hit.found.title, hit.found.href, hit.found.icon or hit.application.icon, True) for hit in hits]
    places = [*matching(known_places(host, principal), text), *own]
    if not principal.may(Role.VIEWER):
        return places
    job_id = uuid_of(text)
    if job_id is not None and (job := await _job(host, job_id)) is not None:
        places.insert(0, Place("Job", job.job_type, f"/jobs/{job_id}", "checklist"))
    if len(text) <= _LONGEST_SUBJECT and (await host.queue.jobs_page(subject=text, limit=1)).items:
        places.append(Place("Jobs about", text, Filters(subject=text).address(), "checklist"))
    return places


async def _job(host: Host, job_id: UUID) -> Job | ArchivedJob | None:
    try:
        return await host.queue.get_or_archived(job_id)
    except JobMissing:
        return None


def _is_named(place: Place) -> bool:
    return place.kind != "Jobs about" and not place.found


def exact(places: Sequence[Place], text: str) -> Place | None:
    """The place that a text names: a job by its id, or the only one with exactly this name."""
    named = [place for place in places if place.kind == "Job" or (_is_named(place) and place.title.lower() == text.lower())]
    return named[0] if len(named) == 1 else None


def register() -> None:
    """Serve the search at `/search`, and what it finds while somebody types at `/search/places`."""

    @ui.page("/search", response_timeout=PATIENT)
    async def search(q: str = "") -> RedirectResponse | None:
        text = q.strip()
        view = current_view()
        places = await found_places(view.host, view.principal, text)
        named = exact(places, text)
        if named is not None:
            return RedirectResponse(named.href, 303)
        with frame(title="Search", section="search", titled=False):
            tag("h1", f"Search: {text}" if text else "Search")
            _show(text, places)
        return None

    @nicegui.app.get("/search/places")
    async def places(request: Request, q: str = "") -> list[dict[str, object]]:
        principal: Principal = request.state.principal
        console: Console = request.app.state.console
        return [asdict(place) for place in (await found_places(console.host, principal, q))[:_SUGGESTED]]


def _show(text: str, places: Sequence[Place]) -> None:
    if not places:
        sentence = "Search finds jobs by id or subject, and pages, applications, job types, queues and tables by name."
        empty("search", "Nothing found" if text else "What are you looking for?", sentence)
        return
    for kind in dict.fromkeys(place.kind for place in places):
        with section({"Jobs about": "Jobs"}.get(kind, f"{kind}s")), tag("div", classes="card tight"):
            for place in places:
                if place.kind == kind:
                    with tag("a", classes="menu-item", href=place.href, data_row=""):
                        ui.icon(place.icon)
                        tag("span", place.title)
