"""`Spec`: compiled metadata of an entity: attributes, keys, indexes, access patterns and codec."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from gateleg.model.attributes.special_types import find_mark
from gateleg.model.attributes.states import States
from gateleg.model.codec.shapes import Scope, Shape
from gateleg.model.codec.stored_keys import stored_key
from gateleg.model.errors import KeyValueError, MissingComponent, ModelError, UnknownArgument, UnknownIndex
from gateleg.model.keys.key import KeyPlan, Ref, located, shard_of
from gateleg.model.keys.key_builder import compile_ref
from gateleg.model.keys.parts import KeyPart
from gateleg.model.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from pydantic.fields import FieldInfo

    from gateleg.model.attributes.annotations import Declared
    from gateleg.model.attributes.attr import Attr
    from gateleg.model.attributes.fields import Traits
    from gateleg.model.codec.codec import Codec
    from gateleg.model.codec.upcasters import Upcaster
    from gateleg.model.codec.wire import Item, Value
    from gateleg.model.counters import Counter
    from gateleg.model.keys.key_builder import RefBuilder
    from gateleg.model.patterns import Access
    from gateleg.model.planning.plan_cache import CachedPlan
    from gateleg.model.tables import KeyType, Table
    from gateleg.model.uniques import Unique

E = TypeVar("E", bound=BaseModel)


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of an entity."""

    name: str
    wire: str
    annotation: Any
    declared: Declared
    shape: Shape
    info: FieldInfo
    traits: Traits
    attr: Attr[Any]

    @cached_property
    def optional(self) -> bool:
        """Whether it may be None, which is absent on the wire."""
        return self.declared.optional

    @cached_property
    def needed(self) -> bool:
        """Whether an item without it cannot be read."""
        return self.info.is_required() or self.traits.create_only

    @cached_property
    def state(self) -> bool:
        """Whether it changes by transition only."""
        return isinstance(self.declared.type, type) and issubclass(self.declared.type, States)

    @cached_property
    def part(self) -> type[KeyPart] | None:
        """The key part that it holds, if any."""
        kind = self.declared.type
        return kind if isinstance(kind, type) and issubclass(kind, KeyPart) else None

    def marked(self, kind: str) -> bool:
        """Whether its type has a mark: version, ttl, s3-key, ..."""
        return find_mark(self.declared.metadata, kind)


