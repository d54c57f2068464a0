"""Declare tables and indexes, unique attributes and counters; build the request that creates a table; find the entity of an item.

`Unique` and `Counter` are about several items of a table. For each combination of values that a `Unique` reserves, there is a marker item,
written in the same transaction as the entity. A `Counter` counts the items of its entity in an attribute of another entity, in the same
transactions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from urllib.parse import quote
from uuid import UUID

from gateleg.model.errors import BadMark, BadName, BadOption, IndexMismatch, TooManyIndexes, UnknownIndex
from gateleg.model.keys import read_when, spec_of
from gateleg.model.types import did_you_mean
from gateleg.model.wire import map_key

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model.attr import Attr
    from gateleg.model.keys import Ref
    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item

__all__ = ["RECOUNT", "Counter", "Unique", "is_marker", "marker_key", "markers"]

KeyType = Literal["S", "N", "B"]
StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
Names = str | Sequence[str]
MAX_LOCAL = 5
MAX_GLOBAL = 20
MAX_KEY_PARTS = 4
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_TEXTUAL = "Use attributes of text, whole numbers, Decimal, times, UUIDs or enumerations."

#: The first part of the keys of marker items.
MARKER = "~unique"

#: An attribute that a recount sets on the parent item, and that every change of a counter removes. A recount writes its result only if the
#: attribute is still there, so it never overwrites a change that happened while it was counting.
RECOUNT = "~recount"


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


def _tuple(names: Names | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


class Table:
    """Declare a table: `Table("Orders", hash="customer_id", range="order_id", indexes=[GSI("by-status", hash="status")])`.

    `name` is its name without the prefix of a deployment. `hash` and `range` are the key attributes. `tag` is the attribute that names the
    entity of an item, for tables with several entities. `schema` is the attribute for the schema number of entities declared with
    `schema=`. `types` maps key attributes that no entity uses to "S", "N" or "B" (the default is "S"). `stream` is the view type of the
    table's stream, such as "NEW_AND_OLD_IMAGES"; by default the table has no stream. Raises a `DeclarationError` for invalid names, options
    or indexes.
    """

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
        argument: Any = indexes
        listed: tuple[Any, ...] = () if isinstance(argument, Index | str) else tuple(argument)
        if isinstance(argument, Index | str) or not all(isinstance(index, Index) for index in listed):
            raise BadOption(f"{name}: indexes= takes a list of indexes.", fix='Write indexes=[GSI("by-owner", hash="owner")].')
        self.name = name
        self.hash = hash
        self.range = range
        self.indexes = tuple(Index(i.name, (hash,), i.range, i.project, local=True) if i.local else i for i in listed)
        self.tag = tag
        self.schema = schema
        self.types = dict(types or {})
        self.stream = stream
        self._specs: list[Spec[Any]] = []
        #: entities whose specs are built at first use
        self._waiting: list[Any] = []
        self._busy = False
        _check_options(self)
        _check_indexes(self)

    def __repr__(self) -> str:
        """The name and the key, for messages."""
        return f"Table({self.name!r}, hash={self.hash!r}, range={self.range!r})"

    @property
    def specs(self) -> list[Spec[Any]]:
        """The specs of the table's entities, in the order of declaration."""
        if self._waiting:
            self._build_waiting()
        return self._specs

    def postpone(self, entity: type[BaseModel]) -> None:
        """Register an entity whose spec is built at first use: of the entity, or of anything that needs all entities of the table."""
        self._waiting = [*(other for other in self._waiting if not _is_same(other, entity)), entity]

    def register(self, spec: Spec[Any]) -> None:
        """Register an entity by its spec. A reloaded class replaces its previous version."""
        self._specs = [*(other for other in self._specs if not _is_same(other.entity, spec.entity)), spec]
        self._waiting = [other for other in self._waiting if not _is_same(other, spec.entity)]

    def _build_waiting(self) -> None:
        with building:
            if self._busy:
                # Called while one of the specs is built: the others are compared with it later.
                return
            self._busy = True
            try:
                for entity in tuple(self._waiting):
                    # Types that are not yet defined may be defined later.
                    if entity.__pydantic_complete__ or entity.model_rebuild(raise_errors=False):
                        _ = entity.__spec__
            finally:
                self._busy = False

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
        types: dict[str, KeyType] = {name: "S" for index in (self.primary, *self.indexes) for name in index.attributes}
        types |= {name: kind for spec in self.specs for name, kind in spec.key_types().items() if name in types}
        types.update({name: kind for name, kind in self.types.items() if name in types})
        return types

    def ttl(self) -> str | None:
        """The wire name of the TTL attribute, or None."""
        return next((spec.ttl.wire for spec in self.specs if spec.ttl is not None), None)

    def spec_for(self, item: Item) -> Spec[Any] | None:
        """The spec of the entity that a wire item belongs to, by its tag or else by the form of its key; None if there is none."""
        if is_marker(self, item):
            return None
        tag = item.get(self.tag, {}).get("S") if self.tag else None
        for spec in self.specs:
            if (tag is not None and spec.tag == tag) or (tag is None and spec.key.fits(item)):
                return spec
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


