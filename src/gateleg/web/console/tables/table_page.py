"""`/tables/{name}`: one table, with its access patterns, items and state.

The schema document of a table, generated from its declaration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.item_keys import table_address
from gateleg.host.items import readable_table, undeclared_table
from gateleg.model.inspection import lint
from gateleg.ops import document
from gateleg.web.console.cells import Badge, chip
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import ErrorText, empty, trouble
from gateleg.web.console.frame import Crumb, frame
from gateleg.web.console.markup import card, size_text, tag
from gateleg.web.console.tables.diagrams import table_svg
from gateleg.web.console.tables.health import capacity_tab, health_tab
from gateleg.web.console.tables.items_tab import items_tab
from gateleg.web.console.tables.patterns_tab import patterns_tab
from gateleg.web.console.tables.state_drawings import state_svg
from gateleg.web.console.tables.table_snapshots import badge_of, row_of, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.host.host import Host
    from gateleg.model import Table
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.table_snapshots import TableSnapshot


CRUMBS = (Crumb("Tables", "/tables"),)


@dataclass(frozen=True)
class ResolvedTable:
    """A table found by its address."""

    snapshot: TableSnapshot
    table: Table

    @property
    def stored(self) -> Table:
        """The table by which its items are decoded."""
        return readable_table(self.table, self.snapshot.description)


async def find_table(host: Host, name: str) -> ResolvedTable | None:
    """The declared or deployed table with a name; None if there is none."""
    declared = next((table for table in host.tables if table.name == name), None)
    snapshot = await take_snapshot(host.store, name, declared)
    if declared is not None:
        return ResolvedTable(snapshot, declared)
    return None if snapshot.description is None else ResolvedTable(snapshot, undeclared_table(name, snapshot.description))


def show_table_not_found(name: str) -> None:
    """Show that there is no such table."""
    sentence = f"No declared or deployed table is called {name}. It may have been deleted, or the prefix may be different."
    empty("table", "Table not found", sentence, button="All tables", href="/tables")


async def table(name: str, tab: str = "") -> None:
    """The page."""
    with frame(title=name, section="tables", crumbs=CRUMBS, titled=False, wide=tab == "items") as view:
        found = await find_table(view.host, name)
        if found is None:
            tag("h1", name)
            show_table_not_found(name)
            return
        _head(found)
        if found.snapshot.trouble:
            trouble(ErrorText(found.snapshot.trouble, "The store failed to describe this table. Its declaration is shown."))
        tabs = _tabs(found)
        chosen = tab if tab in dict(tabs) else tabs[0][0]
        with tag("nav", classes="tabs", aria_label=f"Parts of {name}"):
            for key, (word, count) in tabs:
                current = "page" if key == chosen else None
                with tag("a", classes="tab", href=table_address(name, {"tab": key}), aria_current=current):
                    tag("span", word)
                    if count:
                        tag("span", str(count), "count")
        if chosen in ("patterns", "items") and found.snapshot.plan is not None and not found.snapshot.plan.done:
            with tag("div", classes="note warning"):
                tag("span", f"{row_of(found.snapshot).means} Queries and writes here may fail. ")
                tag("a", "See how they differ", "link", href=table_address(name, {"tab": "health"}))
        await _show(view, found, chosen, dict(view.request.query_params))


def _head(found: ResolvedTable) -> None:
    snapshot, row = found.snapshot, row_of(found.snapshot)
    with tag("div", classes="head"), tag("div", classes="titles"):
        with tag("div", classes="line gap-2"):
            tag("h1", snapshot.name)
            chip(Badge(*badge_of(snapshot.state)), large=True).props["title"] = row.means
        holds = f"Holds {', '.join(row.entities)}. " if row.entities else ""
        tag("p", f"{holds}About {row.items:,} {'item' if row.items == 1 else 'items'}, {size_text(row.bytes)}.", "meta")


def _tabs(found: ResolvedTable) -> list[tuple[str, tuple[str, int]]]:
    """The tabs of a table, with counts."""
    plan, declared = found.snapshot.plan, bool(found.table.specs)
    differences = len(plan.steps) + len(plan.rebuild) if plan is not None else 0
    patterns = sum(len(spec.patterns) for spec in found.table.specs)
    tabs: list[tuple[str, tuple[str, int]]] = [
        ("patterns", ("Patterns" if declared else "Keys and indexes", patterns)),
        ("items", ("Items", 0)),
        ("schema", ("Schema document", 0)),
        ("health", ("Drift and lint", differences + (len(lint(found.table)) if declared else 0))),
        ("capacity", ("Capacity", 0)),
    ]
    return [entry for entry in tabs if declared or entry[0] in ("patterns", "items", "capacity")]


async def _show(view: View, found: ResolvedTable, chosen: str, query: Mapping[str, str]) -> None:
    if chosen == "items":
        await items_tab(view, found.stored, query)
    elif chosen == "schema":
        schema_tab(found.table)
    elif chosen == "health":
        health_tab(view, found.snapshot, found.table)
    elif chosen == "capacity":
        capacity_tab(view, found.snapshot, found.table)
    else:
        await patterns_tab(view, found.table, query)


_DIAGRAM = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)


def schema_tab(table: Table) -> None:
    """The tab: the document to read, copy and download."""
    text = document(table)
    with tag("div", classes="line gap-1 spread fill"):
        tag("p", "Generated from the declaration, so it is always up to date.", "meta")
        with tag("div", classes="line gap-1"):
            tag("button", "Copy Markdown", "deed small", type="button", data_copy=text)
            button("Download", lambda: ui.download.content(text, f"{table.name}.md", "text/markdown"), icon="download", look="small")
    with card("prose", label="Schema document"):
        drawings = drawings_of(table)
        for kind, part in parts_of(text):
            if kind == "text":
                ui.markdown(part, extras=["tables", "fenced-code-blocks"])
            else:
                ui.html(next(drawings), sanitize=False).classes("drawn").props["tabindex"] = "0"


def drawings_of(table: Table) -> Iterator[str]:
    """Our diagrams in the order of the document's: the table, then the states of each attribute that has some."""
    yield table_svg(table)
    for spec in table.specs:
        for attribute in spec.attributes.values():
            if attribute.state:
                yield state_svg(attribute.declared.type)


def parts_of(document: str) -> list[tuple[str, str]]:
    """The document without its title, which the page shows already: texts and diagrams in turn."""
    _, _, body = document.partition("\n\n")
    pieces = _DIAGRAM.split(body)
    kinds = ("text", "diagram")
    return [(kinds[number % 2], piece.strip()) for number, piece in enumerate(pieces) if piece.strip()]
