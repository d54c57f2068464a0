"""The console's pages about migrations: where each stands, and what an operator does with it.

list_page        `/migrations`
migration_page   `/migrations/{application}/{number}`
stage_page       `/migrations/{application}/{number}/{move}/{stage}`

What they show is decided by pure modules, `shown` and `offers`; `looking` reads, and `deeds` submits jobs on behalf of who looks.
"""

from pathlib import Path

from nicegui import ui

from gateleg.web.console.migrations import list_page, migration_page, stage_page
from gateleg.web.console.patience import PATIENT

__all__ = ["register"]


def register() -> None:
    """Make the pages known to the console."""
    ui.add_css(Path(__file__).parent / "migrations.css", shared=True)
    for path, page in (
        ("/migrations", list_page.migrations),
        ("/migrations/{application}/{number}", migration_page.migration),
        ("/migrations/{application}/{number}/{move}/{stage}", stage_page.stage),
    ):
        ui.page(path, response_timeout=PATIENT)(page)
