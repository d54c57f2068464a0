"""Declare tables and indexes; build the request that creates them; find the entity of an item."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, get_args

from gateleg.model.constraints import is_marker
from gateleg.model.errors import BadName, BadOption, IndexMismatch, TooManyIndexes, UnknownIndex
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model.spec import Spec
    from gateleg.model.wire import Item

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


#: Held while specs are built, because threads may use the same entity for the first time at the same time.
building = RLock()


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