@dataclass(frozen=True, eq=False)
class Source:
    """A value that keys are made of: an attribute, or a field of one that holds a key part."""

    name: str
    wire: str
    attribute: str
    member: str | None
    annotation: Any
    declared: Declared
    shape: Shape

    @cached_property
    def pack(self) -> Callable[[Any], Value]:
        """From the Python value to the wire value."""
        scope = Scope()
        packer: Callable[[Any], Value] = eval(f"lambda v: {self.shape.pack('v', scope)}", scope.names)
        return packer

    @cached_property
    def unpack(self) -> Callable[[Value], Any]:
        """From the wire value to what pydantic accepts."""
        scope = Scope()
        unpacker: Callable[[Value], Any] = eval(f"lambda w: {self.shape.unpack('w', scope)}", scope.names)
        return unpacker

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    def validate(self, value: Any, entity: str) -> Any:
        """The value of an argument, in the declared type."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            reasons = "; ".join(problem["msg"] for problem in error.errors())
            raise KeyValueError(f"{entity}.{self.name} cannot be {value!r}: {reasons}.", fix="Give the attribute's own type.") from None


@dataclass(eq=False)
class Spec(Generic[E]):
    """An entity, understood."""

    #: from an instance to a wire item, with all derived keys
    encode: Callable[[E], Item] = field(init=False)
    #: from a wire item to a validated instance
    decode: Callable[[Item], E] = field(init=False)
    entity: type[E]
    table: Table
    tag: str | None
    schema: int
    attributes: dict[str, Attribute]
    sources: dict[str, Source]
    key: KeyPlan
    indexes: dict[str, KeyPlan]
    computed: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    patterns: dict[str, Access[E]] = field(default_factory=dict)
    uniques: dict[str, Unique] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    upcasters: dict[int, Upcaster] = field(default_factory=dict)
    #: the attributes that counters of other entities write, with those entities
    counted: dict[str, list[type[BaseModel]]] = field(default_factory=dict)
    #: updates that were planned before, by what they ask for
    forms: dict[Hashable, CachedPlan] = field(default_factory=dict)
    #: the entity's class name
    name: str = field(init=False)
    _codec: Codec[E] | None = None
    _reachable: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the name of the class."""
        self.name = self.entity.__name__

    @property
    def doc(self) -> str:
        """The first sentence of the entity's docstring."""
        return (self.entity.__dict__.get("__doc__") or "").strip().split("\n")[0]

    @property
    def codec(self) -> Codec[E]:
        """The generated codec and its source."""
        assert self._codec is not None
        return self._codec

    def install(self, codec: Codec[E]) -> None:
        """Take the codec; `encode` and `decode` become its functions, without a call in between."""
        self._codec = codec
        self.encode = codec.encode
        self.decode = codec.decode

    def decode_partial(self, item: Item) -> dict[str, Any]:
        """The validated values of those attributes that a projected item has, by Python name."""
        return self.codec.decode_partial(item)

    def violations(self, instance: E) -> dict[str, str]:
        """What breaks the declared bounds in an instance that was read, by attribute. Reads do not enforce them."""
        try:
            self.entity.__pydantic_validator__.validate_python({name: instance.__dict__[name] for name in self.attributes})
        except ValidationError as error:
            found = {str(problem["loc"][0]): problem["msg"] for problem in error.errors() if problem["loc"]}
            return {name: problem for name, problem in found.items() if name in self.attributes}
        return {}

    def plan(self, index: str) -> KeyPlan:
        """How the entity is keyed in an index; the empty name is the table."""
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

    def arguments(self, given: Mapping[str, Any], needed: Iterable[str] = ()) -> dict[str, Any]:
        """Given components, validated. Key parts are taken apart; those that are `needed` and given by their fields are put together."""
        values: dict[str, Any] = {}
        for name, value in given.items():
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

    @cached_property
    def _exact_ref(self) -> RefBuilder[E]:
        """The item of components of exactly the declared types, or None."""
        return compile_ref(self)

    def locate(self, components: Mapping[str, Any]) -> Ref[E]:
        """The item whose key has these components; what does not have the declared type yet is validated."""
        return self._exact_ref(components) or located(self, self.key, components)

    def fields_of(self, name: str) -> tuple[str, ...]:
        """The fields of a key part; of any other attribute the name alone."""
        return self._parts.get(name, (name,))

    def stored(self, name: str) -> Source:
        """Where a value lies in the item: its own attribute, or the key part's when its fields are not stored beside it."""
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
        """The names, and for each key part among them its fields, for each field its part."""
        found = set(names)
        for name, members in self._parts.items():
            if name in found or set(members) <= found:
                found |= {name, *members}
        return frozenset(found)

    def reachable(self, plan: KeyPlan) -> frozenset[str]:
        """The arguments that a key understands: its components, and key parts by whole or by field."""
        found = self._reachable.get(plan.index.name)
        if found is None:
            names = set(plan.names)
            for name, members in self._parts.items():
                if name in names or names & set(members):
                    names |= {name, *members}
            found = self._reachable[plan.index.name] = frozenset(names)
        return found

    def ref(self, instance: E) -> Ref[E]:
        """The reference to an instance."""
        values = self.values(instance)
        key = stored_key(values) or self.key.require(values, self.name)
        return Ref(self.entity, {name: values[name] for name in self._key_names}, key)

    def ref_of(self, item: Item) -> Ref[E]:
        """The reference to a stored item by the key that it lies under, whether or not the item can be read."""
        try:
            values = self.key.parse(item)
        except (ModelError, KeyError, TypeError, ValueError):
            values = {}
        return Ref(self.entity, values, {name: item[name] for name in self.table.attributes if name in item})

    @cached_property
    def _key_names(self) -> tuple[str, ...]:
        return tuple(sorted(self.reachable(self.key)))

    def index_keys(self, values: Mapping[str, Any], primary: Item) -> Item:
        """Every derived index key attribute of an item with these values."""
        item: Item = {}
        for plan in self.indexes.values():
            built = plan.build(values, shard_of(primary, plan.shards) if plan.shards > 1 else None)
            item |= {entry.attribute: built[entry.attribute] for entry in plan.derived if entry.attribute in built}
        return item

    def key_types(self) -> dict[str, KeyType]:
        """The type of every key attribute that the entity writes."""
        return {entry.attribute: entry.type for plan in (self.key, *self.indexes.values()) for entry in plan.fields}

    @cached_property
    def _parts(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for source in self.sources.values():
            if source.member is not None:
                found[source.attribute] = (*found.get(source.attribute, ()), source.member)
        return found

    @cached_property
    def by_wire(self) -> dict[Any, Attribute]:
        """The attributes by their names on the wire."""
        return {attribute.wire: attribute for attribute in self.attributes.values()}

    @cached_property
    def index_attributes(self) -> frozenset[str]:
        """The key attributes of all indexes, by wire name."""
        return frozenset(entry.attribute for plan in self.indexes.values() for entry in plan.fields)

    @cached_property
    def rewritable(self) -> tuple[KeyPlan, ...]:
        """The keys of indexes that must be written when one of their inputs changes."""
        return tuple(plan for plan in self.indexes.values() if plan.derived)

    @cached_property
    def version(self) -> Attribute | None:
        """The attribute for optimistic locking."""
        return self._marked("version")

    @cached_property
    def ttl(self) -> Attribute | None:
        """The attribute after which DynamoDB deletes the item."""
        return self._marked("ttl")

    def _marked(self, kind: str) -> Attribute | None:
        return next((attribute for attribute in self.attributes.values() if attribute.marked(kind)), None)

    @property
    def counted_wires(self) -> dict[str, str]:
        """The counted attributes: from the name on the wire to that in Python."""
        return {self.attributes[name].wire: name for name in self.counted}

    def stamped(self, on: str) -> tuple[Attribute, ...]:
        """The attributes that the model sets to the present time: on "create" or on "write"."""
        return self._stamped.get(on, ())

    @cached_property
    def _stamped(self) -> dict[str, tuple[Attribute, ...]]:
        found: dict[str, tuple[Attribute, ...]] = {}
        for attribute in self.attributes.values():
            if attribute.traits.stamp is not None:
                found[attribute.traits.stamp] = (*found.get(attribute.traits.stamp, ()), attribute)
        return found

    @cached_property
    def derived_names(self) -> frozenset[str]:
        """The wire attributes that the model writes besides the entity's own."""
        names = {entry.attribute for plan in (self.key, *self.indexes.values()) for entry in plan.derived}
        names |= {source.wire for source in self.sources.values() if source.member is not None and self._denormalised(source)}
        names |= {wire for wire, _ in self.computed.values()}
        if self.tag is not None and self.table.tag is not None:
            names.add(self.table.tag)
        if self.schema > 1:
            names.add(self.table.schema)
        return frozenset(names)

    def _denormalised(self, source: Source) -> bool:
        part = self.attributes[source.attribute].part
        return part is not None and part.__denormalise__

    def denormalised(self) -> tuple[Source, ...]:
        """The fields of key parts that are stored beside them."""
        return self._stored_beside

    @cached_property
    def _stored_beside(self) -> tuple[Source, ...]:
        return tuple(source for source in self.sources.values() if source.member is not None and self._denormalised(source))
