"""How one table lies in SQLite: a row per item, and a row per item in each index that holds it.

A base row is `(k, size, v)`: the key in order-preserving bytes, the size that DynamoDB counts, the item as wire JSON. An index row is
`(k, b, size, v)`: the index key, the base row's key, and, unless the index projects everything, the projected item. Entries of equal keys
follow the range key of the table in a local index, and a hash of the table's key in a global one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import apsw
import orjson

from gateleg.engine import keys
from gateleg.engine.errors import EmptyKeyError, EngineError, invalid_parameter, validation
from gateleg.engine.schema import Index, KeyAttribute, KeySchema, Table
from gateleg.engine.values import Item, item_size, size, text_size

HASH_KEY_LIMIT = 2048
RANGE_KEY_LIMIT = 1024
#: Characters of which no text of UTF-8 is over a key's limit.
_SHORT = RANGE_KEY_LIMIT // 4


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """What a write did to one index: the item whose entry it took out, the one whose entry it put in, and whether the key is the same."""

    layout: "IndexLayout"
    removed: Item | None
    added: Item | None
    in_place: bool


class IndexLayout:
    """An index's rows."""

    def __init__(self, index: Index, base: KeySchema, base_name: str) -> None:
        self.index = index
        self.name = f"index_{index.id}"
        self._build = keys.builder(index.keys.hash, index.keys.range)
        self._tie = keys.tie(base.attributes) if index.kind == "GSI" else None
        self._attributes = index.keys.attributes
        self._whole = index.projection == "ALL"
        #: attributes that an entry holds; none if it holds all
        self.projected: frozenset[str] | None = None if self._whole else frozenset((*index.keys.names, *base.names, *index.include))
        joined = f"FROM {self.name} i CROSS JOIN {base_name} t ON t.k = i.b"
        #: k, size, v, b of the entries with the base row's item, and their own size
        self.select_whole = f"SELECT i.k, t.size, t.v, i.b, i.size {joined}"
        #: k, size, v, b of the entries, with the projected item
        self.select = f"SELECT i.k, t.size, t.v, i.b {joined}" if self._whole else f"SELECT i.k, i.size, i.v, i.b FROM {self.name} i"
        self.insert = f"INSERT OR REPLACE INTO {self.name} VALUES (?, ?, ?, ?)"
        self.delete = f"DELETE FROM {self.name} WHERE k = ? AND b = ?"

    def key(self, item: Item) -> bytes | None:
        """The item's key in this index, or none if the index does not hold it."""
        for attribute in self._attributes:
            value = item.get(attribute.name)
            if value is None or attribute.type not in value:
                return None
        return self._build(item) if self._tie is None else self._build(item) + self._tie(item)

    def project(self, item: Item) -> Item:
        """What an entry of this index holds of an item."""
        projected = self.projected
        return item if projected is None else {name: value for name, value in item.items() if name in projected}

    def entry(self, item: Item, base_size: int) -> tuple[int, bytes | None]:
        """The size and, unless it is the base row's, the content of an item's entry."""
        if self._whole:
            return base_size, None
        projected = self.project(item)
        return item_size(projected), orjson.dumps(projected)

    def check(self, item: Mapping[str, Any]) -> None:
        """Refuse an item whose attributes do not fit this index's key."""
        for attribute in self._attributes:
            value = item.get(attribute.name)
            if value is not None:
                _check_index_attribute(self.index, attribute, value)


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
        self.delete = f"DELETE FROM {self.name} WHERE k = ?"
        self._attributes = tuple((a.name, a.type) for a in table.keys.attributes)
        self._texts = tuple(name for name, _ in self._attributes) if all(type_ == "S" for _, type_ in self._attributes) else None

    @cached_property
    def indexes_by_name(self) -> tuple[IndexLayout, ...]:
        """The indexes in the order of their names, in which DynamoDB looks for faults."""
        return tuple(sorted(self.indexes, key=lambda layout: layout.index.name))

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
        if self._texts is None or len(key) != len(self._texts):
            return None
        for name in self._texts:
            value = key.get(name)
            if type(value) is not dict or len(value) != 1:
                return None
            content = value.get("S")
            if type(content) is not str or not 0 < len(content) <= _SHORT:
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
        if self.indexes:
            for index in self.indexes_by_name:
                index.check(item)
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
                if len(content) > 680 and size({hash_[1]: content}) > HASH_KEY_LIMIT:
                    raise invalid_parameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
            elif len(content) > 340 and size({type_: content}) > RANGE_KEY_LIMIT:
                raise invalid_parameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")

    def write(self, connection: apsw.Connection, key: bytes, old: Item | None, new: Item | None, new_size: int) -> list[IndexWrite]:
        """Replace one item by another, or by nothing, in the table and in its indexes."""
        if new is None:
            connection.execute(self.delete, (key,))
        else:
            connection.execute(self.put, (key, new_size, orjson.dumps(new)))
        return self.write_indexes(connection, key, old, new, new_size) if self.indexes else []

    def write_indexes(self, connection: apsw.Connection, key: bytes, old: Item | None, new: Item | None, new_size: int) -> list[IndexWrite]:
        """Bring the indexes in line with a changed item."""
        done = []
        for layout in self.indexes:
            was = layout.key(old) if old is not None else None
            now = layout.key(new) if new is not None else None
            if was is None and now is None:
                continue
            if was is not None and was != now:
                connection.execute(layout.delete, (was, key))
            if new is not None and now is not None and (was != now or layout.projected is not None):
                connection.execute(layout.insert, (now, key, *layout.entry(new, new_size)))
            done.append(IndexWrite(layout, old if was is not None else None, new if now is not None else None, was == now))
        return done

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
            connection.execute(f"DROP TABLE IF EXISTS {name}")

    def items(self, connection: apsw.Connection) -> Iterator[tuple[bytes, int, bytes]]:
        """All base rows, in key order."""
        yield from connection.execute(f"{self.select} ORDER BY k")


