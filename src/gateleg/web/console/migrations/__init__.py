"""The console's pages about migrations: the state of each, and actions on it.


list_page        `/migrations`
migration_page   `/migrations/{application}/{number}`
stage_page       `/migrations/{application}/{number}/{move}/{stage}`

Pure modules, `labels` and `actions`, decide what they show; `topics` reads, and `buttons` submits jobs on behalf of the caller.
"""

from pathlib import Path

from nicegui import ui

from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.migrations import list_page, migration_page, stage_page

__all__ = ["register"]


def register() -> None:
    """Register the pages."""
    ui.add_css(Path(__file__).parent / "migrations.css", shared=True)
    for path, page in (
        ("/migrations", list_page.migrations),
        ("/migrations/{application}/{number}", migration_page.migration),
        ("/migrations/{application}/{number}/{move}/{stage}", stage_page.stage),
    ):
        ui.page(path, response_timeout=PAGE_TIMEOUT_SECONDS)(page)
