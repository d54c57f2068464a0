"""Specs: the compiled metadata of entities and tables, for stores and tools.

Decode records of a table's stream as changes of entities.

Collections: several entities of one partition, read by one query.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

from gateleg.model.errors import DeclarationError, UnknownArgument
from gateleg.model.expressions.nodes import Placeholders
from gateleg.model.key_text import HIGH
from gateleg.model.keys import KeyPlan, key_components, missing_components, read_spec
from gateleg.model.layout import EntityLayout
from gateleg.model.patterns import render_key_condition
from gateleg.model.tables import TableLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from gateleg.model.codec import Codec
    from gateleg.model.expressions.nodes import Condition
    from gateleg.model.patterns import Access
    from gateleg.model.planning.plan_cache import CachedPlan
    from gateleg.model.wire import Item

E = TypeVar("E", bound=BaseModel)


class Table(TableLayout):
    """Declare a table: `Table("Orders", hash="customer_id", range="order_id", indexes=[GSI("by-status", hash="status")])`.

    `name` is its name without the prefix of a deployment. `hash` and `range` are the key attributes. `tag` is the attribute that names the
    entity of an item, for tables with several entities. `schema` is the attribute for the schema number of entities declared with
    `schema=`. `types` maps key attributes that no entity uses to "S", "N" or "B" (the default is "S"). `stream` is the view type of the
    table's stream, such as "NEW_AND_OLD_IMAGES"; by default the table has no stream. Raises a `DeclarationError` for invalid names, options
    or indexes.
    """

    @property
    def specs(self) -> list[Spec[Any]]:
        """The specs of the table's entities, in the order of declaration."""
        return [member for member in self.members if isinstance(member, Spec)]

    def spec_for(self, item: Item) -> Spec[Any] | None:
        """The spec of the entity that a wire item belongs to, by its tag or else by the form of its key; None if there is none."""
        member = self.member_for(item)
        return member if isinstance(member, Spec) else None


@dataclass(eq=False)
class Spec(EntityLayout[E]):
    """The compiled metadata of an entity: attributes, keys, indexes, patterns and codec. `spec_of(entity)` returns it."""

    table: Table
    #: from an instance to a wire item, with all derived keys
    encode: Callable[[E], Item] = field(init=False)
    #: from a wire item to a validated instance
    decode: Callable[[Item], E] = field(init=False)
    patterns: dict[str, Access[E]] = field(default_factory=dict)
    #: the attributes in which counters of other entities count, with those entities
    counted: dict[str, list[type[BaseModel]]] = field(default_factory=dict)
    #: the plan cache of updates
    plans: dict[Hashable, CachedPlan] = field(default_factory=dict)
    _codec: Codec[E] | None = None

    @property
    def codec(self) -> Codec[E]:
        """The generated codec and its source."""
        assert self._codec is not None
        return self._codec

    def install(self, codec: Codec[E]) -> None:
        """Set the codec. `encode` and `decode` become its functions, to save a call."""
        self._codec = codec
        self.encode = codec.encode
        self.decode = codec.decode

    def decode_partial(self, item: Item) -> dict[str, Any]:
        """The attributes of a projected item, validated, by Python name. Raises `DecodeError` if one is invalid."""
        return self.codec.decode_partial(item)

    @property
    def counted_wires(self) -> dict[str, str]:
        """The counted attributes: from wire name to Python name."""
        return {self.attributes[name].wire: name for name in self.counted}


if TYPE_CHECKING:

    def spec_of(entity: type[E]) -> Spec[E]:
        """The compiled metadata of an entity. Raises `NotAnEntity` for a class that is not an entity."""
        ...

else:
    spec_of = read_spec


_KINDS: dict[str, Literal["created", "changed", "deleted"]] = {"INSERT": "created", "MODIFY": "changed", "REMOVE": "deleted"}
_SERVICE = "dynamodb.amazonaws.com"


