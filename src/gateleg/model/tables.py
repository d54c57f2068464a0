"""Declare tables and indexes; build the request that creates them.

Unique constraints, declared on entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from gateleg.model.errors import BadMark, BadName, BadOption, IndexMismatch, TooManyIndexes, UnknownIndex
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from gateleg.model.wire import Item

__all__ = ["is_marker"]


KeyType = Literal["S", "N", "B"]
StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
Names = str | Sequence[str]
MAX_LOCAL = 5
MAX_GLOBAL = 20
MAX_KEY_PARTS = 4
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")


def _tuple(names: Names | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True)
class Index:
    """A secondary index, declared with `GSI` or `LSI`. `project` is "all", "keys", or the attributes to include besides the keys."""

    name: str
    hash: tuple[str, ...]
    range: tuple[str, ...] = ()
    project: Literal["all", "keys"] | tuple[str, ...] = "all"
    local: bool = False

    @property
    def attributes(self) -> tuple[str, ...]:
        """All key attributes of the index."""
        return self.hash + self.range

    def definition(self) -> dict[str, Any]:
        """The index definition in a CreateTable request."""
        projection: dict[str, Any] = {"ProjectionType": {"all": "ALL", "keys": "KEYS_ONLY"}.get(str(self.project), "INCLUDE")}
        if projection["ProjectionType"] == "INCLUDE":
            projection["NonKeyAttributes"] = list(self.project)
        return {"IndexName": self.name, "KeySchema": _key_schema(self.hash, self.range), "Projection": projection}


def GSI(name: str, *, hash: Names, range: Names | None = None, project: Literal["all", "keys"] | Sequence[str] = "all") -> Index:
    """Declare a global secondary index.

    `hash` and `range` are names of key attributes; each may be a list of up to four. `project` is "all", "keys", or a list of attributes
    to include besides the keys. Raises `IndexMismatch` or `BadOption` for other values.
    """
    index = Index(name, _tuple(hash), _tuple(range), _projection(project))
    if not 1 <= len(index.hash) <= MAX_KEY_PARTS or len(index.range) > MAX_KEY_PARTS:
        raise IndexMismatch(
            f"The index {name} has no hash attribute or too many key attributes.",
            fix="Use 1 to 4 hash attributes and up to 4 range attributes.",
        )
    return index


def LSI(name: str, *, range: str, project: Literal["all", "keys"] | Sequence[str] = "all") -> Index:
    """Declare a local secondary index: the table's hash with another range attribute.

    It supports consistent reads, and can only be created together with the table. `project` is as for `GSI`.
    """
    return Index(name, (), (range,), _projection(project), local=True)


def _projection(project: Any) -> Any:
    if isinstance(project, str) and project not in ("all", "keys"):
        raise BadOption(f"project={project!r} is not a projection.", fix='Use "all", "keys" or a list of attributes.')
    return project if isinstance(project, str) else tuple(project)


def _key_schema(hash: Iterable[str], range: Iterable[str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH"} for name in hash] + [{"AttributeName": name, "KeyType": "RANGE"} for name in range]


class TableMember(Protocol):
    """What a table needs to know about its entities."""

    tag: str | None

    @property
    def ttl_name(self) -> str | None:
        """The wire name of the entity's TTL attribute."""

    def key_types(self) -> dict[str, KeyType]:
        """The types of all key attributes that the entity writes."""

    def fits(self, item: Item) -> bool:
        """Whether the key of an item matches the templates of the entity's primary key."""


