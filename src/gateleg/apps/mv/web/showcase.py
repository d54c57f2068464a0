"""Music videos on the console's overview and in its search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.mv import service
from gateleg.apps.mv.tables import Project, ProjectStatus
from gateleg.apps.mv.web.gallery import posters
from gateleg.apps.mv.web.statuses import PROJECT
from gateleg.apps.mv.web.urls import place_of
from gateleg.apps.mv.web.views import Links
from gateleg.host import Role, SearchHit, Tile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.settings import MVSettings
    from gateleg.host import Principal, Resources

_SHOWN = 4
#: How many projects a search reads, and how many it shows.
_SEARCHED, _FOUND = 500, 10


async def last_films(resources: Resources[MVSettings], principal: Principal) -> list[Tile]:
    """The newest projects that the user may see, with the posters of their films."""
    store = resources.store
    if principal.may(Role.VIEWER):
        newest = await service.newest_projects(store, _SHOWN)
    else:
        newest = list(await service.projects_of(store, principal.owner, _SHOWN))
    cards = await posters(store, Links(resources.objects, resources.settings.link_seconds), newest)
    return [
        Tile(
            one.project.title or one.project.concept_prompt,
            place_of(one.project.project_id),
            _about(one.project),
            one.poster,
            one.project.updated_at,
        )
        for one in cards
    ]


def _about(project: Project) -> str:
    length = f", {project.audio_duration:.0f} s" if project.audio_duration else ""
    return f"{PROJECT[project.status][0].lower()}{length}"


async def find_projects(resources: Resources[MVSettings], principal: Principal, text: str) -> list[SearchHit]:
    """Projects, among the newest that the user may see, with all words of a text in their title or concept."""
    store, words = resources.store, text.lower().split()
    if principal.may(Role.VIEWER):
        pages = [store.query(Project.recent, status=status, limit=_SEARCHED) for status in ProjectStatus]
    else:
        pages = [store.query(Project.of_owner, owner_id=principal.owner, limit=_SEARCHED)]
    projects = [project for page in pages async for project in page if _has(project, words)]
    return [found_project(project) for project in projects[:_FOUND]]


def found_project(project: Project) -> SearchHit:
    """A project as a search result."""
    return SearchHit(project.title or project.concept_prompt, place_of(project.project_id), "Video", _about(project))


def _has(project: Project, words: Sequence[str]) -> bool:
    text = f"{project.title} {project.concept_prompt}".lower()
    return bool(words) and all(word in text for word in words)
