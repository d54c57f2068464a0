"""Capacity: the billing mode and size of the table, and the cost of its patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.durations import duration
from gateleg.web.console.cells import Column, Row, meta_cell, mono_cell
from gateleg.web.console.empty import empty
from gateleg.web.console.grid import Grid
from gateleg.web.console.markup import card, section, tag
from gateleg.web.console.sizes import size_text
from gateleg.web.console.tables.costs import billing, parts_of, pattern_costs

if TYPE_CHECKING:
    from gateleg.model import Table
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.costs import CostPart, PatternCost
    from gateleg.web.console.tables.table_snapshots import TableSnapshot

_PARTS = (
    Column("name", "Part"),
    Column("kind", "Kind"),
    Column("items", "Items, about", right=True),
    Column("size", "Size, about", right=True),
    Column("units", "Provisioned", right=True),
)
_SPENT = (
    Column("name", "Pattern or verb"),
    Column("paper", "Units for 100 items of 1 KB", right=True),
    Column("units", "Units so far", right=True),
    Column("requests", "Requests", right=True),
    Column("items", "Items", right=True, desk=True),
    Column("errors", "Errors", right=True),
    Column("mean", "Mean", right=True, desk=True),
    Column("longest", "Longest", right=True, desk=True),
)


def capacity_tab(view: View, snapshot: TableSnapshot, table: Table) -> None:
    """The tab."""
    if snapshot.description is None:
        empty("table", "Not deployed", "A table that is not deployed costs nothing. See Drift and lint for how to deploy it.")
        return
    with section("Size and billing"):
        tag("p", f"{billing(snapshot.description)} DynamoDB updates sizes about every six hours.", "meta")
        with card("tight"):
            Grid("Parts of the table", _PARTS, [_part_row(part) for part in parts_of(snapshot.description)])
    spent = pattern_costs(table, view.host.costs.by_pattern())
    if spent:
        with section("Cost of access patterns"):
            tag("p", "Measured by this host since it started, beside the estimate for 100 items.", "meta")
            with card("tight"):
                Grid("Cost by pattern", _SPENT, [_cost_row(entry) for entry in spent], complete=True)


def _part_row(part: CostPart) -> Row:
    units = meta_cell("on demand") if part.read is None else f"{part.read:,} read, {part.write or 0:,} write"
    cells = {"name": part.name, "kind": part.kind, "items": f"{part.items:,}", "size": size_text(part.bytes), "units": units}
    return Row(part.name, cells)


def _cost_row(entry: PatternCost) -> Row:
    used = entry.requests > 0
    return Row(
        entry.name,
        {
            "name": mono_cell(entry.name),
            "paper": None if entry.on_paper is None else f"{entry.on_paper:,g}",
            "units": f"{entry.units:,.10g}" if used else meta_cell("not used yet"),
            "requests": f"{entry.requests:,}",
            "items": f"{entry.items:,}",
            "errors": f"{entry.errors:,}",
            "mean": duration(entry.mean) if used else "",
            "longest": duration(entry.longest) if used else "",
        },
    )
