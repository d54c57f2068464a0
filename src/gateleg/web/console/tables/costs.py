"""Cost of a table: its billing mode, the sizes of its indexes, and the estimated and measured cost of each pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.ops import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model import Table
    from gateleg.store.observing import Tally


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
