"""The list of projects with posters and statuses, newest first; viewers also see the number of projects in each status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.mv import rules, service
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus
from gateleg.apps.mv.web.statuses import PROJECT, project_badge
from gateleg.apps.mv.web.urls import HOME, NEW, TEMPLATES, place_of
from gateleg.apps.mv.web.views import Links
from gateleg.host import Role
from gateleg.store import Page
from gateleg.web.console.components import address, ago, empty, frame, pager, section, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.service import StatusCount
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.host import Resources
    from gateleg.store import AsyncStore
    from gateleg.web.console.components import View

_LIMIT = 24


@dataclass(frozen=True)
class Card:
    """A project in the list."""

    project: Project
    poster: str | None


async def posters(store: AsyncStore, links: Links, projects: Sequence[Project]) -> list[Card]:
    """The projects with the posters of their films."""
    wanted = [FinalVersion.key(project_id=one.project_id, number=max(one.final_version, 1)) for one in projects]
    films = await store.batch_get(wanted)
    keys = [
        None if film is None or not one.final_version else film.companions.get("poster") for one, film in zip(projects, films, strict=True)
    ]
    return [Card(project, await links.maybe(key)) for project, key in zip(projects, keys, strict=True)]


async def gallery_page(resources: Resources[MVSettings], cursor: str = "", status: str = "") -> None:
    """The page with all projects that the user may see."""
    with frame(title="Music videos", section="mv", titled=False) as view:
        with tag("div", classes="head"):
            tag("h1", "Music videos")
            with tag("div", classes="deeds"):
                tag("a", "Templates", "deed", href=TEMPLATES)
                with tag("a", classes="deed first", href=NEW):
                    ui.icon("add")
                    tag("span", "New video")
        everybody = view.may(Role.VIEWER)
        wanted = next((one for one in ProjectStatus if one.value == status), None) if everybody else None
        if everybody:
            await show_when_loaded(service.status_board(resources.store), lambda rows: _board(rows, wanted), rows=1)

        async def look() -> tuple[Page[Project], list[Card]]:
            page = await _page(resources.store, view, wanted, cursor or None)
            return page, await posters(resources.store, Links(resources.objects, resources.settings.link_seconds), list(page))

        def show(found: tuple[Page[Project], list[Card]]) -> None:
            page, cards = found
            if not cards and not cursor:
                sentence = "All you need is a song and a sentence."
                empty("box", "No videos yet" if wanted is None else "No videos with this status", sentence, button="New video", href=NEW)
                return
            _cards(cards)
            pager(HOME, {"status": status} if status else {}, cursor=cursor or None, following=page.next, shown=len(cards))

        with section("Newest" if wanted is None else PROJECT[wanted][0]):
            await show_when_loaded(look(), show)


async def _page(store: AsyncStore, view: View, wanted: ProjectStatus | None, cursor: str | None) -> Page[Project]:
    """A page of projects: members see their own; viewers see all projects in a status, or the newest of all owners."""
    if wanted is not None:
        return await service.projects_in(store, wanted, _LIMIT, cursor)
    if not view.may(Role.VIEWER):
        return await service.projects_of(store, view.principal.owner, _LIMIT, cursor)
    return Page(await service.newest_projects(store, _LIMIT), None)


def _cards(cards: Sequence[Card]) -> None:
    with tag("div", classes="tiles"):
        for one in cards:
            project = one.project
            with tag("a", classes="card thing mv-card", href=place_of(project.project_id)):
                with tag("div", classes="thing-picture"):
                    if one.poster is not None:
                        tag("img", src=one.poster, alt="", loading="lazy")
                    else:
                        ui.icon("movie")
                tag("span", project.title or project.concept_prompt, "strong clip", dir="auto")
                with tag("span", classes="line gap-1 meta"):
                    project_badge(project.status, busy=rules.is_busy(project))
                    if project.scene_count:
                        tag("span", f"{project.completed_scenes} of {project.scene_count} scenes", "num")
                    ago(project.updated_at)


def _board(rows: Sequence[StatusCount], wanted: ProjectStatus | None) -> None:
    """The number of projects in each status, and the age of the oldest."""
    with tag("nav", classes="mv-board", aria_label="Projects by status"):
        for row in rows:
            current = "true" if row.status is wanted else None
            href = HOME if row.status is wanted else address(HOME, {"status": row.status.value})
            with tag("a", classes="card mv-standing", href=href, aria_current=current):
                tag("span", f"{row.count:,}{'+' if row.more else ''}", "value num")
                project_badge(row.status)
                with tag("span", classes="meta"):
                    if row.oldest is None:
                        tag("span", "none")
                    else:
                        tag("span", "oldest ")
                        ago(row.oldest)
