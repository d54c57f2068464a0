"""Capacity units: what DynamoDB would charge, in the forms that ReturnConsumedCapacity can request."""

from collections.abc import Iterable, Mapping
from typing import Any

from gateleg.engine.entries import IndexWrite
from gateleg.engine.expressions.compare import equal
from gateleg.engine.schema import Index, Table
from gateleg.engine.values import item_size

READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024


#: Partitions of a new on-demand table.
ON_DEMAND_PARTITIONS = 4


def read_units(size: int, consistent: bool, partitions: int = 1) -> float:
    """Units for reading `size` bytes from a number of partitions, at least one each; half as many for eventual consistency."""
    units = max(partitions, -(-size // READ_UNIT_BYTES))
    return float(units) if consistent else units / 2


def write_units(size: int) -> float:
    """Units for writing an item of `size` bytes."""
    return float(max(1, -(-size // WRITE_UNIT_BYTES)))


def write_capacity(
    mode: str | None, table: Table, old_size: int | None, new_size: int | None, indexes: Iterable[IndexWrite], factor: int = 1
) -> dict[str, Any] | None:
    """The ConsumedCapacity of a write, if requested. In transactions, `factor` 2 applies to the table but not to its indexes."""
    if mode not in {"TOTAL", "INDEXES"}:
        return None
    base = write_units(max(old_size or 0, new_size or 0)) * factor
    entries = {w.layout.index.name: (w.layout.index, _index_write_units(w)) for w in indexes}
    return consumed(mode, table, base, {name: entry for name, entry in entries.items() if entry[1]})


def _index_write_units(write: IndexWrite) -> float:
    """Units for removing one entry and adding another: one write if the key is the same, none if nothing changes."""
    removed, added = (None if item is None else write.layout.project(item) for item in (write.removed, write.added))
    if removed is None or added is None or not write.in_place:
        return sum(write_units(item_size(entry)) for entry in (removed, added) if entry is not None)
    return 0.0 if equal({"M": removed}, {"M": added}) else write_units(max(item_size(removed), item_size(added)))


def consumed(mode: str | None, table: Table, base: float, indexes: Mapping[str, tuple[Index, float]]) -> dict[str, Any] | None:
    """A ConsumedCapacity with the units of a table and its indexes."""
    if mode not in {"TOTAL", "INDEXES"}:
        return None
    response: dict[str, Any] = {"TableName": table.name, "CapacityUnits": base + sum(units for _, units in indexes.values())}
    if mode == "INDEXES":
        response["Table"] = {"CapacityUnits": base}
        for kind, member in (("LSI", "LocalSecondaryIndexes"), ("GSI", "GlobalSecondaryIndexes")):
            of_kind = {name: {"CapacityUnits": units} for name, (index, units) in indexes.items() if index.kind == kind}
            if of_kind:
                response[member] = of_kind
    return response


def add(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any] | None:
    """The sum of two ConsumedCapacity values of one table."""
    if first is None or second is None:
        return first or second
    response = dict(first)
    for member, value in second.items():
        have = response.get(member)
        if isinstance(value, dict):
            response[member] = add(have or {}, value) if have is not None else value
        elif isinstance(value, (int, float)):
            response[member] = (have or 0) + value
        else:
            response[member] = value
    return response


def transaction_reads(mode: str | None, sizes: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """The ConsumedCapacity of a transaction's reads, given tables and item sizes; empty if not requested."""
    if mode not in {"TOTAL", "INDEXES"}:
        return []
    spent: dict[str, float] = {}
    for name, size in sizes:
        spent[name] = spent.get(name, 0.0) + 2 * read_units(size, True)
    return [_with_units({"TableName": name, **_table_units(mode, units)}, "Read") for name, units in spent.items()]


def _table_units(mode: str | None, units: float) -> dict[str, Any]:
    return {"CapacityUnits": units, "Table": {"CapacityUnits": units}} if mode == "INDEXES" else {"CapacityUnits": units}


def transaction_writes(writes: Iterable[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """The ConsumedCapacity of a transaction's writes, by table."""
    spent: dict[str, dict[str, Any] | None] = {}
    for units in writes:
        if units is not None:
            spent[units["TableName"]] = add(spent.get(units["TableName"]), units)
    return [_with_units(units, "Write") for units in spent.values() if units is not None]


def _with_units(units: dict[str, Any], kind: str) -> dict[str, Any]:
    """Add the units again as read or write units, at every level."""
    response = {name: _with_units(value, kind) if isinstance(value, dict) else value for name, value in units.items()}
    if isinstance(response.get("CapacityUnits"), float):
        response[f"{kind}CapacityUnits"] = response["CapacityUnits"]
    return response