@dataclass(frozen=True)
class Change:
    """A change of one item, decoded from a stream record. `before` and `after` are None if the stream does not carry that image."""

    kind: Literal["created", "changed", "deleted"]
    entity: type[BaseModel]
    #: the key on the wire
    key: Item
    before: BaseModel | None
    after: BaseModel | None
    #: whether DynamoDB deleted the item because its TTL passed
    expired: bool
    #: increases with every change of the same item
    sequence: str
    #: when it happened, to the second; None if the record does not say
    at: datetime | None
    #: unique to the change, and the same each time that it is delivered
    event_id: str = ""


def read_change(table: Table, record: Mapping[str, Any]) -> Change | None:
    """Decode a stream record of the table, from GetRecords or a Lambda event, as a change.

    Returns None for an item that does not belong to an entity, such as the marker of a unique constraint. Raises `DecodeError` for an
    invalid item. If the stream carries keys only, the entity is recognised by the form of the key.
    """
    data: Mapping[str, Any] = record["dynamodb"]
    before, after = data.get("OldImage"), data.get("NewImage")
    spec = table.spec_for(after or before or data["Keys"])
    if spec is None:
        return None
    return Change(
        _KINDS[record["eventName"]],
        spec.entity,
        data["Keys"],
        None if before is None else spec.decode(before),
        None if after is None else spec.decode(after),
        _SERVICE in (record.get("userIdentity") or {}).values(),
        data.get("SequenceNumber", ""),
        _read_time(data.get("ApproximateCreationDateTime")),
        record.get("eventID", ""),
    )


def _read_time(seconds: Any) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(float(seconds), UTC)


class Collection:
    """Entities that share a partition and are read by one query: `Collection(Project, Scene, title="A project and its scenes")`.

    Call it with the components of the hash to select a partition. If the sort keys of all entities begin with the same components, those
    can be passed too: with TEAM#{team} and TEAM#{team}#MEMBER#{member}, `team=` selects one team and its members. Raises `DeclarationError`
    if the entities do not have the same table and the same hash template.
    """

    def __init__(self, *entities: type[BaseModel], title: str, index: str = "") -> None:
        if not entities:
            raise DeclarationError(
                "A collection needs at least one entity.", fix='Name those that share a partition: Collection(Project, Scene, title="...").'
            )
        self.entities = entities
        self.title = title
        self.plans = [spec_of(entity).plan(index) for entity in entities]
        first = self.plans[0].hash
        self.table: Table = spec_of(entities[0]).table
        for entity, plan in zip(entities, self.plans, strict=True):
            if spec_of(entity).table is not self.table or [_form(entry) for entry in plan.hash] != [_form(entry) for entry in first]:
                raise DeclarationError(
                    f"{entity.__name__} does not share its partition with {entities[0].__name__}.",
                    fix="Give all entities of a collection the same table and the same hash template.",
                )
        #: the components with which the sort keys of all entities begin
        self.leading = _shared([_sort_names(plan) for plan in self.plans])

    def __call__(self, *conditions: Condition, **arguments: Any) -> CollectionQuery:
        """Make the query of one partition: `project_with_scenes(project_id=p)` or `project_with_scenes(Project.project_id == p)`."""
        spec, plan = spec_of(self.entities[0]), self.plans[0]
        names = {name for entry in plan.hash for name in entry.names}
        known = spec.arguments_of((*names, *self.leading))
        components = key_components(self.entities[0], conditions, arguments, known)
        unknown = components.keys() - known
        if unknown:
            raise UnknownArgument(
                f"{', '.join(sorted(unknown))} is not part of the partition.", fix=f"It has {', '.join((*sorted(names), *self.leading))}."
            )
        values = spec.arguments(components, names)
        leading = [name for name in self.leading if values.get(name) is not None]
        missing = sorted(name for name in names if values.get(name) is None) or [
            name for name in self.leading[: len(leading)] if name not in leading
        ]
        if missing:
            raise missing_components("The partition", spec.name, missing)
        return CollectionQuery(self, {name: values[name] for name in (*names, *leading)})


def _sort_names(plan: KeyPlan) -> tuple[str, ...]:
    """The components of a sort key that consists of one text; empty for other sort keys."""
    return plan.range[0].names if len(plan.range) == 1 and plan.range[0].text is not None else ()


