"""The items of a table, page by page. Browsing them consumes read capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.web.console.actions import button, carry_out
from gateleg.web.console.confirm import confirm
from gateleg.web.console.empty import empty
from gateleg.web.console.loading import show_when_loaded
from gateleg.web.console.markup import card, tag
from gateleg.web.console.paging import pager
from gateleg.web.console.tables.changes import delete_item
from gateleg.web.console.tables.grids import item_name, key_text, table_address
from gateleg.web.console.tables.items_grid import items_grid
from gateleg.web.console.tables.meters import cost_text
from gateleg.web.console.tables.query_results import MAX_UNITS_PER_SECOND, scan_page
from gateleg.web.console.tables.rules import why_not_change, why_not_read
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Item, Spec, Table
    from gateleg.web.console.frame import View
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

        async def work() -> None:
            for key in self._keys:
                await delete_item(self._view, self._table, self._items[key])

        if await carry_out(self._view, Role.OPERATOR, work, f"{items} deleted"):
            ui.navigate.reload()