class Counter:
    """Count this entity's items in an attribute of another entity, the parent.

    Declare it in the class of the counted items: `done = Counter(Project.completed_scenes, when={"status": ["completed"]})`.

    The parent's key is built from the child's attributes of the same names. `when` counts only items whose attributes have one of the
    values. The attribute starts at 0 and changes in the same transactions as the children; puts and updates of the parent do not touch it.
    An upper bound of the attribute (`le=`, `lt=`) limits the number of children.
    """

    def __init__(self, attribute: Attr[int], *, when: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.attribute = attribute
        self.when = read_when(when)
        #: the components of the parent's key; set when the counted entity's spec is built
        self.parent_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The child's attributes that determine whether it is counted, and in which parent."""
        return (*self.parent_names, *self.when)

    def counts(self, values: Mapping[str, Any] | None) -> bool:
        """Whether an item with these values is counted."""
        for name, allowed in self.when.items():
            if values is None or values.get(name) not in allowed:
                return False
        return values is not None

    def parent(self, values: Mapping[str, Any]) -> Ref[Any]:
        """The reference to the parent item, which holds the counter."""
        return spec_of(self.attribute.owner).locate({name: values[name] for name in self.parent_names})


def is_marker(table: Table, item: Item) -> bool:
    """Whether an item is the marker of a unique constraint, which readers of whole tables skip."""
    return str(item.get(table.hash, {}).get("S", "")).startswith(MARKER + "#")


def markers(spec: Spec[Any], values: Mapping[str, Any]) -> dict[str, Item]:
    """The keys of the markers of an item with these values, by constraint."""
    keys = {name: marker_key(spec, unique, values) for name, unique in spec.uniques.items()}
    return {name: key for name, key in keys.items() if key is not None}


def marker_key(spec: Spec[Any], unique: Unique, values: Mapping[str, Any]) -> Item | None:
    """The key of the marker item, or None if a value is None: None is never unique."""
    parts = [values.get(name) for name in unique.by]
    if any(part is None for part in parts):
        return None
    texts = [map_key(part) for part in parts]
    if unique.ignore_case:
        texts = [text.casefold() for text in texts]
    text = "#".join([MARKER, spec.name, unique.name, *(quote(text, safe="") for text in texts)])
    key: Item = {spec.table.hash: {"S": text}}
    if spec.table.range is not None:
        key[spec.table.range] = {"S": MARKER}
    return key


def resolve_unique(spec: Spec[Any], declared: Unique) -> Unique:
    """The constraint with key parts replaced by their fields. Raises `BadMark` for attributes that a marker's key cannot contain."""
    where = f"{spec.name}.{declared.name}"
    if not declared.by:
        raise BadMark(f"{where} has no attributes.", fix='List those that must be unique together, as in Unique("email").')
    for name in declared.by:
        if name not in spec.sources:
            raise BadMark(f"{where} names {name!r}, which is not an attribute.", fix=did_you_mean(name, spec.sources))
    if any(entry.type != "S" for entry in spec.key.fields):
        raise BadMark(f"{where}: the keys of {spec.table.name} are not text.", fix="Use a table with text keys, which markers need.")
    names = [member for name in declared.by for member in spec.fields_of(name)]
    for name in names:
        if not _has_text(spec.sources[name].declared.type):
            raise BadMark(f"{where}: {name} cannot be part of a marker's key.", fix=_TEXTUAL)
    unique = Unique(*dict.fromkeys(names), ignore_case=declared.ignore_case)
    unique.name = declared.name
    return unique


def _projection(project: Any) -> Any:
    if isinstance(project, str) and project not in ("all", "keys"):
        raise BadOption(f"project={project!r} is not a projection.", fix='Use "all", "keys" or a list of attributes.')
    return project if isinstance(project, str) else tuple(project)


def _key_schema(hash: Iterable[str], range: Iterable[str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH"} for name in hash] + [{"AttributeName": name, "KeyType": "RANGE"} for name in range]


#: Held while specs are built, because threads may use the same entity for the first time at the same time.
building = RLock()


def _check_options(table: Table) -> None:
    if table.hash == table.range:
        raise BadOption(f"{table.name}: {table.hash!r} is both the hash and the range.", fix="Leave range out, or name another attribute.")
    for attribute, kind in table.types.items():
        if kind not in get_args(KeyType):
            raise BadOption(f"{table.name}: types= has {kind!r} for {attribute}.", fix='Use "S", "N" or "B".')
    if table.stream is not None and table.stream not in get_args(StreamView):
        raise BadOption(f"{table.name}: stream={table.stream!r} is not a view type.", fix=did_you_mean(table.stream, get_args(StreamView)))


def _check_indexes(table: Table) -> None:
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


def _is_same(entity: type, other: type) -> bool:
    """Whether both are the same class, possibly before and after a reload."""
    return (entity.__module__, entity.__qualname__) == (other.__module__, other.__qualname__)


def _has_text(kind: Any) -> bool:
    """Whether a marker's key can contain every value of a type."""
    if get_origin(kind) is Literal:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return all(_has_text(type(member.value)) for member in kind)
    return isinstance(kind, type) and issubclass(kind, str | int | UUID | date | Decimal) and kind is not bool
