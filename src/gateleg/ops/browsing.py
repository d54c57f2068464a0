"""Looking into a table: some items at a time, whatever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model import Table
from gateleg.store.cursors import Position, question_of
from gateleg.store.errors import TableMissing
from gateleg.store.lifecycle import describe
from gateleg.store.scanning import Progress

if TYPE_CHECKING:
    from gateleg.model import Item, Spec
    from gateleg.store.synchronous import Store

_PAGE = 100


@dataclass(frozen=True)
class Glimpse:
    """Some items of a table, in no order that means anything."""

    items: list[Item]
    #: where to go on; None at the end of the table
    cursor: str | None
    #: how many items were looked at
    examined: int


def browse(
    store: Store, table: Table, *, spec: Spec[Any] | None = None, limit: int = 20, cursor: str | None = None, examine: int = 10_000
) -> Glimpse:
    """The next items of a table, or of one entity in it. At most `examine` items are looked at for one answer."""
    question = _question(store, table)
    start = store.setup.cursors.open(cursor, question).starts[0] if cursor else None
    found: list[Item] = []
    last: Item | None = None
    examined = 0
    size = limit + 1 if spec is None else _PAGE
    for item in store.scan(table, progress=Progress({0: start}), page_size=min(size, _PAGE * 10)):
        if len(found) >= limit or examined >= examine:
            return Glimpse(found, _seal(store, table, last, question), examined)
        examined += 1
        last = item
        if spec is None or table.spec_for(item) is spec:
            found.append(item)
    return Glimpse(found, None, examined)


def position_after(store: Store, table: Table, item: Item) -> str:
    """A cursor to what follows an item."""
    return _seal(store, table, item, _question(store, table))


def position_of(store: Store, table: Table, cursor: str) -> Item | None:
    """The key after which a cursor goes on."""
    return store.setup.cursors.open(cursor, _question(store, table)).starts[0]


def _question(store: Store, table: Table) -> bytes:
    return question_of(["scan", store.setup.name_of(table)])


def _seal(store: Store, table: Table, item: Item | None, question: bytes) -> str:
    assert item is not None
    return store.setup.cursors.seal(Position(({name: item[name] for name in table.attributes},)), question)


def found_table(store: Store, name: str) -> Table:
    """A table that no one has declared, as far as its description goes: its name and its keys."""
    description = store.drive(describe(store.setup.prefix + name))
    if description is None:
        raise TableMissing(f"There is no table {store.setup.prefix + name}.", fix="Check its name, the prefix and the store.")
    keys = {entry["KeyType"]: entry["AttributeName"] for entry in description["KeySchema"]}
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in description["AttributeDefinitions"]}
    return Table(name, hash=keys["HASH"], range=keys.get("RANGE"), types={key: types[key] for key in keys.values()})
