"""The deployed tables beside the declared ones, and their differences.

The list of tables: its rows, and searching them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.migrate import TableSettings, declared_shape, inspect_table, plan_table
from gateleg.store import StoreError
from gateleg.store.flow import Request
from gateleg.store.operations.tables import describe
from gateleg.web.console.markup import size_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.migrate import Plan
    from gateleg.model import Table
    from gateleg.store import AsyncStore
    from gateleg.store.flow import Flow
    from gateleg.web.console.theme import Kind


#: Billing, protection and tags depend on the environment; only what is declared is compared.
_SETTINGS = TableSettings(billing="keep")


@dataclass(frozen=True)
class TableSnapshot:
    """A table at one moment: declared, deployed, or both."""

    #: its name without the store's prefix, as in the address
    name: str
    #: None for a table that is not declared
    table: Table | None
    #: the response of DescribeTable; None for a table that is not deployed
    description: dict[str, Any] | None
    #: None for a table that is not declared
    plan: Plan | None = None
    #: why it could not be read; empty on success
    trouble: str = ""

    @property
    def items(self) -> int:
        """The service's count, which may be hours old."""
        return int((self.description or {}).get("ItemCount", 0))

    @property
    def bytes(self) -> int:
        """The service's size, which may be hours old."""
        return int((self.description or {}).get("TableSizeBytes", 0))

    @property
    def state(self) -> str:
        """The state compared with its declaration."""
        if self.trouble:
            return "unknown"
        return "not declared" if self.plan is None else self.plan.state


async def take_snapshots(store: AsyncStore, tables: Sequence[Table]) -> list[TableSnapshot]:
    """Snapshots of all declared tables, then of all other tables with the store's prefix."""
    prefix = store.setup.prefix
    declared = {store.setup.name_of(table) for table in tables}
    names = await store.drive(_list_table_names())
    others = sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix) and name not in declared)
    snapshots = [*(take_snapshot(store, table.name, table) for table in tables), *(take_snapshot(store, name, None) for name in others)]
    return list(await asyncio.gather(*snapshots))


async def take_snapshot(store: AsyncStore, name: str, table: Table | None) -> TableSnapshot:
    """A snapshot of one table. An error is part of the snapshot, so that one bad table does not hide the others."""
    try:
        description = await store.drive(describe(store.setup.prefix + name if table is None else store.setup.name_of(table)))
        if table is None:
            return TableSnapshot(name, None, description)
        wanted = declared_shape(table, name=store.setup.name_of(table))
        deployed = None if description is None else await store.drive(inspect_table(wanted.name, _SETTINGS))
        return TableSnapshot(name, table, description, plan_table(wanted, deployed, _SETTINGS))
    except StoreError as error:
        return TableSnapshot(name, table, None, trouble=error.message)


def _list_table_names() -> Flow[list[str]]:
    found: list[str] = []
    request: dict[str, Any] = {}
    while True:
        response = yield Request("ListTables", request, "tables")
        found += response["TableNames"]
        if "LastEvaluatedTableName" not in response:
            return found
        request = {"ExclusiveStartTableName": response["LastEvaluatedTableName"]}


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
