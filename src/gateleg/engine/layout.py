"""A table's layout in SQLite: one row per item, and one row per item in each index that holds it.

A base row is `(k, size, v)`: the row key, the size that DynamoDB counts, and the item as wire JSON. An index row is `(k, b, size, v)`:
the index key, the base row's key, and the projected item unless the index projects everything. Entries with equal keys are ordered by
the table's range key in an LSI, and by a hash of the table's key in a GSI. `Layout.write` changes the row of an item and its index rows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import apsw
import orjson

from gateleg.engine import keys, long_work
from gateleg.engine.errors import EmptyKeyError, EngineError, invalid_parameter, validation
from gateleg.engine.schema import Index, KeyAttribute, KeySchema, Table
from gateleg.engine.values import Item, item_size, size
from gateleg.plain import is_plain

_PLAIN = is_plain("quick_keys")
HASH_KEY_LIMIT = 2048
RANGE_KEY_LIMIT = 1024
#: A string of this many characters fits any key: no character takes more than four bytes.
ALWAYS_SHORT_ENOUGH = RANGE_KEY_LIMIT // 4
#: Attribute sets for which a table caches the affected indexes.
_MAX_CACHED_ATTRIBUTE_SETS = 512
#: The longest of these: names may have 64 KB each.
_MAX_CACHED_CHARACTERS = 8192


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """What a write did to one index: the item whose entry was removed, the one added, and whether the key stayed the same."""

    layout: "IndexLayout"
    removed: Item | None
    added: Item | None
    in_place: bool


class IndexLayout:
    """SQL, keys and projection of one index."""

    def __init__(self, index: Index, base: KeySchema, base_name: str) -> None:
        self.index = index
        self.name = f"index_{index.id}"
        #: items without this attribute have no entry
        self.required_attribute = index.keys.hash[0].name
        self._build_key = keys.index_key_builder(index.keys.hash, index.keys.range)
        self._tie_breaker = keys.tie_breaker(base.attributes) if index.kind == "GSI" else None
        self._attributes = index.keys.attributes
        self._projects_all = index.projection == "ALL"
        #: projected attributes; None for all
        self.projected: frozenset[str] | None = None if self._projects_all else frozenset((*index.keys.names, *base.names, *index.include))
        #: the same, sorted
        self._projected_names = tuple(sorted(self.projected or ()))
        joined = f"FROM {self.name} i CROSS JOIN {base_name} t ON t.k = i.b"
        #: k, size, v, b of entries joined with the base row's item, and the entry's own size
        self.select_whole = f"SELECT i.k, t.size, t.v, i.b, i.size {joined}"
        #: k, size, v, b of entries with the projected item
        self.select = f"SELECT i.k, t.size, t.v, i.b {joined}" if self._projects_all else f"SELECT i.k, i.size, i.v, i.b FROM {self.name} i"
        self.insert = f"INSERT OR REPLACE INTO {self.name} VALUES (?, ?, ?, ?)"
        self.delete = f"DELETE FROM {self.name} WHERE k = ? AND b = ?"
        self.move = f"UPDATE OR REPLACE {self.name} SET k = ?, size = ?, v = ? WHERE k = ? AND b = ?"

    def key(self, item: Item) -> bytes | None:
        """The item's key in this index, or None if the index does not hold the item."""
        key = self._valid_key(item)
        return key if key is None or self._tie_breaker is None else key + self._tie_breaker(item)

    def _valid_key(self, item: Item) -> bytes | None:
        """The item's key without the tie breaker, or None if the key is not valid.

        Writes refuse such keys, but an item that is older than the index can have one; it has no entry.
        """
        key = self._build_key(item)
        return key if key is None or len(key) <= ALWAYS_SHORT_ENOUGH or self._fits(item) else None

    def _fits(self, item: Item) -> bool:
        try:
            self.check(item)
        except EngineError:
            return False
        return True

    def depends_on(self, attributes: frozenset[str]) -> bool:
        """Whether changing these attributes of an item can change its entry."""
        return not attributes.isdisjoint(self.index.keys.names if self.projected is None else self.projected)

    def project(self, item: Item) -> Item:
        """The projected attributes of an item."""
        return item if self._projects_all else {name: item[name] for name in self._projected_names if name in item}

    def entry(self, item: Item, base_size: int) -> tuple[int, bytes | None]:
        """Size and content of an item's entry; no content if the base row holds it."""
        if self._projects_all:
            return base_size, None
        projected = self.project(item)
        return item_size(projected), orjson.dumps(projected)

    def key_change(self, old: Item | None, new: Item | None) -> tuple[bytes | None, bytes | None] | None:
        """The keys of an item's entry before and after a write, without the tie breaker; None if the entry stays as it is."""
        was = None if old is None else self._build_key(old)
        now = None if new is None else self._valid_key(new)
        if was == now and (was is None or self._projects_all or not self._differs(old, new)):
            return None
        return was, now

    def write(
        self,
        connection: apsw.Connection,
        key: bytes,
        tie_breaker: bytes,
        was: bytes | None,
        now: bytes | None,
        new: Item | None,
        new_size: int,
    ) -> None:
        """Move an entry from one key to another, as `key_change` found them; `key` is the item's row key.

        `tie_breaker` is the result of `Layout.tie_breaker`.
        """
        end = b"" if self._tie_breaker is None else tie_breaker
        if new is None or now is None:
            assert was is not None
            connection.execute(self.delete, (was + end, key))
            return
        size_, content = self.entry(new, new_size)
        if was is not None and was != now:
            connection.execute(self.move, (now + end, size_, content, was + end, key))
            if connection.changes():
                return
            # The index was created after the item, and does not have its old row.
        connection.execute(self.insert, (now + end, key, size_, content))

    def _differs(self, old: Item | None, new: Item | None) -> bool:
        """Whether the projected attributes of two items differ."""
        return old is None or new is None or any(old.get(name) != new.get(name) for name in self._projected_names)

    def index_write(self, old: Item | None, new: Item | None) -> IndexWrite | None:
        """What the replacement of one item by another does to this index; None if it holds neither."""
        was = None if old is None else self.key(old)
        now = None if new is None else self.key(new)
        if was is None and now is None:
            return None
        return IndexWrite(self, old if was is not None else None, new if now is not None else None, was == now)

    def check(self, item: Mapping[str, Any]) -> None:
        """Refuse an item whose attributes are not valid as keys of this index."""
        for attribute in self._attributes:
            value = item.get(attribute.name)
            if value is not None:
                _check_index_attribute(self.index, attribute, value)


