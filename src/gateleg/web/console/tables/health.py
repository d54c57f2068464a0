"""Capacity: the billing mode and size of the table, and the cost of its patterns.

Cost of a table: its billing mode, the sizes of its indexes, and the estimated and measured cost of each pattern.

Drift and lint: how the deployed table differs from its declaration, and likely mistakes in the declaration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.durations import duration
from gateleg.model.inspection import lint
from gateleg.ops import explain
from gateleg.web.console.cells import Badge, Column, Row, chip, meta_cell, mono_cell
from gateleg.web.console.failures import empty
from gateleg.web.console.markup import card, section, size_text, tag
from gateleg.web.console.tables.snippets import StoreLocation
from gateleg.web.console.tables.table_snapshots import badge_of, row_of
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.migrate import Plan
    from gateleg.model import Table
    from gateleg.model.inspection import Finding
    from gateleg.store.observing import Tally
    from gateleg.web.console.frame import View
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


@dataclass(frozen=True)
class CostPart:
    """The table or one of its indexes, as measured by the service."""

    name: str
    kind: str
    items: int
    bytes: int
    #: provisioned units per second; None for on-demand billing
    read: int | None
    write: int | None


@dataclass(frozen=True)
class PatternCost:
    """The cost of an access pattern or a verb."""

    name: str
    #: estimated read units for 100 items of 1 KB; None for a verb
    on_paper: float | None
    requests: int
    errors: int
    items: int
    units: float
    #: average seconds of a request
    mean: float
    longest: float


def billing(description: Mapping[str, Any]) -> str:
    """The billing mode of a table, in a sentence."""
    mode = description.get("BillingModeSummary", {}).get("BillingMode")
    units = description.get("ProvisionedThroughput", {})
    read, write = units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
    if mode == "PAY_PER_REQUEST" or not (read or write):
        return "On-demand billing: you pay for requests and storage only."
    return f"Provisioned: {read:,} read and {write:,} write units per second are billed, used or not."


def parts_of(description: Mapping[str, Any]) -> list[CostPart]:
    """The table and its indexes."""
    found = [_part("the table", "table", description, description.get("TableSizeBytes", 0))]
    for member, kind in (("GlobalSecondaryIndexes", "global index"), ("LocalSecondaryIndexes", "local index")):
        indexes = description.get(member, ())
        found += [_part(index["IndexName"], kind, index, index.get("IndexSizeBytes", 0)) for index in indexes]
    return found


def _part(name: str, kind: str, source: Mapping[str, Any], size: int) -> CostPart:
    units = source.get("ProvisionedThroughput", {})
    read, write = units.get("ReadCapacityUnits") or None, units.get("WriteCapacityUnits") or None
    return CostPart(name, kind, int(source.get("ItemCount", 0)), int(size), read, write)


def pattern_costs(table: Table, tallies: Mapping[tuple[str, str], Tally]) -> list[PatternCost]:
    """Every declared pattern, then the verbs that were used on the table's entities, most expensive first."""
    by_label: dict[str, list[Tally]] = {}
    for (label, _), tally in tallies.items():
        by_label.setdefault(label, []).append(tally)
    patterns = {access.name: access for spec in table.specs for access in spec.patterns.values()}
    paper = {name: explain(access).cost.units for name, access in patterns.items()}
    others = [label for label in by_label if label not in patterns and _concerns(table, label)]
    rows = [_cost(name, paper.get(name), by_label.get(name, [])) for name in (*patterns, *others)]
    return sorted(rows, key=lambda row: (-row.units, row.name))


def _concerns(table: Table, label: str) -> bool:
    """Whether a metric label belongs to the table: `Book.get`, `Library browse`."""
    owner = label.split(".")[0].split(" ")[0]
    return owner == table.name or any(spec.name == owner for spec in table.specs)


def _cost(name: str, on_paper: float | None, tallies: list[Tally]) -> PatternCost:
    requests = sum(tally.requests for tally in tallies)
    seconds = sum(tally.seconds for tally in tallies)
    return PatternCost(
        name,
        on_paper,
        requests,
        sum(tally.errors for tally in tallies),
        sum(tally.items for tally in tallies),
        sum(tally.units for tally in tallies),
        seconds / requests if requests else 0.0,
        max((tally.longest for tally in tallies), default=0.0),
    )


def health_tab(view: View, snapshot: TableSnapshot, table: Table) -> None:
    """The tab."""
    with section("Drift"), card("roomy", label="Drift"):
        with tag("div", classes="line gap-1"):
            chip(Badge(*badge_of(snapshot.state)))
            tag("span", row_of(snapshot).means)
        if snapshot.plan is not None and not snapshot.plan.done:
            _plan(view, snapshot.plan, table)
        for note in snapshot.plan.notes if snapshot.plan is not None else ():
            tag("p", note, "meta")
    with section("Lint"):
        found = list(dict.fromkeys(lint(table)))
        if not found:
            with card():
                empty("check", "No lint findings", "The declaration has no likely mistakes.")
        for code in dict.fromkeys(finding.code for finding in found):
            _rule(code, [finding for finding in found if finding.code == code])


def _plan(view: View, plan: Plan, table: Table) -> None:
    """The migration steps, and the command that runs them."""
    with tag("ol", classes="steps"):
        for step in plan.steps:
            with tag("li"):
                tag("span", f"{step.title[:1].upper()}{step.title[1:]}.", "strong")
                if step.loses:
                    tag("span", f"Loses: {step.loses}", "loses")
                if step.note:
                    tag("span", step.note, "meta")
        for reason in plan.rebuild:
            with tag("li"):
                tag("span", f"{reason[:1].upper()}{reason[1:]}.", "strong")
                tag("span", "DynamoDB cannot change this in place: it needs a new table.", "meta")
    modules = dict.fromkeys(spec.entity.__module__ for spec in table.specs)
    location = StoreLocation.of(view.host.settings)
    words = ["gateleg", "tables", "apply", *location.options, "--only", table.name, "--billing", "keep"]
    words += [word for module in modules for word in ("--tables", module)]
    command = location.command(table, words)
    tag("p", "Apply the changes with this command; it asks before a step that loses data.", "meta")
    tag("pre", command, "code wrap")
    with tag("div"):
        tag("button", "Copy", "deed small", type="button", data_copy=command)


def _rule(code: str, findings: list[Finding]) -> None:
    """One lint rule with its explanation, then each finding."""
    with card("roomy", label=code):
        with tag("div", classes="line gap-1"):
            ui.icon("lightbulb").style("color:var(--warning)")
            tag("h3", code.replace("-", " ").capitalize())
            tag("span", code, "plain-chip mono")
        tag("p", findings[0].why, "meta")
        with tag("ul", classes="remarks"):
            for finding in findings:
                with tag("li"):
                    tag("span", finding.where, "mono strong")
                    tag("span", finding.message)
        for fix in dict.fromkeys(finding.fix for finding in findings):
            with tag("div", classes="line gap-1"):
                ui.icon("arrow_forward").style("color:var(--muted)")
                tag("span", fix)
