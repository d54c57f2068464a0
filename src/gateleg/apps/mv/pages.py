"""The console pages below `/mv`: the list of projects, a new project, templates, and one project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.mv.web.forms import CreateForm
from gateleg.apps.mv.web.gallery import gallery_page
from gateleg.apps.mv.web.project_page import project_page
from gateleg.apps.mv.web.template_pages import templates_page
from gateleg.apps.mv.web.urls import HOME, NEW, TEMPLATES
from gateleg.web.console.components import Crumb, card, frame
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.host import Resources


def register(resources: Resources[MVSettings]) -> None:
    """Register the pages with the console."""
    ui.add_css(Path(__file__).parent / "web" / "mv.css", shared=True)

    @ui.page(HOME, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def gallery(cursor: str = "", status: str = "") -> None:
        await gallery_page(resources, cursor, status)

    @ui.page(NEW, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def new() -> None:
        with frame(title="New video", section="mv", crumbs=[Crumb("Music videos", HOME)]) as view, card("narrow", label="New video"):
            CreateForm(resources.settings, min(resources.settings.song_bytes, view.host.settings.upload_limit))

    @ui.page(TEMPLATES, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def kept(cursor: str = "") -> None:
        await templates_page(resources, cursor)

    @ui.page(f"{HOME}/{{project}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def one(project: str, scene: str = "") -> None:
        await project_page(resources, project, scene)
