"""`/tables`: declared and deployed tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.item_keys import table_address
from gateleg.web.console.cells import Badge, Column, Row, chip_cell, meta_cell
from gateleg.web.console.failures import empty
from gateleg.web.console.forms import Field
from gateleg.web.console.frame import frame
from gateleg.web.console.lists import address, show_when_loaded
from gateleg.web.console.markup import card, size_text, tag
from gateleg.web.console.tables.table_snapshots import ListedTable, badge_of, row_of, search, take_snapshots, totals
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.host.host import Host
    from gateleg.web.console.tables.table_snapshots import TableSnapshot

#: The maximum number of entities named for a table.
_NAMED = 3
_COLUMNS = (
    Column("name", "Table"),
    Column("state", "State"),
    Column("owner", "Belongs to"),
    Column("entities", "Holds", wraps=True),
    Column("patterns", "Patterns", right=True, desk=True),
    Column("indexes", "Indexes", right=True, desk=True),
    Column("items", "Items", right=True),
    Column("size", "Size", right=True),
)


async def tables(q: str = "") -> None:
    """The page."""
    with frame(title="Tables", section="tables", titled=False) as view:
        owners = owners_of(view.host)
        finders: list[Callable[[str], None]] = []

        def typed(text: str) -> None:
            for find in finders:
                find(text)
            ui.run_javascript(f"history.replaceState(null, '', {json.dumps(address('/tables', {'q': text.strip()}))})")

        with tag("div", classes="head"):
            with tag("div", classes="titles"):
                tag("h1", "Tables")
                said = tag("p", "Declared and deployed tables.", "meta")
            Field("Search tables", q, kind="search", placeholder="Name, entity, index or state", on_change=typed).classes("seek")

        def show(found: list[TableSnapshot]) -> None:
            rows = [row_of(snapshot) for snapshot in found]
            said.set_text(totals(rows))
            if not rows:
                empty("table", "No tables yet", "Declare a table and its entities in Python; they are listed here with their state.")
                return
            with card("tight", label="All tables"):
                grid = Grid("Tables", _COLUMNS, complete=True, filterable=False)
                nothing = empty("search", "No matching tables", "Search for a part of a name, an entity, an index, or a state.")

            def find(text: str) -> None:
                hits = search(rows, text)
                grid.show(grid_rows(hits, owners))
                grid.set_visibility(bool(hits))
                nothing.set_visibility(not hits)

            find(q)
            finders.append(find)

        await show_when_loaded(take_snapshots(view.host.store, view.host.tables), show, rows=8, saying="Reading the tables")


def owners_of(host: Host) -> Mapping[str, str]:
    """The application of each table, by its title."""
    return {table.name: application.title for application in host.applications for table in application.tables}


def entities_text(names: Sequence[str]) -> str:
    """The entities of a table; if there are many, the first and the number of the others."""
    shown = names if len(names) <= _NAMED else names[: _NAMED - 1]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")


def grid_rows(rows: Sequence[ListedTable], owners: Mapping[str, str]) -> list[Row]:
    """The rows as the grid shows them."""
    return [
        Row(
            row.name,
            {
                "name": row.name,
                "state": chip_cell(Badge(*badge_of(row.state))),
                "owner": owners.get(row.name) or (meta_cell("Gateleg") if row.declared else meta_cell("no application")),
                "entities": entities_text(row.entities) if row.entities else meta_cell("unknown"),
                "patterns": str(row.patterns),
                "indexes": str(len(row.indexes)),
                "items": f"{row.items:,}",
                "size": size_text(row.bytes),
            },
            table_address(row.name),
        )
        for row in rows
    ]
