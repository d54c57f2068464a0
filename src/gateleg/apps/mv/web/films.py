"""The films of a project: a player for the current one, and all versions with downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.mv import object_keys, rules
from gateleg.model.inspection import refused_object_keys
from gateleg.web.console.components import ago, card, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import FinalVersion, Project
    from gateleg.apps.mv.web.views import Links
    from gateleg.host import Resources
    from gateleg.web.console.components import View

_NAMES = {
    "poster": "Poster",
    "contact-sheet": "Contact sheet",
    "captions": "Captions",
    "edit-list": "Edit list",
    "16:9": "Wide film",
    "9:16": "Tall film",
    "1:1": "Square film",
}


async def player_part(project: Project, films: Sequence[FinalVersion], links: Links) -> None:
    """A player for the current film."""
    current = next((film for film in films if film.number == project.final_version), None)
    poster = None if current is None else await links.maybe(current.companions.get("poster"))
    shape = project.aspect_ratio.replace(":", " / ")
    url = await links.maybe(project.final_output_s3_key) or await links.url(object_keys.final_key(project.project_id))
    with tag("div", classes="mv-player"):
        player = tag("video", controls=True, preload="metadata", playsinline=True, src=url, poster=poster, aria_label="The film")
        player.style(f"aspect-ratio:{shape}")


async def films_part(view: View, resources: Resources[MVSettings], project: Project, films: Sequence[FinalVersion], links: Links) -> None:
    """All versions, newest first, with downloads."""
    with card("stack gap-2", label="Versions"):
        tag("h2", "Versions")
        for film in films:
            with tag("div", classes="mv-version"):
                with tag("div", classes="line gap-1"):
                    tag("span", f"Version {film.number}", "strong num")
                    tag("span", f"{film.duration:.1f} s", "meta num")
                    ago(film.created_at)
                    if refused_object_keys(film):
                        tag("span", "files missing", "plain-chip")
                    if film.number == project.final_version:
                        tag("span", "current", "plain-chip")
                with tag("div", classes="line gap-1"):
                    await _download("Film", film.video_s3_key, links, f"video_{film.number}.mp4")
                    for name, key in film.companions.items():
                        await _download(_NAMES.get(name, name), key, links, key.rsplit("/", 1)[-1])
                for words in film.warnings:
                    tag("p", words, "meta")
        if rules.may_see(view.principal, project.owner_id):
            with tag("a", classes="deed small", href=f"/api/mv/projects/{project.project_id}/export", download=True):
                ui.icon("folder_zip")
                tag("span", "Everything as a ZIP")


async def _download(name: str, key: str, links: Links, file: str) -> None:
    url = await links.maybe(key)
    if url is not None:
        tag("a", name, "link meta", href=url, download=file)
