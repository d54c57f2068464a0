"""The latest results of the applications, as tiles."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.web.console.loading import show_when_loaded
from gateleg.web.console.markup import section, tag
from gateleg.web.console.times import ago

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.web.application import Application
    from gateleg.web.console.frame import View
    from gateleg.web.contributions import Tile

#: The maximum number of tiles of an application.
_MAX_TILES = 4


async def tiles_section(view: View) -> None:
    """A row for each application: its latest results, or its description while there are none."""
    for application in view.host.applications:
        if application.pages is None and application.tiles is None:
            continue
        with section(application.title):
            await show_when_loaded(_tiles(view, application), partial(_row, application), rows=3)


async def _tiles(view: View, application: Application) -> Sequence[Tile]:
    if application.tiles is None:
        return ()
    return await application.tiles(view.host.resources[application.name], view.principal)


def _row(application: Application, things: Sequence[Tile]) -> None:
    with tag("div", classes="tiles"):
        for thing in things[:_MAX_TILES]:
            _tile(thing, application.icon)
        if not things:
            with tag("a", classes="card thing", href=f"/{application.name}"):
                with tag("div", classes="thing-picture"):
                    ui.icon(application.icon)
                tag("span", f"Open {application.title}", "strong")
                tag("span", application.about, "meta")


def _tile(thing: Tile, icon: str) -> None:
    with tag("a", classes="card thing", href=thing.href):
        with tag("div", classes="thing-picture"):
            if thing.picture is not None:
                tag("img", src=thing.picture, alt="", loading="lazy")
            else:
                ui.icon(icon)
        tag("span", thing.title, "strong clip")
        with tag("span", classes="line gap-1 meta"):
            tag("span", thing.about, "clip")
            if thing.at is not None:
                ago(thing.at)
