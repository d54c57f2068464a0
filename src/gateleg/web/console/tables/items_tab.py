"""The items of a table, page by page. Browsing them consumes read capacity.

Items as a grid whose rows open them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.host.actions.items import ItemKey, ItemsToDelete, delete_items
from gateleg.host.item_keys import item_address, key_text, key_words, table_address
from gateleg.host.items import etag_of, why_not_change, why_not_read
from gateleg.web.console.actions import act
from gateleg.web.console.cells import Column, Row, ago_cell, id_cell, link_cell, meta_cell, mono_cell, tag_cell
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import empty
from gateleg.web.console.forms import confirm
from gateleg.web.console.lists import pager, show_when_loaded
from gateleg.web.console.markup import card, shortened, tag
from gateleg.web.console.tables.grids import grid_of, item_name, moment_of
from gateleg.web.console.tables.query_results import MAX_UNITS_PER_SECOND, addresses, cost_text, references, scan_page
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.cells import Cell
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.grids import ItemCell, ItemGrid, ItemRow
    from gateleg.web.console.tables.query_results import QueryResult


_LIMIT = 50


async def items_tab(view: View, table: Table, query: Mapping[str, str]) -> None:
    """The tab."""
    forbidden = why_not_read(view.principal, table.name)
    if forbidden:
        empty("table", "Not allowed", forbidden)
        return
    spec = next((spec for spec in table.specs if spec.name == query.get("entity")), None)
    cursor = query.get("cursor") or None
    state = {"tab": "items", "entity": spec.name if spec else ""}
    changeable = not why_not_change(view.principal, table.name)
    with tag("div", classes="line gap-2 spread fill"):
        _entities(table, spec)
        if changeable:
            _new(table, spec)

    def show(found: QueryResult) -> None:
        if not found.items and not cursor and not found.next:
            _nothing(table, spec, changeable)
            return
        with card("tight", label="Items"):
            with tag("div", classes="card-head"):
                cost = f"This page cost {cost_text(found.sent)}."
                tag("span", f"{cost} A scan is unordered, and reads at most {MAX_UNITS_PER_SECOND:,.0f} units per second.", "meta num")
                chosen = _Selection(view, table, found.items) if changeable else None
            if found.items:
                complete = not cursor and not found.next
                tables = view.host.tables_for(view.principal)
                items_grid(table, found.items, spec, tables=tables, complete=complete, on_choose=chosen.select if chosen else None)
            else:
                empty("search", "No matching items on this page", "There may be more on the next pages: a page reads some thousand items.")
        pager(f"/tables/{table.name}", state, cursor=cursor, following=found.next, shown=len(found.items))

    await show_when_loaded(scan_page(view.host.store, table, spec=spec, limit=_LIMIT, cursor=cursor), show, rows=12)


def _entities(table: Table, chosen: Spec[Any] | None) -> None:
    """The choice of entities."""
    with tag("nav", classes="choices", aria_label="Entities"):
        tag("a", "All", href=table_address(table.name, {"tab": "items"}), aria_current="true" if chosen is None else None)
        for spec in table.specs:
            href = table_address(table.name, {"tab": "items", "entity": spec.name})
            tag("a", spec.name, href=href, aria_current="true" if spec is chosen else None)


def _new(table: Table, spec: Spec[Any] | None) -> None:
    """The button for a new item, with a choice of entities if there are several."""
    names = [spec.name] if spec else [spec.name for spec in table.specs]
    if len(names) <= 1:
        query = f"?entity={names[0]}" if names else ""
        with tag("a", classes="deed first", href=f"{table_address(table.name)}/new{query}"):
            ui.icon("add")
            tag("span", f"New {names[0] if names else 'item'}")
        return
    with tag("button", classes="deed first", type="button", aria_haspopup="menu"):
        ui.icon("add")
        tag("span", "New item")
        with ui.menu().props("auto-close"):
            for name in names:
                tag("a", name, "menu-item", href=f"{table_address(table.name)}/new?entity={name}", role="menuitem")


def _nothing(table: Table, spec: Spec[Any] | None, changeable: bool) -> None:
    what = spec.name if spec else "item"
    sentence = f"Nothing is stored in {table.name} yet." if spec is None else f"{table.name} holds no {what} yet."
    first = spec or (table.specs[0] if table.specs else None)
    href = f"{table_address(table.name)}/new" + (f"?entity={first.name}" if first else "")
    empty("table", f"No {what} yet", sentence, button=f"Create the first {what}" if changeable else None, href=href if changeable else None)


class _Selection:
    """The selected rows, and the actions on them."""

    def __init__(self, view: View, table: Table, items: list[Item]) -> None:
        self._view, self._table = view, table
        self._items = {key_text(table, item): item for item in items}
        self._keys: list[str] = []
        with tag("span", classes="line gap-1") as self._bar:
            self._count = tag("span", "", "meta num", role="status")
            button("Delete", self._delete, icon="delete", look="small danger")
        self._bar.set_visibility(False)

    def select(self, keys: list[str]) -> None:
        """Set the selected rows."""
        self._keys = [key for key in keys if key in self._items]
        self._count.set_text(f"{len(self._keys)} selected")
        self._bar.set_visibility(bool(self._keys))

    async def _delete(self) -> None:
        count = len(self._keys)
        items = f"{count} {'item' if count == 1 else 'items'}"
        table = self._table
        names = [item_name(table, table.spec_for(self._items[key]), self._items[key]) for key in self._keys[:3]]
        rest = f" and {count - len(names)} more" if count > len(names) else ""
        loss = f"{', '.join(names)}{rest} will be deleted from {table.name}. Only a backup can restore them."
        if not await confirm(f"Delete {items}?", loss, verb=f"Delete {items}", name=self._table.name if count > 5 else None):
            return

        chosen = [ItemKey(key=key, etag=etag_of(table, self._items[key])) for key in self._keys]
        if await act(self._view, delete_items, ItemsToDelete(table=table.name, items=chosen), confirmed=True):
            ui.navigate.reload()


#: Further columns are only on the item's own page.
_COLUMNS = 12


def items_grid(
    table: Table,
    items: Sequence[Item],
    spec: Spec[Any] | None = None,
    *,
    tables: Sequence[Table] = (),
    complete: bool = False,
    on_choose: Callable[[list[str]], None] | None = None,
) -> Grid:
    """The grid of some items. A row's id is the item's key, as in the address.

    A `complete` list can be sorted and filtered in place. References to items of `tables` are links.
    """
    shown = grid_of(table, items, spec)
    columns = _columns(shown)
    known = references(spec, tables) if spec is not None else {}
    rows = [
        Row(
            row.key,
            _cells(shown.columns, row, known, addresses(spec, item, known) if spec is not None else {}),
            item_address(table.name, row.key),
            f"item {key_words(table, item)}",
        )
        for row, item in zip(shown.rows, items, strict=True)
    ]
    grid = Grid(f"Items of {table.name}", columns, rows, complete=complete, on_choose=on_choose)
    if len(shown.columns) > _COLUMNS:
        left = ", ".join(shown.columns[_COLUMNS:])
        tag("p", f"Further attributes, on the page of each item: {left}", "meta more-columns")
    return grid


def _columns(shown: ItemGrid) -> list[Column]:
    """The columns. Phones show the first ones, and states."""
    return [
        Column(str(number), name, right=_numbers(shown.rows, number), desk=number > 4 and not _states(shown.rows, number))
        for number, name in enumerate(shown.columns[:_COLUMNS])
    ]


def _cells(columns: Sequence[str], row: ItemRow, known: Mapping[str, Spec[Any]], links: Mapping[str, str]) -> dict[str, Cell]:
    drawn = {str(number): _drawn(cell, number, row.label) for number, cell in enumerate(row.cells[:_COLUMNS])}
    for number, name in enumerate(columns[:_COLUMNS]):
        if name not in links:
            continue
        text = shortened(row.cells[number].text)
        # The first text is the link to the item itself.
        drawn[str(number)] = link_cell(text, links[name]) if number else [text, link_cell(known[name].name, links[name])]
    return drawn


def _numbers(rows: Sequence[Any], number: int) -> bool:
    """Whether a column holds only numbers."""
    cells = [row.cells[number] for row in rows if row.cells[number].text]
    return bool(cells) and all(cell.look == "number" for cell in cells)


def _states(rows: Sequence[ItemRow], number: int) -> bool:
    """Whether a column holds states."""
    return any(row.cells[number].look == "state" for row in rows)


def _drawn(cell: ItemCell, number: int, label: str) -> Cell:
    if number == 0:
        # The first cell is the link to the item.
        return (shortened(cell.text, 60) if cell.look == "code" else cell.text) or label
    if not cell.text:
        return None
    if cell.look == "state":
        return tag_cell(cell.text)
    if cell.look == "time":
        return ago_cell(moment_of(cell.text))
    if cell.look == "code" and len(cell.text) == 36 and cell.text.count("-") == 4:
        return id_cell(cell.text)
    if cell.look == "code":
        return mono_cell(cell.title or cell.text)
    return meta_cell(cell.title or cell.text) if cell.look == "dim" else cell.text