@dataclass(frozen=True, eq=False)
class TableLayout:
    """A declared table: its key, its indexes and its entities."""

    name: str
    hash: str
    range: str | None = None
    indexes: tuple[Index, ...] = ()
    tag: str | None = None
    schema: str = "_schema"
    types: Mapping[str, KeyType] = field(default_factory=dict)
    stream: StreamView | None = None
    #: the table's entities, in the order of declaration
    members: list[TableMember] = field(default_factory=list, repr=False)

    def __init__(
        self,
        name: str,
        *,
        hash: str,
        range: str | None = None,
        indexes: Iterable[Index] = (),
        tag: str | None = None,
        schema: str = "_schema",
        types: Mapping[str, KeyType] | None = None,
        stream: StreamView | None = None,
    ) -> None:
        given: Any = indexes
        listed: tuple[Any, ...] = () if isinstance(given, Index | str) else tuple(given)
        if isinstance(given, Index | str) or not all(isinstance(index, Index) for index in listed):
            raise BadOption(f"{name}: indexes= takes a list of indexes.", fix='Write indexes=[GSI("by-owner", hash="owner")].')
        resolved = tuple(Index(i.name, (hash,), i.range, i.project, local=True) if i.local else i for i in listed)
        values: dict[str, Any] = {"name": name, "hash": hash, "range": range, "indexes": resolved, "tag": tag, "schema": schema}
        values |= {"types": dict(types or {}), "stream": stream, "members": []}
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        _check_options(self)
        _check_indexes(self)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the primary key attributes."""
        return (self.hash,) if self.range is None else (self.hash, self.range)

    @property
    def primary(self) -> Index:
        """The primary key as an `Index` without a name."""
        return Index("", (self.hash,), () if self.range is None else (self.range,))

    def index(self, name: str) -> Index:
        """The index with a name; the primary key for an empty name. Raises `UnknownIndex`."""
        if not name:
            return self.primary
        for index in self.indexes:
            if index.name == name:
                return index
        known = ", ".join(index.name for index in self.indexes) or "no indexes"
        raise UnknownIndex(f"{self.name} has no index {name!r}.", fix=f"It has {known}.")

    def physical(self, prefix: str = "") -> str:
        """The table's name in a database, with the prefix of a deployment."""
        return prefix + self.name

    def key_types(self) -> dict[str, KeyType]:
        """The types of all key attributes of the table and its indexes, from the entities and `types`."""
        found: dict[str, KeyType] = {name: "S" for index in (self.primary, *self.indexes) for name in index.attributes}
        found |= {name: kind for member in self.members for name, kind in member.key_types().items() if name in found}
        found.update({name: kind for name, kind in self.types.items() if name in found})
        return found

    def ttl(self) -> str | None:
        """The wire name of the TTL attribute, or None."""
        return next((member.ttl_name for member in self.members if member.ttl_name is not None), None)

    def member_for(self, item: Item) -> TableMember | None:
        """The entity that a wire item belongs to, by its tag or else by the form of its key; None if there is none."""
        if is_marker(self, item):
            return None
        tag = item.get(self.tag, {}).get("S") if self.tag else None
        for member in self.members:
            if (tag is not None and member.tag == tag) or (tag is None and member.fits(item)):
                return member
        return None

    def definition(self, prefix: str = "") -> dict[str, Any]:
        """The CreateTable request, with on-demand billing."""
        types = self.key_types()
        request: dict[str, Any] = {
            "TableName": self.physical(prefix),
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": types[name]} for name in sorted(types)],
            "KeySchema": _key_schema((self.hash,), self.attributes[1:]),
            "BillingMode": "PAY_PER_REQUEST",
        }
        for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
            definitions = [index.definition() for index in self.indexes if index.local is local]
            if definitions:
                request[member] = definitions
        if self.stream is not None:
            request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": self.stream}
        return request


def is_marker(table: TableLayout, item: Item) -> bool:
    """Whether an item is the marker of a unique constraint, which readers of whole tables skip."""
    return str(item.get(table.hash, {}).get("S", "")).startswith(MARKER + "#")


def _check_options(table: TableLayout) -> None:
    if table.hash == table.range:
        raise BadOption(f"{table.name}: {table.hash!r} is both the hash and the range.", fix="Leave range out, or name another attribute.")
    for attribute, kind in table.types.items():
        if kind not in get_args(KeyType):
            raise BadOption(f"{table.name}: types= has {kind!r} for {attribute}.", fix='Use "S", "N" or "B".')
    if table.stream is not None and table.stream not in get_args(StreamView):
        raise BadOption(f"{table.name}: stream={table.stream!r} is not a view type.", fix=did_you_mean(table.stream, get_args(StreamView)))


def _check_indexes(table: TableLayout) -> None:
    names = [index.name for index in table.indexes]
    for name in (table.name, *names):
        if _NAME.fullmatch(name) is None:
            raise BadName(f"{name!r} is not a valid name for a table or an index.")
    for name in names:
        if names.count(name) > 1:
            raise IndexMismatch(f"{table.name} declares the index {name!r} twice.")
    local = sum(index.local for index in table.indexes)
    if local > MAX_LOCAL or len(names) - local > MAX_GLOBAL:
        raise TooManyIndexes(f"{table.name} has {local} local and {len(names) - local} global indexes.")
    if local and table.range is None:
        raise IndexMismatch(f"{table.name} has a local index but no range key.", fix="Add a range key, or use a global index.")


#: The first part of the keys of marker items.
MARKER = "~unique"


class Unique:
    """Declare that no two items of the entity have the same values in these attributes.

    `name_once = Unique("repository_id", "name", ignore_case=True)`. A write that violates it raises `UniqueTaken`. An item with None in one
    of the attributes is exempt.

    For each combination, the store writes a marker item into the same table, in the transaction that writes the item. The marker's key
    contains the values; markers are in no index.
    """

    def __init__(self, *by: str, ignore_case: bool = False) -> None:
        for name in by:
            if not isinstance(name, str):
                raise BadMark(
                    f"Unique({name!r}) does not name an attribute.", fix='Name attributes one after another: Unique("tenant", "email").'
                )
        self.by = by
        self.ignore_case = ignore_case
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the class attribute."""
        self.name = name
