"""Browse a table with scans, a page of items at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import Table
from gateleg.model.tables import is_marker
from gateleg.store import TableMissing
from gateleg.store.flow import Request
from gateleg.store.operations.tables import describe
from gateleg.store.setup import Position, RateLimiter, request_digest

if TYPE_CHECKING:
    from gateleg.model import Item, Spec
    from gateleg.store import Store
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["browse_flow"]

_PAGE = 200


@dataclass(frozen=True)
class ScanPage:
    """A page of items, in no particular order."""

    items: list[Item]
    #: the position after the page; None at the end of the table
    cursor: str | None
    #: number of items examined
    examined: int


def browse(
    store: Store, table: Table, *, spec: Spec[Any] | None = None, limit: int = 20, cursor: str | None = None, examine: int = 10_000
) -> ScanPage:
    """A page of items of a table, or of one of its entities (`spec`). Examines at most `examine` items."""
    return store.drive(browse_flow(store.setup, table, spec=spec, limit=limit, cursor=cursor, examine=examine))


def browse_flow(
    setup: Setup,
    table: Table,
    *,
    spec: Spec[Any] | None = None,
    limit: int = 20,
    cursor: str | None = None,
    examine: int = 10_000,
    units_per_second: float | None = None,
) -> Flow[ScanPage]:
    """`browse` as a flow, for sync and async stores. `units_per_second` limits the read units that it uses."""
    question = _question(setup, table)
    start = setup.cursors.open(cursor, question).starts[0] if cursor else None
    rate = None if units_per_second is None else RateLimiter(units_per_second, setup)
    found: list[Item] = []
    examined = 0
    page = limit + 1 if spec is None else _PAGE
    while True:
        payload: dict[str, Any] = {"TableName": setup.name_of(table), "Limit": min(page, examine - examined)}
        payload |= {"ExclusiveStartKey": start} if start else {}
        response = yield Request("Scan", payload, f"{table.name} browse")
        for item in response["Items"]:
            examined += 1
            if is_marker(table, item) or (spec is not None and table.spec_for(item) is not spec):
                continue
            if len(found) == limit:
                return ScanPage(found, _seal(setup, table, found[-1], question), examined)
            found.append(item)
        start = response.get("LastEvaluatedKey")
        if start is None:
            return ScanPage(found, None, examined)
        if examined >= examine:
            return ScanPage(found, _seal(setup, table, start, question), examined)
        if rate is not None:
            yield from rate.charge(response)


def position_after(store: Store, table: Table, item: Item) -> str:
    """A cursor to the position after an item."""
    return _seal(store.setup, table, item, _question(store.setup, table))


def position_of(store: Store, table: Table, cursor: str) -> Item | None:
    """The key after which a cursor continues."""
    return store.setup.cursors.open(cursor, _question(store.setup, table)).starts[0]


def _question(setup: Setup, table: Table) -> bytes:
    return request_digest(["scan", setup.name_of(table)])


def _seal(setup: Setup, table: Table, item: Item, question: bytes) -> str:
    return setup.cursors.seal(Position(({name: item[name] for name in table.attributes},)), question)


def described_table(store: Store, name: str) -> Table:
    """A table that is not declared, from its DescribeTable: name and keys only. Raises `TableMissing`."""
    description = store.drive(describe(store.setup.prefix + name))
    if description is None:
        raise TableMissing(f"There is no table {store.setup.prefix + name}.", fix="Check its name, the prefix and the store.")
    keys = {entry["KeyType"]: entry["AttributeName"] for entry in description["KeySchema"]}
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in description["AttributeDefinitions"]}
    return Table(name, hash=keys["HASH"], range=keys.get("RANGE"), types={key: types[key] for key in keys.values()})