def _not_scalar(role: str, name: str) -> EngineError:
    return validation(f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}: {name}")


def _check_index_attribute(index: Index, attribute: KeyAttribute, value: Mapping[str, Any]) -> None:
    content = value.get(attribute.type)
    if content is None:
        raise invalid_parameter(
            f"Type mismatch for Index Key {attribute.name} Expected: {attribute.type} Actual: {next(iter(value))} IndexName: {index.name}"
        )
    if not content:
        kind = "string" if attribute.type == "S" else "binary"
        raise EmptyKeyError(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue "
            f"for a key attribute cannot contain an empty {kind} value. IndexName: {index.name}, IndexKey: {attribute.name}"
        )
    check_index_key_size(index, attribute, content)


def check_index_key_size(index: Index, attribute: KeyAttribute, content: str) -> None:
    """Refuse a value that is too long for a key of an index."""
    limit = HASH_KEY_LIMIT if attribute in index.keys.hash else RANGE_KEY_LIMIT
    if len(content) > limit // 3 and size({attribute.type: content}) > limit:
        raise _index_key_too_long(index, attribute, limit)


def _index_key_too_long(index: Index, attribute: KeyAttribute, limit: int) -> EngineError:
    if limit == HASH_KEY_LIMIT:
        return invalid_parameter(
            f"Size of hashkey has exceeded the maximum size limit of2048 bytes. IndexName: {index.name}, IndexKey: {attribute.name}"
        )
    return invalid_parameter(
        f"Aggregated size of all range keys has exceeded the size limit of 1024 bytes. IndexName: {index.name}, IndexKey: {attribute.name}"
    )


def key_item(schema: KeySchema, item: Item) -> Item:
    """Only the key attributes of an item."""
    return {name: item[name] for name in schema.names}


def key_size(schema: KeySchema, item: Item) -> int:
    """Bytes of the key attributes of an item."""
    return sum(text_size(name) + size(item[name]) for name in schema.names)
