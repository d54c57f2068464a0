"""Specs: everything that the model knows about an entity, for stores and tools; and records of a table's stream as changes of entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from gateleg.errors import problem_message
from gateleg.model.errors import MissingComponent, ModelError, UnknownArgument, UnknownIndex
from gateleg.model.keys import Ref, compile_ref
from gateleg.model.stored_forms import STORED, stored_key
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from gateleg.model.attr import Attribute
    from gateleg.model.codec import Codec
    from gateleg.model.key_parts import KeyPart
    from gateleg.model.keys import KeyPlan, KeySource, RefBuilder
    from gateleg.model.patterns import Access
    from gateleg.model.planning.plan_cache import CachedPlan
    from gateleg.model.shapes import Shape
    from gateleg.model.tables import Counter, KeyType, Table, Unique
    from gateleg.model.wire import Item, Lookup, Upcaster

E = TypeVar("E", bound=BaseModel)


@dataclass(eq=False)
class Spec(Generic[E]):
    """The compiled metadata of an entity: attributes, keys, indexes, constraints, patterns and codec. `spec_of(entity)` returns it."""

    entity: type[E]
    table: Table
    tag: str | None
    schema: int
    attributes: dict[str, Attribute]
    sources: dict[str, KeySource]
    key: KeyPlan
    indexes: dict[str, KeyPlan]
    #: builds the codec, at its first use
    build_codec: Callable[[Spec[E]], Codec[E]]
    computed: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    patterns: dict[str, Access[E]] = field(default_factory=dict)
    uniques: dict[str, Unique] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    #: the attributes in which counters of other entities count, with those entities
    counted: dict[str, list[type[BaseModel]]] = field(default_factory=dict)
    upcasters: dict[int, Upcaster] = field(default_factory=dict)
    #: for upcasters that need another item, the functions that return its reference
    lookups: dict[int, Lookup] = field(default_factory=dict)
    #: the plan cache of updates
    plans: dict[Hashable, CachedPlan] = field(default_factory=dict)
    # Values that every operation reads are plain fields, because reading a cached property takes several times as long.
    #: the entity's class name
    name: str = field(init=False)
    #: the attribute for optimistic locking
    version: Attribute | None = field(init=False)
    #: the TTL attribute, after whose time DynamoDB deletes the item
    ttl: Attribute | None = field(init=False)
    #: whether writes depend on the current time, for stamps or because items expire
    timed: bool = field(init=False)
    #: from an instance to a wire item, with all derived keys
    encode: Callable[[E], Item] = field(init=False)
    #: from a wire item to a validated instance
    decode: Callable[[Item], E] = field(init=False)
    #: builds a reference from components that have exactly the declared types; returns None for other components
    exact_ref: RefBuilder[E] = field(init=False)
    _codec: Codec[E] | None = field(default=None, init=False)
    _reachable: dict[str, frozenset[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Compute the fields that follow from the others."""
        self.name = self.entity.__name__
        self.version, self.ttl = self._marked("version"), self._marked("ttl")
        self.timed = bool(self._stamped) or self.ttl is not None
        self.exact_ref = compile_ref(self.entity, self.key, self.sources)
        # The first call builds the codec, which replaces both by its own functions: that saves later ones a call.
        self.encode = lambda instance: self.codec.encode(instance)
        self.decode = lambda item: self.codec.decode(item)

    @property
    def codec(self) -> Codec[E]:
        """The generated codec and its source."""
        if self._codec is None:
            self._codec = self.build_codec(self)
            self.encode, self.decode = self._codec.encode, self._codec.decode
        return self._codec

    def decode_partial(self, item: Item) -> dict[str, Any]:
        """The attributes of a projected item, validated, by Python name. Raises `DecodeError` if one is invalid."""
        return self.codec.decode_partial(item)

    @property
    def doc(self) -> str:
        """The first sentence of the entity's docstring."""
        return (self.entity.__dict__.get("__doc__") or "").strip().split("\n")[0]

    def violations(self, instance: E) -> dict[str, str]:
        """The attributes of an instance that violate declared bounds, with a message each. Reads accept them, writes do not."""
        try:
            self.entity.__pydantic_validator__.validate_python({name: instance.__dict__[name] for name in self.attributes})
        except ValidationError as error:
            problems = {str(problem["loc"][0]): problem_message(problem) for problem in error.errors() if problem["loc"]}
            return {name: problem for name, problem in problems.items() if name in self.attributes}
        return {}

    def plan(self, index: str) -> KeyPlan:
        """The entity's key plan for an index, or for the table if the name is empty. Raises `UnknownIndex` if it has no key there."""
        if not index:
            return self.key
        self.table.index(index)
        if index not in self.indexes:
            raise UnknownIndex(f"{self.name} is not in the index {index}.", fix=f"Declare Key(..., index={index!r}) on {self.name}.")
        return self.indexes[index]

    def values(self, instance: BaseModel) -> Mapping[str, Any]:
        """The instance's attributes and the fields of its key parts, by name."""
        return self.with_members(instance.__dict__)

    def with_members(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes of an instance, and the fields of its key parts."""
        if not self._parts:
            return attributes
        values = dict(attributes)
        for name, members in self._parts.items():
            part = values[name]
            for member in members:
                values[member] = None if part is None else getattr(part, member)
        return values

    def arguments(self, arguments: Mapping[str, Any], needed: Iterable[str] = ()) -> dict[str, Any]:
        """Validate components. Adds the fields of key parts, and builds the key parts in `needed` from their fields."""
        values: dict[str, Any] = {}
        for name, value in arguments.items():
            source = self.sources.get(name)
            if source is None:
                known = list(self.sources)
                fix = did_you_mean(name, known, otherwise=f"It has {', '.join(known)}.")
                raise UnknownArgument(f"{self.name} has no attribute {name!r}.", fix=fix)
            values[name] = value if value is None else source.validate(value, self.name)
        for name, members in self._parts.items():
            if values.get(name) is not None:
                values |= {member: getattr(values[name], member) for member in members}
            elif name in needed and values.keys() & set(members):
                values[name] = self._assembled(name, values)
                values |= {member: getattr(values[name], member) for member in members}
        return values

    def locate(self, components: Mapping[str, Any]) -> Ref[E]:
        """A reference to the item with these primary key components, which are validated unless they already have the declared types."""
        return self.exact_ref(components) or self.locate_validated(self.key, components)

    def locate_validated(self, plan: KeyPlan, components: Mapping[str, Any]) -> Ref[E]:
        """A reference by one of the entity's keys, from components that are validated first."""
        values = self.arguments(components, plan.names)
        reachable = self.reachable(plan)
        for name in components:
            if name not in reachable:
                fix = did_you_mean(name, plan.names, otherwise=f"It has {', '.join(plan.names)}.")
                raise UnknownArgument(f"{name!r} is not part of the key of {self.name}.", fix=fix)
        return Ref(self.entity, values, plan.require(values, self.name))

    def ref_in(self, plan: KeyPlan, instance: E) -> Ref[E]:
        """The reference to an instance by one of the entity's keys, such as an index key."""
        if plan is self.key:
            return self.ref(instance)
        reachable = self.reachable(plan)
        values = {name: value for name, value in self.values(instance).items() if name in reachable}
        return Ref(self.entity, values, plan.require(values, self.name))

    def fits(self, item: Item) -> bool:
        """Whether the key of an item matches the templates of the entity's primary key."""
        return self.key.fits(item)

    def fields_of(self, name: str) -> tuple[str, ...]:
        """The field names of a key part; for any other attribute, a tuple of its name."""
        return self._parts.get(name, (name,))

    def stored(self, name: str) -> KeySource:
        """The source of the attribute that stores a value: for a field of a key part that is not denormalised, that is the key part."""
        source = self.sources[name]
        return source if source.member is None or self._denormalised(source) else self.sources[source.attribute]

    def _assembled(self, name: str, values: Mapping[str, Any]) -> KeyPart:
        part = self.attributes[name].part
        assert part is not None
        missing = [member for member in part.__required__() if values.get(member) is None]
        if missing:
            fix = f"Give them, or {self.name}.{name} as a whole."
            raise MissingComponent(f"{self.name}.{name} needs {', '.join(missing)}.", fix=fix, entity=self.name, missing=missing)
        return part(**{member: values[member] for member in self._parts[name] if member in values})

    def arguments_of(self, names: Iterable[str]) -> frozenset[str]:
        """The names, completed: with the fields of each key part, and with each key part whose fields are all present."""
        arguments = set(names)
        for name, members in self._parts.items():
            if name in arguments or set(members) <= arguments:
                arguments |= {name, *members}
        return frozenset(arguments)

    def reachable(self, plan: KeyPlan) -> frozenset[str]:
        """The arguments that a key accepts: its components, and the key parts that they belong to, whole or by field."""
        reachable = self._reachable.get(plan.index.name)
        if reachable is None:
            names = set(plan.names)
            for name, members in self._parts.items():
                if name in names or names & set(members):
                    names |= {name, *members}
            reachable = self._reachable[plan.index.name] = frozenset(names)
        return reachable

    def ref(self, instance: E) -> Ref[E]:
        """The reference to an instance by its primary key."""
        values = self.values(instance)
        if STORED not in values and not self._parts:
            ref = self.exact_ref({name: values[name] for name in self.key.names})
            if ref is not None:
                return ref
        key = stored_key(values) or self.key.require(values, self.name)
        return Ref(self.entity, {name: values[name] for name in self._key_names}, key)

    def ref_of(self, item: Item) -> Ref[E]:
        """The reference to a stored item by its stored key, even if the item cannot be decoded."""
        try:
            values = self.key.parse(item)
        except (ModelError, KeyError, TypeError, ValueError):
            values = {}
        return Ref(self.entity, values, {name: item[name] for name in self.table.attributes if name in item})

    @cached_property
    def _key_names(self) -> tuple[str, ...]:
        return tuple(sorted(self.reachable(self.key)))

    def key_types(self) -> dict[str, KeyType]:
        """The types of all key attributes that the entity writes."""
        return {entry.attribute: entry.type for plan in (self.key, *self.indexes.values()) for entry in plan.fields}

    @cached_property
    def _parts(self) -> dict[str, tuple[str, ...]]:
        parts: dict[str, tuple[str, ...]] = {}
        for source in self.sources.values():
            if source.member is not None:
                parts[source.attribute] = (*parts.get(source.attribute, ()), source.member)
        return parts

    @cached_property
    def by_wire(self) -> dict[Any, Attribute]:
        """The attributes by wire name."""
        return {attribute.wire: attribute for attribute in self.attributes.values()}

    @cached_property
    def index_attributes(self) -> frozenset[str]:
        """The key attributes of all indexes, by wire name."""
        return frozenset(entry.attribute for plan in self.indexes.values() for entry in plan.fields)

    @cached_property
    def rewritable(self) -> tuple[KeyPlan, ...]:
        """The index keys with derived attributes, which must be rewritten when one of their inputs changes."""
        return tuple(plan for plan in self.indexes.values() if plan.derived)

    @property
    def ttl_name(self) -> str | None:
        """The wire name of the TTL attribute."""
        return None if self.ttl is None else self.ttl.wire

    def _marked(self, kind: str) -> Attribute | None:
        return next((attribute for attribute in self.attributes.values() if attribute.is_special(kind)), None)

    @cached_property
    def write_stamps(self) -> tuple[Attribute, ...]:
        """The attributes that every write sets to the current time."""
        return self.stamped("write")

    def stamped(self, on: str) -> tuple[Attribute, ...]:
        """The attributes that are set to the current time, on "create" or on "write"."""
        return self._stamped.get(on, ())

    @cached_property
    def _stamped(self) -> dict[str, tuple[Attribute, ...]]:
        stamped: dict[str, tuple[Attribute, ...]] = {}
        for attribute in self.attributes.values():
            if attribute.traits.stamp is not None:
                stamped[attribute.traits.stamp] = (*stamped.get(attribute.traits.stamp, ()), attribute)
        return stamped

    @cached_property
    def none_if_absent(self) -> frozenset[str]:
        """The attributes without a default that are None in an item without them: optional ones that no key holds instead."""
        keyed = {self.sources[name].attribute for plan in (self.key, *self.indexes.values()) for name in plan.names}
        return frozenset(a.name for a in self.attributes.values() if a.needed and a.optional and a.name not in keyed)

    @cached_property
    def derived_names(self) -> frozenset[str]:
        """The wire names of attributes that the model adds to the entity's: keys, tag, schema number, fields of key parts and others."""
        names = {entry.attribute for plan in (self.key, *self.indexes.values()) for entry in plan.derived}
        names |= {source.wire for source in self.sources.values() if source.member is not None and self._denormalised(source)}
        names |= {wire for wire, _ in self.computed.values()}
        if self.tag is not None and self.table.tag is not None:
            names.add(self.table.tag)
        if self.schema > 1:
            names.add(self.table.schema)
        return frozenset(names)

    def _denormalised(self, source: KeySource) -> bool:
        part = self.attributes[source.attribute].part
        return part is not None and part.__denormalise__

    def denormalised(self) -> tuple[KeySource, ...]:
        """The fields of key parts that are also stored as separate attributes."""
        return self._stored_beside

    @cached_property
    def _stored_beside(self) -> tuple[KeySource, ...]:
        return tuple(source for source in self.sources.values() if source.member is not None and self._denormalised(source))

    @property
    def counted_wires(self) -> dict[str, str]:
        """The counted attributes: from wire name to Python name."""
        return {self.attributes[name].wire: name for name in self.counted}


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