def _shared(sequences: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The longest common prefix of the sequences."""
    count = 0
    while all(len(names) > count for names in sequences) and len({names[count] for names in sequences}) == 1:
        count += 1
    return sequences[0][:count]


def _form(entry: Any) -> Any:
    return (entry.attribute, entry.text.template.text if entry.text is not None else entry.names)


@dataclass(frozen=True)
class CollectionQuery:
    """The query of one partition of a collection."""

    collection: Collection
    values: dict[str, Any]

    def requests(
        self, *, table_name: str | None = None, limit: int | None = None, consistent: bool = False, start: Item | None = None
    ) -> tuple[dict[str, Any], ...]:
        """The Query requests, one for each shard."""
        plan = self.collection.plans[0]
        shards: Sequence[int | None] = range(plan.shards) if plan.shards > 1 else (None,)
        return tuple(self._request(table_name, limit, consistent, start, shard) for shard in shards)

    def _request(
        self, table_name: str | None, limit: int | None, consistent: bool, start: Item | None, shard: int | None
    ) -> dict[str, Any]:
        first, out = self.collection.plans[0], Placeholders()
        plan = KeyPlan(first.index, first.hash, (), shards=first.shards)
        request: dict[str, Any] = {"TableName": table_name or self.collection.table.name}
        if plan.index.name:
            request["IndexName"] = plan.index.name
        request["KeyConditionExpression"] = render_key_condition(plan, self.values, None, out, shard) + self._narrowed(out)
        request |= out.parameters()
        optional = {"Limit": limit, "ConsistentRead": consistent or None, "ExclusiveStartKey": start}
        return request | {member: value for member, value in optional.items() if value is not None}

    def _narrowed(self, out: Placeholders) -> str:
        """The key condition for the leading sort components: one range that covers all entities."""
        if not self._leading:
            return ""
        first = self.collection.plans[0].range[0]
        low, high = [], []
        for plan in self.collection.plans:
            assert plan.range[0].text is not None
            text, count = plan.range[0].text.build_prefix(self.values)
            low.append(text)
            high.append(text if count == len(plan.range[0].names) else text + HIGH)
        return f" AND {out.name(first.attribute)} BETWEEN {out.value({'S': min(low)})} AND {out.value({'S': max(high)})}"

    @property
    def _leading(self) -> dict[str, Any]:
        return {name: self.values[name] for name in self.collection.leading if name in self.values}

    def sort(self, items: Iterable[Item], read: Callable[[Spec[Any], Item], Any] | None = None) -> Collected:
        """Decode wire items and group them by entity. Items of other entities are left out, and items for which `read` returns None."""
        found: dict[type[BaseModel], list[Any]] = {entity: [] for entity in self.collection.entities}
        for item in items:
            spec = self.collection.table.spec_for(item)
            if spec is None or spec.entity not in found:
                continue
            instance = spec.decode(item) if read is None else read(spec, item)
            # The range may contain other texts: "a b" sorts between "a" and "a#".
            if instance is not None and all(getattr(instance, name) == value for name, value in self._leading.items()):
                found[spec.entity].append(instance)
        return Collected(found)


@dataclass(frozen=True)
class Collected:
    """The result of a collection's query: instances by entity."""

    found: dict[type[BaseModel], list[Any]]
    #: items that could not be decoded, as the store reports them
    unreadable: tuple[Any, ...] = ()

    def of(self, entity: type[E]) -> list[E]:
        """The items of one entity, in the order of their keys."""
        return self._found(entity)

    def one(self, entity: type[E]) -> E | None:
        """The first item of an entity, or None: for entities with one item per partition."""
        items = self._found(entity)
        return items[0] if items else None

    def _found(self, entity: type[E]) -> list[E]:
        try:
            return self.found[entity]
        except KeyError:
            names = ", ".join(one.__name__ for one in self.found)
            raise UnknownArgument(f"{entity.__name__} is not part of the collection.", fix=f"It has {names}.") from None
