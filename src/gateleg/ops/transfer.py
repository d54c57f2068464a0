"""Export and import items as lines of JSON.

Lines are `{"Item": {...}}` in DynamoDB JSON, as in AWS's exports (`gateleg.export_format`), or plain JSON. Expired items and the markers of
unique constraints are included, so that an import restores the table exactly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from gateleg.export_format import item_line, item_of
from gateleg.model import DecodeError
from gateleg.model.errors import LookupNeeded
from gateleg.model.tables import is_marker
from gateleg.ops.plain_json import from_plain, plain_text, special_types
from gateleg.ops.values import check_item
from gateleg.store.operations import ScanProgress, scan
from gateleg.store.operations.operation import batch_write_flow, item_key
from gateleg.store.operations.reads import is_legacy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.model import Item, Table
    from gateleg.store import Store
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["BadLine", "LineReader"]

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
