"""Export and import items as lines of JSON.

Lines are `{"Item": {...}}` in DynamoDB JSON, as in AWS's exports (`gateleg.export_format`), or plain JSON. Expired items and the markers of
unique constraints are included, so that an import restores the table exactly.

Browse a table with scans, a page of items at a time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from gateleg.export_format import item_line, item_of
from gateleg.model import DecodeError, Table
from gateleg.model.errors import LookupNeeded
from gateleg.model.tables import is_marker
from gateleg.ops.plain_json import from_plain, plain_text, special_types
from gateleg.ops.values import check_item
from gateleg.store import TableMissing
from gateleg.store.flow import Request
from gateleg.store.operations import ScanProgress, scan
from gateleg.store.operations.operation import batch_write_flow, item_key
from gateleg.store.operations.reads import is_legacy
from gateleg.store.operations.tables import describe
from gateleg.store.setup import Position, RateLimiter, request_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model import Item, Spec
    from gateleg.store import Store
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["BadLine", "LineReader", "browse_flow"]


#: lines per batch and per progress report
CHUNK = 200


class BadLine(ValueError):
    """A line that is not a valid item of the table."""


@dataclass(frozen=True)
class FaultyLine:
    """A line that cannot be imported, and the reason."""

    line: int
    why: str


def stored_items(table: Table, setup: Setup, start: Item | None = None) -> Flow[None]:
    """Scan every item of a table, including markers and expired items, from the beginning or after a key."""
    return scan(table, progress=ScanProgress({0: start}), markers=True).flow(replace(setup, expired=True))


def line_of(item: Item, plain: bool) -> bytes:
    """An item as a line."""
    return plain_text(item).encode() + b"\n" if plain else item_line(item)


class LineReader:
    """Parses lines as items of a table and refuses invalid ones."""

    def __init__(self, table: Table, plain: bool) -> None:
        self.table = table
        self.plain = plain
        self._types = special_types(table) if plain else {}
        self._kinds = table.key_types()

    def item(self, line: bytes) -> Item:
        """Parse a line; raises `BadLine` if it is invalid."""
        try:
            text = line.decode()
            item = from_plain(text, self._types) if self.plain else _wire_item(text)
            check_item(item, self.table, self._kinds)
        except UnicodeDecodeError:
            raise BadLine("not UTF-8") from None
        except json.JSONDecodeError as error:
            raise BadLine(f"not JSON: {error.msg} at column {error.colno}") from None
        except ValueError as error:
            raise BadLine(str(error)) from None
        if self.table.specs and not is_marker(self.table, item):
            self._check(item)
        return item

    def _check(self, item: Item) -> None:
        """Validate the item against the model, if the table is declared."""
        spec = self.table.spec_for(item)
        if spec is None and any(is_legacy(item, one) for one in self.table.specs):
            return
        if spec is None:
            raise BadLine(f"no entity of {self.table.name} has such a key")
        try:
            spec.decode(item)
        except LookupNeeded:
            # Valid, but decoding it needs other items of the store.
            return
        except DecodeError as error:
            raise BadLine(str(error)) from None

    def faults(self, lines: IO[bytes]) -> Iterator[FaultyLine | None]:
        """Yield for each non-blank line its error, or None."""
        for number, line in numbered(lines):
            try:
                self.item(line)
            except BadLine as error:
                yield FaultyLine(number, str(error))
            else:
                yield None


def numbered(lines: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines with their line numbers."""
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def load(store: Store, reader: LineReader, lines: IO[bytes], first: int = 1) -> Iterator[int]:
    """Write the items of all lines from line `first` on. Yields the number of the last written line after each batch."""
    name = store.setup.name_of(reader.table)
    chunk: dict[Any, dict[str, Any]] = {}
    last = count = 0
    for number, line in numbered(lines):
        if number < first:
            continue
        item = reader.item(line)
        key = {part: item[part] for part in reader.table.attributes}
        chunk[item_key(name, key)] = {"PutRequest": {"Item": item}}
        last, count = number, count + 1
        if count == CHUNK:
            store.drive(batch_write_flow(chunk, store.setup, "tables import"))
            yield last
            chunk, count = {}, 0
    if chunk:
        store.drive(batch_write_flow(chunk, store.setup, "tables import"))
        yield last


def _wire_item(line: str) -> Item:
    content = json.loads(line)
    item = item_of(content)
    if not isinstance(item, dict) or len(content) != 1:
        raise ValueError('not of the form {"Item": {...}}; use --plain for plain JSON')
    return item


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