@dataclass(frozen=True, slots=True)
class AffectedIndexes:
    """What a write of certain attributes can change in a table's indexes."""

    #: those attributes that are index keys, with their declared types
    keys: tuple[tuple[str, str], ...]
    indexes: tuple[IndexLayout, ...]


class Layout:
    """SQL, keys and indexes of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.name = f"items_{table.id}"
        self.key: Callable[[Item], bytes] = keys.row_key_builder(table.keys.hash, table.keys.range)
        self.indexes = tuple(IndexLayout(index, table.keys, self.name) for index in table.indexes)
        self.select = f"SELECT k, size, v FROM {self.name}"
        self.get = f"SELECT size, v FROM {self.name} WHERE k = ?"
        self.put = f"INSERT INTO {self.name} VALUES (?, ?, ?) ON CONFLICT(k) DO UPDATE SET size = excluded.size, v = excluded.v"
        self.update = f"UPDATE {self.name} SET size = ?, v = ? WHERE k = ?"
        self.delete = f"DELETE FROM {self.name} WHERE k = ?"
        #: for each copy in progress: the statement to run before a row changes, and the one to run before it is deleted
        self._copy_statements = tuple(long_work.copy_before_change(self.name, target) for target in table.copies)
        self._tie_breaker = keys.tie_breaker(table.keys.attributes) if table.keys.range else None
        self._affected_indexes: dict[frozenset[str], AffectedIndexes] = {}
        self._attributes = tuple((a.name, a.type) for a in table.keys.attributes)
        #: `request_key` for short, non-empty strings, the common case; None if the key needs the full checks
        self.quick_key: Callable[[Any], bytes | None] = lambda key: None
        if not _PLAIN and all(type_ == "S" for _, type_ in self._attributes):
            self.quick_key = keys.text_key_builder(tuple(name for name, _ in self._attributes), ALWAYS_SHORT_ENOUGH)

    @cached_property
    def indexes_by_name(self) -> tuple[IndexLayout, ...]:
        """The indexes in order of their names, as DynamoDB checks them."""
        return tuple(sorted(self.indexes, key=lambda layout: layout.index.name))

    @cached_property
    def _index_keys(self) -> tuple[tuple[str, str], ...]:
        """All index key attributes with their types, without duplicates."""
        return tuple({(a.name, a.type): None for layout in self.indexes for a in layout.index.keys.attributes})

    @cached_property
    def index_by_name(self) -> dict[str, IndexLayout]:
        """The indexes by name."""
        return {layout.index.name: layout for layout in self.indexes}

    def request_key(self, key: Any) -> bytes:
        """The row key of a request's `Key`, which must consist of exactly the key attributes."""
        attributes = self._attributes
        if len(key) != len(attributes):
            raise validation("The provided key element does not match the schema")
        for name, type_ in attributes:
            value = key.get(name)
            if value is None or type_ not in value:
                raise validation("The provided key element does not match the schema")
        self._check_key_values(key)
        return self.key(key)

    def item_key(self, item: Item) -> bytes:
        """The row key of an item to put, after checks of its table and index keys."""
        short = True
        for name, type_ in self._attributes:
            value = item.get(name)
            if value is None:
                raise invalid_parameter(f"Missing the key {name} in the item")
            content = value.get(type_)
            if content is None:
                raise invalid_parameter(f"Type mismatch for key {name} expected: {type_} actual: {next(iter(value))}")
            short = short and 0 < len(content) <= ALWAYS_SHORT_ENOUGH
        if not short:
            self._check_key_values(item)
        for name, index_type in self._index_keys:
            value = item.get(name)
            if value is not None and not 0 < len(value.get(index_type, "")) <= ALWAYS_SHORT_ENOUGH:
                for index in self.indexes_by_name:
                    index.check(item)
                break
        return self.key(item)

    def check_scalar(self, nested: frozenset[str]) -> None:
        """Refuse document paths into a key attribute."""
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

    def tie_breaker(self, key: bytes, item: Item) -> bytes:
        """The bytes that order an item among equal keys of a GSI; `key` is the item's row key, which may begin with them."""
        return key[: keys.HASH_BYTES] if self._tie_breaker is None else self._tie_breaker(item)

    def affected_indexes(self, attributes: frozenset[str]) -> AffectedIndexes:
        """Which indexes, and which of their keys, a write of these attributes can change."""
        affected = self._affected_indexes.get(attributes)
        if affected is None:
            own = {a.name: a.type for layout in self.indexes_by_name for a in layout.index.keys.attributes if a.name in attributes}
            affected = AffectedIndexes(tuple(own.items()), tuple(layout for layout in self.indexes if layout.depends_on(attributes)))
            if sum(map(len, attributes)) <= _MAX_CACHED_CHARACTERS:
                if len(self._affected_indexes) >= _MAX_CACHED_ATTRIBUTE_SETS:
                    self._affected_indexes.clear()
                self._affected_indexes[attributes] = affected
        return affected

    def write(
        self,
        connection: apsw.Connection,
        key: bytes,
        old: Item | None,
        new: Item | None,
        new_size: int,
        written_attributes: frozenset[str] | None,
    ) -> None:
        """Replace one item by another, or delete it, in the table and its indexes.

        `old` may be None in tables without indexes. `written_attributes`, if known, are the only attributes in which the two may differ.
        """
        for ahead, last in self._copy_statements:
            connection.execute(ahead, (key,))
            if new is None:
                connection.execute(last, (key,))
        if new is None:
            connection.execute(self.delete, (key,))
        elif old is None:
            connection.execute(self.put, (key, new_size, orjson.dumps(new)))
        else:
            connection.execute(self.update, (new_size, orjson.dumps(new), key))
        if self.indexes:
            self._write_index_rows(connection, key, old, new, new_size, written_attributes)

    def _write_index_rows(
        self,
        connection: apsw.Connection,
        key: bytes,
        old: Item | None,
        new: Item | None,
        new_size: int,
        written_attributes: frozenset[str] | None,
    ) -> None:
        """Bring the indexes in line with a write."""
        item = old if new is None else new
        if item is None:
            return
        tie_breaker: bytes | None = None
        for index in self.indexes if old is None or written_attributes is None else self.affected_indexes(written_attributes).indexes:
            required = index.required_attribute
            if (new is not None and required in new) or (old is not None and required in old):
                change = index.key_change(old, new)
                if change is not None:
                    if tie_breaker is None:
                        tie_breaker = self.tie_breaker(key, item)
                    index.write(connection, key, tie_breaker, *change, new, new_size)

    def index_writes(self, old: Item | None, new: Item | None) -> list[IndexWrite]:
        """What the replacement of one item by another does to each index."""
        return [write for write in (layout.index_write(old, new) for layout in self.indexes) if write is not None]

    def create(self, connection: apsw.Connection) -> None:
        """Create the SQLite tables of the table and its indexes.

        Base rows are stored in insertion order, with a separate index on their keys: keys are ordered by hash, so that a table clustered by
        key would touch another page with every new item.
        """
        connection.execute(f"CREATE TABLE {self.name}(k BLOB PRIMARY KEY, size INTEGER NOT NULL, v BLOB NOT NULL)")
        for layout in self.indexes:
            self.create_index(connection, layout)

    def create_index(self, connection: apsw.Connection, layout: IndexLayout) -> None:
        """Create the SQLite table of an index."""
        connection.execute(
            f"CREATE TABLE {layout.name}(k BLOB NOT NULL, b BLOB NOT NULL, size INTEGER NOT NULL, v BLOB, PRIMARY KEY(k, b)) WITHOUT ROWID"
        )

    def drop(self, connection: apsw.Connection) -> None:
        """Drop the SQLite tables of the table and its indexes."""
        for name in (self.name, *(layout.name for layout in self.indexes)):
            long_work.drop_rows(connection, name)

    def items(self, connection: apsw.Connection) -> Iterator[tuple[bytes, int, bytes]]:
        """All base rows, in key order."""
        yield from connection.execute(f"{self.select} ORDER BY k")


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
    """Refuse a value that is too long for an index key."""
    limit = HASH_KEY_LIMIT if attribute in index.keys.hash else RANGE_KEY_LIMIT
    if len(content) > ALWAYS_SHORT_ENOUGH and size({attribute.type: content}) > limit:
        raise _index_key_too_long(index, attribute, limit)


def _index_key_too_long(index: Index, attribute: KeyAttribute, limit: int) -> EngineError:
    if limit == HASH_KEY_LIMIT:
        return invalid_parameter(
            f"Size of hashkey has exceeded the maximum size limit of2048 bytes. IndexName: {index.name}, IndexKey: {attribute.name}"
        )
    return invalid_parameter(
        f"Aggregated size of all range keys has exceeded the size limit of 1024 bytes. IndexName: {index.name}, IndexKey: {attribute.name}"
    )


def _not_scalar(role: str, name: str) -> EngineError:
    return validation(f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}: {name}")


def key_item(schema: KeySchema, item: Item) -> Item:
    """The key attributes of an item."""
    return {name: item[name] for name in schema.names}
