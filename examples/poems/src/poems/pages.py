"""The page of the application, at /poems."""

from nicegui import ui

from gateleg.host import Resources
from gateleg.web.console.components import frame
from poems import service
from poems.settings import PoemSettings


def register_pages(resources: Resources[PoemSettings]) -> None:
    """Register the page."""

    @ui.page("/poems")
    async def show() -> None:
        with frame(title="Poems", section="poems") as view:
            for poem in await service.poems_of(resources, view.principal):
                ui.label(f"{poem.title}: {'not set yet' if poem.lines is None else f'{poem.lines} lines'}")
