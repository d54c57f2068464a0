"""The console's pages about tables: what is declared and deployed, what can be asked, and the items themselves.

list_page       `/tables`
table_page      `/tables/{name}`, with a module for each of its tabs
item_page       `/tables/{name}/item`, and `/tables/{name}/new`

What they show is decided by pure modules: `surveys`, `listing`, `diagrams`, `questions`, `inputs`, `grids`, `sheets`, `documents`,
`snippets`, `costs` and `rules`. `answers` reads, `saving` writes, and `changes` writes on behalf of who looks.
"""

from pathlib import Path

from nicegui import ui

from gateleg.web.console.patience import PATIENT
from gateleg.web.console.tables import item_page, list_page, table_page

__all__ = ["register"]


def register() -> None:
    """Make the pages known to the console."""
    ui.add_css(Path(__file__).parent / "tables.css", shared=True)
    for path, page in (
        ("/tables", list_page.tables),
        ("/tables/{name}", table_page.table),
        ("/tables/{name}/item", item_page.item),
        ("/tables/{name}/new", item_page.new_item),
    ):
        ui.page(path, response_timeout=PATIENT)(page)
