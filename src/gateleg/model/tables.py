"""Tables and their indexes, as declared; and the request that creates one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from gateleg.model.errors import BadName, BadOption, IndexMismatch, TooManyIndexes, UnknownIndex
from gateleg.model.suggestions import did_you_mean
from gateleg.model.uniques import MARKER

if TYPE_CHECKING:
    from gateleg.model.codec.wire import Item

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
    """A secondary index: its key attributes by wire name, and what it projects.

    `project` is "all", "keys", or the further attributes to include.
    """

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
        """The index as CreateTable wants it."""
        projection: dict[str, Any] = {"ProjectionType": {"all": "ALL", "keys": "KEYS_ONLY"}.get(str(self.project), "INCLUDE")}
        if projection["ProjectionType"] == "INCLUDE":
            projection["NonKeyAttributes"] = list(self.project)
        return {"IndexName": self.name, "KeySchema": _key_schema(self.hash, self.range), "Projection": projection}


def GSI(name: str, *, hash: Names, range: Names | None = None, project: Literal["all", "keys"] | Sequence[str] = "all") -> Index:
    """A global secondary index. Up to four attributes each may make up the hash and the range of its key."""
    index = Index(name, _tuple(hash), _tuple(range), _projection(project))
    if not 1 <= len(index.hash) <= MAX_KEY_PARTS or len(index.range) > MAX_KEY_PARTS:
        raise IndexMismatch(
            f"The index {name} has too many or no key attributes.", fix="Use one to four hash and up to four range attributes."
        )
    return index


def LSI(name: str, *, range: str, project: Literal["all", "keys"] | Sequence[str] = "all") -> Index:
    """A local secondary index: the table's hash with another range. It exists from the table's creation and reads consistently."""
    return Index(name, (), (range,), _projection(project), local=True)


def _projection(project: Any) -> Any:
    if isinstance(project, str) and project not in ("all", "keys"):
        raise BadOption(f"project={project!r} is not a projection.", fix='Use "all", "keys" or a list of attributes.')
    return project if isinstance(project, str) else tuple(project)


def _key_schema(hash: Iterable[str], range: Iterable[str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH"} for name in hash] + [{"AttributeName": name, "KeyType": "RANGE"} for name in range]


class TableMember(Protocol):
    """What a table needs to know of an entity that lives in it."""

    tag: str | None

    @property
    def ttl_name(self) -> str | None:
        """The wire name of the entity's TTL attribute."""

    def key_types(self) -> dict[str, KeyType]:
        """The type of every key attribute that the entity writes."""

    def fits(self, item: Item) -> bool:
        """Whether the key of an item has the form of the entity's."""


@dataclass(frozen=True, eq=False)
class TableLayout:
    """A table as declared: its key, its indexes, and the entities that live in it."""

    name: str
    hash: str
    range: str | None = None
    indexes: tuple[Index, ...] = ()
    tag: str | None = None
    schema: str = "_schema"
    types: Mapping[str, KeyType] = field(default_factory=dict)
    stream: StreamView | None = None
    #: the entities that live here, in the order of declaration
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
        own = tuple(Index(i.name, (hash,), i.range, i.project, local=True) if i.local else i for i in listed)
        values: dict[str, Any] = {"name": name, "hash": hash, "range": range, "indexes": own, "tag": tag, "schema": schema}
        values |= {"types": dict(types or {}), "stream": stream, "members": []}
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        _check_options(self)
        _check_indexes(self)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the primary key."""
        return (self.hash,) if self.range is None else (self.hash, self.range)

    @property
    def primary(self) -> Index:
        """The primary key in the form of an index without a name."""
        return Index("", (self.hash,), () if self.range is None else (self.range,))

    def index(self, name: str) -> Index:
        """An index by its name; the empty name is the primary key."""
        if not name:
            return self.primary
        for index in self.indexes:
            if index.name == name:
                return index
        known = ", ".join(index.name for index in self.indexes) or "no indexes"
        raise UnknownIndex(f"{self.name} has no index {name!r}.", fix=f"It has {known}.")

    def physical(self, prefix: str = "") -> str:
        """The table's name in an account."""
        return prefix + self.name

    def key_types(self) -> dict[str, KeyType]:
        """The type of every key attribute of the table and its indexes, as the entities use them."""
        found: dict[str, KeyType] = {name: "S" for index in (self.primary, *self.indexes) for name in index.attributes}
        found |= {name: kind for member in self.members for name, kind in member.key_types().items() if name in found}
        found.update({name: kind for name, kind in self.types.items() if name in found})
        return found

    def ttl(self) -> str | None:
        """The wire name of the TTL attribute, if an entity has one."""
        return next((member.ttl_name for member in self.members if member.ttl_name is not None), None)

    def member_for(self, item: Item) -> TableMember | None:
        """The entity that an item belongs to: by its tag, else by the form of its key."""
        if is_marker(self, item):
            return None
        tag = item.get(self.tag, {}).get("S") if self.tag else None
        for member in self.members:
            if (tag is not None and member.tag == tag) or (tag is None and member.fits(item)):
                return member
        return None

    def definition(self, prefix: str = "") -> dict[str, Any]:
        """The CreateTable request, billed by request."""
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
    """Whether an item is a marker rather than an entity; readers of whole tables skip it."""
    return str(item.get(table.hash, {}).get("S", "")).startswith(MARKER + "#")


def _check_options(table: TableLayout) -> None:
    if table.hash == table.range:
        raise BadOption(f"{table.name}: {table.hash!r} is both the hash and the range.", fix="Leave range out, or name another attribute.")
    for attribute, kind in table.types.items():
        if kind not in get_args(KeyType):
            raise BadOption(f"{table.name}: types= says that {attribute} is {kind!r}.", fix='A key attribute is "S", "N" or "B".')
    if table.stream is not None and table.stream not in get_args(StreamView):
        raise BadOption(f"{table.name}: stream={table.stream!r} is not a view.", fix=did_you_mean(table.stream, get_args(StreamView)))


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
        raise IndexMismatch(f"{table.name} has a local index but no range key.", fix="Local indexes need a table with hash and range.")
