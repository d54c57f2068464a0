"""The list of tables: its rows, and searching them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.web.console.sizes import size_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.web.console.tables.table_snapshots import TableSnapshot
    from gateleg.web.console.theme import Kind

_LOOKS: dict[str, tuple[Kind, str, str]] = {
    "in sync": ("done", "In sync", "check_circle"),
    "missing": ("warning", "Not deployed", "add_circle"),
    "differs": ("warning", "Differs", "difference"),
    "needs a new table": ("failed", "Needs a new table", "error"),
    "not declared": ("waiting", "Not declared", "help"),
    "unknown": ("failed", "Unknown", "cloud_off"),
}
_MEANS = {
    "in sync": "The deployed table matches its declaration.",
    "missing": "Declared, but not deployed yet.",
    "differs": "The deployed table differs from its declaration, and can be updated.",
    "needs a new table": "The deployed table cannot be updated to match its declaration.",
    "not declared": "Deployed, but not declared by any installed application.",
    "unknown": "The table could not be read.",
}


@dataclass(frozen=True)
class ListedTable:
    """A table in the list."""

    name: str
    state: str
    #: the state in a sentence
    means: str
    entities: tuple[str, ...]
    items: int
    bytes: int
    indexes: tuple[str, ...]
    patterns: int
    declared: bool


def row_of(snapshot: TableSnapshot) -> ListedTable:
    """The row of a table."""
    table = snapshot.table
    description = snapshot.description or {}
    deployed = [*description.get("GlobalSecondaryIndexes", ()), *description.get("LocalSecondaryIndexes", ())]
    indexes = tuple(index.name for index in table.indexes) if table else tuple(index["IndexName"] for index in deployed)
    specs = table.specs if table else ()
    patterns = sum(len(spec.patterns) for spec in specs)
    means = snapshot.trouble or _MEANS[snapshot.state]
    names = tuple(spec.name for spec in specs)
    return ListedTable(snapshot.name, snapshot.state, means, names, snapshot.items, snapshot.bytes, indexes, patterns, table is not None)


def badge_of(state: str) -> tuple[Kind, str, str]:
    """The badge of a state."""
    return _LOOKS[state]


def search(rows: Iterable[ListedTable], text: str) -> list[ListedTable]:
    """The rows whose name, entities, indexes or state contain all words of a text."""
    words = text.lower().split()
    return [row for row in rows if all(word in _haystack(row) for word in words)]


def _haystack(row: ListedTable) -> str:
    return " ".join((row.name, row.state, *row.entities, *row.indexes)).lower()


def totals(rows: Iterable[ListedTable]) -> str:
    """The totals of all rows, in a sentence."""
    rows = list(rows)
    items, size = sum(row.items for row in rows), sum(row.bytes for row in rows)
    declared = sum(row.declared for row in rows)
    tables = "1 table" if len(rows) == 1 else f"{len(rows)} tables"
    others = "" if declared == len(rows) else f", {len(rows) - declared} of them not declared"
    return f"{tables}{others}; about {items:,} {'item' if items == 1 else 'items'}, {size_text(size)}"
