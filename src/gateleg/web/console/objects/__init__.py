"""The console's pages about objects: folders, previews, links, and uploads.


folder_page     `/objects?prefix=...`
object_page     `/objects?key=...`

`folders`, `previews` and `contents` decide what is shown and accepted; `changes` acts on behalf of the caller.
"""

from pathlib import Path

from nicegui import ui

from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.objects.folder_page import folder_page
from gateleg.web.console.objects.object_page import object_page

__all__ = ["register"]


async def objects(prefix: str = "", cursor: str = "", key: str = "") -> None:
    """A folder, or the object that the address names."""
    if key:
        await object_page(key)
    else:
        await folder_page(prefix, cursor or None)


def register() -> None:
    """Register the pages."""
    ui.add_css(Path(__file__).parent / "objects.css", shared=True)
    ui.page("/objects", response_timeout=PAGE_TIMEOUT_SECONDS)(objects)
