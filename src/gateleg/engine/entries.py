"""The rows of an index: where an item's entry lies, what it holds, and how a changed item moves it."""

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
#: Characters of which nothing is over the limit of any key: none has more than four bytes.
SURELY_SHORT = RANGE_KEY_LIMIT // 4


#: A change of an index's row: the SQL, what is bound to it, and the index if the row is moved, which it may not hold yet.
Statement = tuple[str, tuple[Any, ...], "IndexLayout | None"]


def carry_out(connection: apsw.Connection, statements: Iterable[Statement]) -> None:
    """Change rows of indexes."""
    execute = connection.cursor().execute
    for sql, bindings, moved in statements:
        execute(sql, bindings)
        if moved is not None and not connection.changes():
            # An index that was made later may not hold the item as it was.
            place, size_, content, _, key = bindings
            execute(moved.insert, (place, key, size_, content))


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
        #: the attribute without which an item has no entry
        self.needs = index.keys.hash[0].name
        self._find = keys.finder(index.keys.hash, index.keys.range)
        self._tie = keys.tie(base.attributes) if index.kind == "GSI" else None
        self._attributes = index.keys.attributes
        self._whole = index.projection == "ALL"
        #: attributes that an entry holds; none if it holds all
        self.projected: frozenset[str] | None = None if self._whole else frozenset((*index.keys.names, *base.names, *index.include))
        #: the same in a fixed order
        self._held = tuple(sorted(self.projected or ()))
        joined = f"FROM {self.name} i CROSS JOIN {base_name} t ON t.k = i.b"
        #: k, size, v, b of the entries with the base row's item, and their own size
        self.select_whole = f"SELECT i.k, t.size, t.v, i.b, i.size {joined}"
        #: k, size, v, b of the entries, with the projected item
        self.select = f"SELECT i.k, t.size, t.v, i.b {joined}" if self._whole else f"SELECT i.k, i.size, i.v, i.b FROM {self.name} i"
        self.insert = f"INSERT OR REPLACE INTO {self.name} VALUES (?, ?, ?, ?)"
        self.delete = f"DELETE FROM {self.name} WHERE k = ? AND b = ?"
        self.move = f"UPDATE OR REPLACE {self.name} SET k = ?, size = ?, v = ? WHERE k = ? AND b = ?"

    def key(self, item: Item) -> bytes | None:
        """The item's key in this index, or none if the index does not hold it."""
        found = self._place(item)
        return found if found is None or self._tie is None else found + self._tie(item)

    def _place(self, item: Item) -> bytes | None:
        """The item's key without what orders it among equal ones.

        There is none for what a write would be refused for: an item that is older than the index can have it, and then has no entry.
        """
        found = self._find(item)
        return found if found is None or len(found) <= SURELY_SHORT or self._fits(item) else None

    def _fits(self, item: Item) -> bool:
        try:
            self.check(item)
        except EngineError:
            return False
        return True

    def depends_on(self, attributes: frozenset[str]) -> bool:
        """Whether a change of these attributes of an item can change its entry."""
        return not attributes.isdisjoint(self.index.keys.names if self.projected is None else self.projected)

    def project(self, item: Item) -> Item:
        """What an entry of this index holds of an item."""
        return item if self._whole else {name: item[name] for name in self._held if name in item}

    def entry(self, item: Item, base_size: int) -> tuple[int, bytes | None]:
        """The size and, unless it is the base row's, the content of an item's entry."""
        if self._whole:
            return base_size, None
        projected = self.project(item)
        return item_size(projected), orjson.dumps(projected)

    def replacement(self, key: bytes, tie: bytes, old: Item | None, new: Item | None, new_size: int) -> "Statement | None":
        """What puts the entry of one item in the place of another's, where both have the same key in the table; none if nothing changes.

        `tie` is `Layout.tie` of the key.
        """
        was = None if old is None else self._find(old)
        now = None if new is None else self._place(new)
        if was == now and (was is None or self._whole or not self._differs(old, new)):
            return None
        end = b"" if self._tie is None else tie
        if new is None or now is None:
            return None if was is None else (self.delete, (was + end, key), None)
        size_, content = self.entry(new, new_size)
        if was is None or was == now:
            return self.insert, (now + end, key, size_, content), None
        return self.move, (now + end, size_, content, was + end, key), self

    def _differs(self, old: Item | None, new: Item | None) -> bool:
        """Whether the entries of two items hold something else."""
        return old is None or new is None or any(old.get(name) != new.get(name) for name in self._held)

    def written(self, old: Item | None, new: Item | None) -> IndexWrite | None:
        """What it means for this index that one item takes the place of another; none if it holds neither."""
        was = None if old is None else self.key(old)
        now = None if new is None else self.key(new)
        if was is None and now is None:
            return None
        return IndexWrite(self, old if was is not None else None, new if now is not None else None, was == now)

    def check(self, item: Mapping[str, Any]) -> None:
        """Refuse an item whose attributes do not fit this index's key."""
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
    """Refuse a value that is too long for a key of an index."""
    limit = HASH_KEY_LIMIT if attribute in index.keys.hash else RANGE_KEY_LIMIT
    if len(content) > SURELY_SHORT and size({attribute.type: content}) > limit:
        raise _index_key_too_long(index, attribute, limit)


def _index_key_too_long(index: Index, attribute: KeyAttribute, limit: int) -> EngineError:
    if limit == HASH_KEY_LIMIT:
        return invalid_parameter(
            f"Size of hashkey has exceeded the maximum size limit of2048 bytes. IndexName: {index.name}, IndexKey: {attribute.name}"
        )
    return invalid_parameter(
        f"Aggregated size of all range keys has exceeded the size limit of 1024 bytes. IndexName: {index.name}, IndexKey: {attribute.name}"
    )
