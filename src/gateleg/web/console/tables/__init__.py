"""The console's pages about tables: declared and deployed tables, access patterns, and items.


list_page       `/tables`
table_page      `/tables/{name}`, with a module for each of its tabs
item_page       `/tables/{name}/item`, and `/tables/{name}/new`

Pure modules decide what they show: `table_snapshots`, `listing`, `diagrams`, `pattern_forms`, `inputs`, `grids`, `sheets`, `documents`,
`snippets`, `costs` and `rules`. `query_results` reads, `item_writes` writes, and `changes` writes on behalf of the caller.
"""

from pathlib import Path

from nicegui import ui

from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.tables import item_page, list_page, table_page

__all__ = ["register"]


def register() -> None:
    """Register the pages."""
    ui.add_css(Path(__file__).parent / "tables.css", shared=True)
    for path, page in (
        ("/tables", list_page.tables),
        ("/tables/{name}", table_page.table),
        ("/tables/{name}/item", item_page.item),
        ("/tables/{name}/new", item_page.new_item),
    ):
        ui.page(path, response_timeout=PAGE_TIMEOUT_SECONDS)(page)
