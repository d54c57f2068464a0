"""How a table is laid out in SQLite: a row per item, and a row per item in each index that holds it.

A base row is `(k, size, v)`: the key in order-preserving bytes, the size that DynamoDB counts, the item as wire JSON. An index row is
`(k, b, size, v)`: the index key, the base row's key, and, unless the index projects everything, the projected item. Entries of equal keys
follow the range key of the table in a local index, and a hash of the table's key in a global one.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import apsw
import orjson

from gateleg.engine import copies, drops, keys
from gateleg.engine.entries import HASH_KEY_LIMIT, RANGE_KEY_LIMIT, SURELY_SHORT, IndexLayout, IndexWrite, Statement, carry_out
from gateleg.engine.errors import EmptyKeyError, EngineError, invalid_parameter, validation
from gateleg.engine.schema import KeySchema, Table
from gateleg.engine.values import Item, size, text_size

#: Sets of attributes for which a table remembers what a write of them touches.
_KEPT = 512
#: How many rows are kept in mind after a change, and the most bytes of one (or of the names above): no more than a processor keeps at hand.
_RECENT = 64
_SMALL = 8192


@dataclass(frozen=True, slots=True)
class Touched:
    """What a write of some attributes can change in the indexes of a table."""

    #: The keys of indexes among them, each once, with the type that it must have.
    keys: tuple[tuple[str, str], ...]
    indexes: tuple[IndexLayout, ...]


class Layout:
    """A table's rows and those of its indexes."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.name = f"items_{table.id}"
        self.key: Callable[[Item], bytes] = keys.builder(table.keys.hash, table.keys.range)
        self.indexes = tuple(IndexLayout(index, table.keys, self.name) for index in table.indexes)
        self.select = f"SELECT k, size, v FROM {self.name}"
        self.get = f"SELECT size, v FROM {self.name} WHERE k = ?"
        self.put = f"INSERT INTO {self.name} VALUES (?, ?, ?) ON CONFLICT(k) DO UPDATE SET size = excluded.size, v = excluded.v"
        self.update = f"UPDATE {self.name} SET size = ?, v = ? WHERE k = ?"
        self.swap = f"UPDATE {self.name} SET size = ?, v = ? WHERE k = ? AND v = ?"
        self.delete = f"DELETE FROM {self.name} WHERE k = ?"
        #: for each copy of the rows that is under way, what must be done before a row changes, and also before it goes
        self._preserving = tuple(copies.preserving(self.name, target) for target in table.copies)
        self._tie = keys.tie(table.keys.attributes) if table.keys.range else None
        #: size and content of rows as they were left lately; they may be others by now, if another process has written
        self.recent: dict[bytes, tuple[int, bytes]] = {}
        #: what is known of the updates of each statement (`operations/update_plans.py`)
        self.update_plans: dict[Hashable, Any] = {}
        self._touched: dict[frozenset[str], Touched] = {}
        self._attributes = tuple((a.name, a.type) for a in table.keys.attributes)
        self._texts = tuple(name for name, _ in self._attributes) if all(type_ == "S" for _, type_ in self._attributes) else None

    @cached_property
    def indexes_by_name(self) -> tuple[IndexLayout, ...]:
        """The indexes in the order of their names, in which DynamoDB looks for faults."""
        return tuple(sorted(self.indexes, key=lambda layout: layout.index.name))

    @cached_property
    def _index_keys(self) -> tuple[tuple[str, str], ...]:
        """The attributes of all keys of indexes, each once, with their types."""
        return tuple({(a.name, a.type): None for layout in self.indexes for a in layout.index.keys.attributes})

    @cached_property
    def by_name(self) -> dict[str, IndexLayout]:
        """The indexes by their names."""
        return {layout.index.name: layout for layout in self.indexes}

    def request_key(self, key: Any) -> bytes:
        """The row key of a request's `Key`, which must hold the key attributes and nothing else."""
        attributes = self._attributes
        if len(key) != len(attributes):
            raise validation("The provided key element does not match the schema")
        for name, type_ in attributes:
            value = key.get(name)
            if value is None or type_ not in value:
                raise validation("The provided key element does not match the schema")
        self._check_key_values(key)
        return self.key(key)

    def quick_key(self, key: Any) -> bytes | None:
        """`request_key` for the plain case, without a look at anything else: short, non-empty texts. None if a closer look is needed."""
        texts = self._texts
        if texts is None or type(key) is not dict or len(key) != len(texts):
            return None
        for name in texts:
            value = key.get(name)
            if type(value) is not dict or len(value) != 1:
                return None
            content = value.get("S")
            if type(content) is not str or not 0 < len(content) <= SURELY_SHORT:
                return None
        try:
            return self.key(key)
        except UnicodeEncodeError:
            return None

    def item_key(self, item: Item) -> bytes:
        """The row key of an item to be put; index keys are checked too."""
        for name, type_ in self._attributes:
            value = item.get(name)
            if value is None:
                raise invalid_parameter(f"Missing the key {name} in the item")
            if type_ not in value:
                raise invalid_parameter(f"Type mismatch for key {name} expected: {type_} actual: {next(iter(value))}")
        self._check_key_values(item)
        for name, wanted in self._index_keys:
            value = item.get(name)
            if value is not None and not 0 < len(value.get(wanted, "")) <= SURELY_SHORT:
                for index in self.indexes_by_name:
                    index.check(item)
                break
        return self.key(item)

    def check_scalar(self, nested: frozenset[str]) -> None:
        """Refuse to look into an attribute that is part of a key."""
        for name in self.table.keys.names:
            if name in nested:
                raise _not_scalar("Key", name)
        for layout in self.indexes:
            for name in layout.index.keys.names:
                if name in nested:
                    raise _not_scalar("IndexKey", name)

    def _check_key_values(self, item: Mapping[str, Any]) -> None:
        hash_ = self._attributes[0]
        for position, (name, type_) in enumerate(self._attributes):
            content = item[name][type_]
            if not content:
                kind = "string" if type_ == "S" else "binary"
                raise EmptyKeyError(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
                    f"empty {kind} value. Key: {name}"
                )
            if position == 0:
                if len(content) > HASH_KEY_LIMIT // 4 and size({hash_[1]: content}) > HASH_KEY_LIMIT:
                    raise invalid_parameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
            elif len(content) > RANGE_KEY_LIMIT // 4 and size({type_: content}) > RANGE_KEY_LIMIT:
                raise invalid_parameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")

    def tie(self, key: bytes, item: Item) -> bytes:
        """What orders an item's entries among others of the same key in a global index; `key` is its row key, which may begin with it."""
        return key[: keys.HASH_BYTES] if self._tie is None else self._tie(item)

    def touched(self, attributes: frozenset[str]) -> Touched:
        """What a write of these attributes can change in the indexes."""
        found = self._touched.get(attributes)
        if found is None:
            own = {a.name: a.type for layout in self.indexes_by_name for a in layout.index.keys.attributes if a.name in attributes}
            found = Touched(tuple(own.items()), tuple(layout for layout in self.indexes if layout.depends_on(attributes)))
            if sum(map(len, attributes)) <= _SMALL:
                if len(self._touched) >= _KEPT:
                    self._touched.clear()
                self._touched[attributes] = found
        return found

    def write(
        self, connection: apsw.Connection, key: bytes, old: Item | None, new: Item | None, new_size: int, written: frozenset[str] | None
    ) -> None:
        """Replace one item by another, or by nothing, in the table and in its indexes.

        `old` may be left out where there are no indexes. `written` are the only attributes in which the two may differ, if that is known.
        """
        for ahead, last in self._preserving:
            connection.execute(ahead, (key,))
            if new is None:
                connection.execute(last, (key,))
        if new is None:
            connection.execute(self.delete, (key,))
        elif old is None:
            connection.execute(self.put, (key, new_size, orjson.dumps(new)))
        else:
            content = orjson.dumps(new)
            connection.execute(self.update, (new_size, content, key))
            self.remember(key, new_size, content)
        carry_out(connection, self.entries(key, old, new, new_size, written))

    def entries(self, key: bytes, old: Item | None, new: Item | None, new_size: int, written: frozenset[str] | None) -> list[Statement]:
        """What brings the indexes in line with a write."""
        item = old if new is None else new
        if not self.indexes or item is None:
            return []
        tie = self.tie(key, item)
        found = []
        for layout in self.indexes if old is None or written is None else self.touched(written).indexes:
            needs = layout.needs
            if (new is not None and needs in new) or (old is not None and needs in old):
                statement = layout.replacement(key, tie, old, new, new_size)
                if statement is not None:
                    found.append(statement)
        return found

    def remember(self, key: bytes, bytes_: int, content: bytes) -> None:
        """Keep in mind what a row holds that was changed just now: rows that are changed are often changed again soon."""
        recent = self.recent
        recent.pop(key, None)
        if len(content) <= _SMALL:
            if len(recent) >= _RECENT:
                del recent[next(iter(recent))]
            recent[key] = bytes_, content

    def index_writes(self, old: Item | None, new: Item | None) -> list[IndexWrite]:
        """What it means for the indexes that one item takes the place of another."""
        return [write for write in (layout.written(old, new) for layout in self.indexes) if write is not None]

    def create(self, connection: apsw.Connection) -> None:
        """Make room for the table's rows.

        They lie in the order in which they came, with an index of their keys: keys come in the order of hashes, and a table laid out by
        them would touch another page with every new item.
        """
        connection.execute(f"CREATE TABLE {self.name}(k BLOB PRIMARY KEY, size INTEGER NOT NULL, v BLOB NOT NULL)")
        for layout in self.indexes:
            self.create_index(connection, layout)

    def create_index(self, connection: apsw.Connection, layout: IndexLayout) -> None:
        """Make room for an index's rows."""
        connection.execute(
            f"CREATE TABLE {layout.name}(k BLOB NOT NULL, b BLOB NOT NULL, size INTEGER NOT NULL, v BLOB, PRIMARY KEY(k, b)) WITHOUT ROWID"
        )

    def drop(self, connection: apsw.Connection) -> None:
        """Remove all rows of the table and of its indexes."""
        for name in (self.name, *(layout.name for layout in self.indexes)):
            drops.drop(connection, name)

    def items(self, connection: apsw.Connection) -> Iterator[tuple[bytes, int, bytes]]:
        """All base rows, in key order."""
        yield from connection.execute(f"{self.select} ORDER BY k")


def _not_scalar(role: str, name: str) -> EngineError:
    return validation(f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}: {name}")


def key_item(schema: KeySchema, item: Item) -> Item:
    """Only the key attributes of an item."""
    return {name: item[name] for name in schema.names}


def key_size(schema: KeySchema, item: Item) -> int:
    """Bytes of the key attributes of an item."""
    return sum(text_size(name) + size(item[name]) for name in schema.names)
