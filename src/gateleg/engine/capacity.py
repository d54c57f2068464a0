"""What DynamoDB counts: the capacity units that it would charge, and the bytes that fill a page.

Units come in the forms that ReturnConsumedCapacity can request. A page is measured by DynamoDB's storage format, not by the size that it
bills: a name takes one byte, values carry their lengths, and each 3 KB of an item carry a header and its range key again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from gateleg.engine.expressions.conditions import are_equal
from gateleg.engine.layout import IndexWrite
from gateleg.engine.schema import Index, Table
from gateleg.engine.values import Item, item_size, size

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
    return 0.0 if are_equal({"M": removed}, {"M": added}) else write_units(max(item_size(removed), item_size(added)))


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
    for name, stored in sizes:
        spent[name] = spent.get(name, 0.0) + 2 * read_units(stored, True)
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


PAGE_BYTES: Final = 1024 * 1024
#: Smaller items count with their billed size: the difference moves the end of a page by an item or two at most.
LARGE_ITEM_BYTES: Final = 4096
#: No page below this is full, whatever its items.
NEVER_FULL_BYTES: Final = PAGE_BYTES // 2

_CHUNK: Final = 3072
_CHUNK_HEAD: Final = 18
_HEAD: Final = 2


class PageMeter:
    """Detects when a page is full. Until `NEVER_FULL_BYTES`, only rows of at least `LARGE_ITEM_BYTES` need to be reported to it."""

    __slots__ = ("_excess", "_range", "_waiting")

    def __init__(self, range_: str | None) -> None:
        self._range = range_
        self._waiting: list[tuple[int, bytes]] = []
        self._excess = 0

    def full(self, bytes_: int, stored: bytes, total: int) -> bool:
        """Whether this row of `bytes_` bytes fills the page; `total` counts it and all rows before."""
        if bytes_ >= LARGE_ITEM_BYTES:
            self._waiting.append((bytes_, stored))
        if total < NEVER_FULL_BYTES:
            return False
        for counted, row in self._waiting:
            self._excess += response_size(orjson.loads(row), self._range) - counted
        self._waiting.clear()
        return total + self._excess >= PAGE_BYTES


def response_size(item: Item, range_: str | None) -> int:
    """Bytes of a page that an item takes; `range_` names the table's range key."""
    repeated = _CHUNK_HEAD
    content = 0
    for name, value in item.items():
        if name == range_:
            repeated += size(value)
        else:
            content += 1 + _stored(value)
    return _HEAD + content + (1 + (1 + content) // _CHUNK) * repeated


def _stored(value: dict[str, Any]) -> int:
    ((tag, content),) = value.items()
    if tag == "S":
        bytes_ = size(value)
        return bytes_ + (1 if bytes_ < 128 else 2 if bytes_ < 16384 else 3)
    if tag in ("N", "B"):
        return size(value) + 1
    if tag in ("SS", "NS", "BS"):
        return size(value) + len(content) + 1
    if tag == "L":
        return 3 + sum(1 + _stored(member) for member in content)
    if tag == "M":
        return 3 + sum(2 + _stored(member) for member in content.values())
    return 1 if tag == "BOOL" else 0
