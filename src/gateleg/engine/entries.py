"""Index entries: their keys, their content, and how they follow changes of items."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import apsw
import orjson

from gateleg.engine import keys
from gateleg.engine.errors import EmptyKeyError, EngineError, invalid_parameter
from gateleg.engine.schema import Index, KeyAttribute, KeySchema
from gateleg.engine.values import Item, item_size, size

HASH_KEY_LIMIT = 2048
RANGE_KEY_LIMIT = 1024
#: A string of this many characters fits any key: no character takes more than four bytes.
ALWAYS_SHORT_ENOUGH = RANGE_KEY_LIMIT // 4


#: A change of an index row: SQL and bindings, and the index if the row moves, because it may not have the old row yet.
Statement = tuple[str, tuple[Any, ...], "IndexLayout | None"]


def execute_statements(connection: apsw.Connection, statements: Iterable[Statement]) -> None:
    """Execute changes of index rows."""
    execute = connection.cursor().execute
    for sql, bindings, moved in statements:
        execute(sql, bindings)
        if moved is not None and not connection.changes():
            # An index created after the item may not have its old row.
            place, size_, content, _, key = bindings
            execute(moved.insert, (place, key, size_, content))


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
        found = self._valid_key(item)
        return found if found is None or self._tie_breaker is None else found + self._tie_breaker(item)

    def _valid_key(self, item: Item) -> bytes | None:
        """The item's key without the tie breaker, or None if the key is not valid.

        Writes refuse such keys, but an item that is older than the index can have one; it has no entry.
        """
        found = self._build_key(item)
        return found if found is None or len(found) <= ALWAYS_SHORT_ENOUGH or self._fits(item) else None

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

    def change_statement(
        self, key: bytes, tie_breaker: bytes, was: bytes | None, now: bytes | None, new: Item | None, new_size: int
    ) -> "Statement":
        """The statement that moves an entry from one key to another, as `key_change` found them; `key` is the item's row key.

        `tie_breaker` is the result of `Layout.tie_breaker`.
        """
        end = b"" if self._tie_breaker is None else tie_breaker
        if new is None or now is None:
            assert was is not None
            return self.delete, (was + end, key), None
        size_, content = self.entry(new, new_size)
        if was is None or was == now:
            return self.insert, (now + end, key, size_, content), None
        return self.move, (now + end, size_, content, was + end, key), self

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
