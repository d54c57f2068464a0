"""The layout of an entity's items: their attributes, and how their keys are built.

Counters: attributes of a parent item that count its children, declared on the children's entity.

Keys as entities declare them.

Marker items: one for each combination of values that a unique constraint reserves, written in the same transaction as the entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args, get_origin, overload
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ValidationError

from gateleg.errors import problem_message
from gateleg.model.errors import BadMark, MissingComponent, ModelError, UnknownArgument, UnknownIndex
from gateleg.model.key_text import Template, parse_template
from gateleg.model.keys import KeyPlan, Ref, compile_ref, key_components, read_spec, read_when, stored_key
from gateleg.model.tables import MARKER, Unique
from gateleg.model.types import did_you_mean
from gateleg.model.wire import map_key

if TYPE_CHECKING:
    from gateleg.model.attr import Attr, Attribute
    from gateleg.model.expressions.nodes import Condition
    from gateleg.model.key_parts import KeyPart
    from gateleg.model.keys import KeySource, RefBuilder
    from gateleg.model.shapes import Shape
    from gateleg.model.tables import KeyType, TableLayout
    from gateleg.model.wire import Item, Lookup, Upcaster

__all__ = ["RECOUNT", "BoundKey", "markers"]

E = TypeVar("E", bound=BaseModel)


@dataclass(eq=False)
class EntityLayout(Generic[E]):
    """How an entity is stored in items: attributes, keys, indexes and constraints."""

    entity: type[E]
    table: TableLayout
    tag: str | None
    schema: int
    attributes: dict[str, Attribute]
    sources: dict[str, KeySource]
    key: KeyPlan
    indexes: dict[str, KeyPlan]
    computed: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    uniques: dict[str, Unique] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    upcasters: dict[int, Upcaster] = field(default_factory=dict)
    #: for upcasters that need another item, the functions that return its reference
    lookups: dict[int, Lookup] = field(default_factory=dict)
    # Values that every operation reads are plain fields, because reading a cached property takes several times as long.
    #: the entity's class name
    name: str = field(init=False)
    #: the attribute for optimistic locking
    version: Attribute | None = field(init=False)
    #: the TTL attribute, after whose time DynamoDB deletes the item
    ttl: Attribute | None = field(init=False)
    #: whether writes depend on the current time, for stamps or because items expire
    timed: bool = field(init=False)
    #: builds a reference from components that have exactly the declared types; returns None for other components
    exact_ref: RefBuilder[E] = field(init=False)
    _reachable: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compute the fields that follow from the others."""
        self.name = self.entity.__name__
        self.version, self.ttl = self._marked("version"), self._marked("ttl")
        self.timed = bool(self._stamped) or self.ttl is not None
        self.exact_ref = compile_ref(self.entity, self.key, self.sources)

    @property
    def doc(self) -> str:
        """The first sentence of the entity's docstring."""
        return (self.entity.__dict__.get("__doc__") or "").strip().split("\n")[0]

    def violations(self, instance: E) -> dict[str, str]:
        """The attributes of an instance that violate declared bounds, with a message each. Reads accept them, writes do not."""
        try:
            self.entity.__pydantic_validator__.validate_python({name: instance.__dict__[name] for name in self.attributes})
        except ValidationError as error:
            found = {str(problem["loc"][0]): problem_message(problem) for problem in error.errors() if problem["loc"]}
            return {name: problem for name, problem in found.items() if name in self.attributes}
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

    def arguments(self, given: Mapping[str, Any], needed: Iterable[str] = ()) -> dict[str, Any]:
        """Validate components. Adds the fields of key parts, and builds the key parts in `needed` from their fields."""
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
        found = set(names)
        for name, members in self._parts.items():
            if name in found or set(members) <= found:
                found |= {name, *members}
        return frozenset(found)

    def reachable(self, plan: KeyPlan) -> frozenset[str]:
        """The arguments that a key accepts: its components, and the key parts that they belong to, whole or by field."""
        found = self._reachable.get(plan.index.name)
        if found is None:
            names = set(plan.names)
            for name, members in self._parts.items():
                if name in names or names & set(members):
                    names |= {name, *members}
            found = self._reachable[plan.index.name] = frozenset(names)
        return found

    def ref(self, instance: E) -> Ref[E]:
        """The reference to an instance by its primary key."""
        values = self.values(instance)
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
        found: dict[str, tuple[str, ...]] = {}
        for source in self.sources.values():
            if source.member is not None:
                found[source.attribute] = (*found.get(source.attribute, ()), source.member)
        return found

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
        return next((attribute for attribute in self.attributes.values() if attribute.marked(kind)), None)

    @cached_property
    def write_stamps(self) -> tuple[Attribute, ...]:
        """The attributes that every write sets to the current time."""
        return self.stamped("write")

    def stamped(self, on: str) -> tuple[Attribute, ...]:
        """The attributes that are set to the current time, on "create" or on "write"."""
        return self._stamped.get(on, ())

    @cached_property
    def _stamped(self) -> dict[str, tuple[Attribute, ...]]:
        found: dict[str, tuple[Attribute, ...]] = {}
        for attribute in self.attributes.values():
            if attribute.traits.stamp is not None:
                found[attribute.traits.stamp] = (*found.get(attribute.traits.stamp, ()), attribute)
        return found

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


if TYPE_CHECKING:

    def layout_of(entity: type[E]) -> EntityLayout[E]:
        """The layout of an entity's items. Raises `NotAnEntity` for a class that is not an entity."""
        ...

else:
    layout_of = read_spec


def layouts_of(table: TableLayout) -> list[EntityLayout[Any]]:
    """The layouts of the entities of a table, in the order of declaration."""
    return [member for member in table.members if isinstance(member, EntityLayout)]


#: An attribute that a recount sets on the parent item, and that every change of a counter removes. A recount writes its result only if the
#: attribute is still there, so it never overwrites a change that happened while it was counting.
RECOUNT = "~recount"


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
        return values is not None and all(values.get(name) in allowed for name, allowed in self.when.items())

    def parent(self, values: Mapping[str, Any]) -> Ref[Any]:
        """The reference to the parent item, which holds the counter."""
        ref: Ref[Any] = self.attribute.owner.key(**{name: values[name] for name in self.parent_names})
        return ref


Form = str | Sequence[str]


class Key:
    """Declare how an entity's key attributes are built from its attributes.

    `key = Key("PROJECT#{project_id}", "SCENE#{sequence:03d}")` is the primary key; with `index=`, it is the key of that index. A template
    that consists of a single placeholder stores the attribute's value itself, so a number remains a number. An index whose key attributes
    are attributes of the entity needs no declaration.

    With `when={"status": ["PENDING"]}`, an item is in the index only if the attributes have one of the values. `shards=8` spreads each
    hash value of an index over 8 partitions. `legacy` lists older templates of the primary key, under which items are still found: a hash
    template, or a pair of templates. The first write moves such an item to its current key, where the release before does not find it. So
    the first release of a changed key declares `writes="legacy"`: it reads both forms, writes new items under the first legacy one, and
    leaves stored items where they are.
    """

    def __init__(
        self,
        hash: Form,
        range: Form = (),
        *,
        index: str = "",
        when: Mapping[str, Iterable[Any]] | None = None,
        shards: int = 1,
        legacy: Sequence[str | tuple[str, str]] = (),
        writes: Literal["current", "legacy"] = "current",
    ) -> None:
        self.index = index
        self.hash = _templates(hash)
        self.range = _templates(range)
        self.when = read_when(when)
        self.shards = shards
        self.legacy = tuple((form, None) if isinstance(form, str) else form for form in legacy)
        self.writes = writes

    @overload
    def __get__(self, instance: None, owner: type[E]) -> BoundKey[E]: ...
    @overload
    def __get__(self, instance: E, owner: type[E]) -> Ref[E]: ...
    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        """On the class, a `BoundKey`, which builds references; on an instance, the reference to that item."""
        bound: BoundKey[Any] = BoundKey(owner, layout_of(owner).plan(self.index))
        return bound if instance is None else bound.of(instance)


def _templates(form: Form) -> tuple[Template, ...]:
    return tuple(parse_template(text) for text in ((form,) if isinstance(form, str) else form))


class BoundKey(Generic[E]):
    """The key of an entity. Call it with the components of a key to get a reference to an item."""

    def __init__(self, entity: type[E], plan: KeyPlan) -> None:
        self.entity = entity
        self.plan = plan

    def __call__(self, *conditions: Condition[E], **components: Any) -> Ref[E]:
        """A reference to the item with these components: `Scene.key(sequence=1, ...)` or `Scene.key(Scene.sequence == 1, ...)`.

        Type checkers check the second form. Values are validated like the entity's attributes. Raises `MissingComponent`,
        `UnknownArgument` or another `KeyValueError` if they do not make a key.
        """
        layout = layout_of(self.entity)
        values = key_components(self.entity, conditions, components, layout.reachable(self.plan))
        return layout.locate(values) if self.plan is layout.key else layout.locate_validated(self.plan, values)

    def of(self, instance: E) -> Ref[E]:
        """The reference to the item of an instance."""
        return layout_of(self.entity).ref_in(self.plan, instance)

    def parse(self, item: Item) -> dict[str, Any]:
        """The components of a wire item's key, by name."""
        return self.plan.parse(item)


_TEXTUAL = "Use attributes of text, whole numbers, Decimal, times, UUIDs or enumerations."


def resolve_unique(layout: EntityLayout[Any], declared: Unique) -> Unique:
    """The constraint with key parts replaced by their fields. Raises `BadMark` for attributes that a marker's key cannot contain."""
    where = f"{layout.name}.{declared.name}"
    if not declared.by:
        raise BadMark(f"{where} has no attributes.", fix='List those that must be unique together, as in Unique("email").')
    for name in declared.by:
        if name not in layout.sources:
            raise BadMark(f"{where} names {name!r}, which is not an attribute.", fix=did_you_mean(name, layout.sources))
    if any(entry.type != "S" for entry in layout.key.fields):
        raise BadMark(f"{where}: the keys of {layout.table.name} are not text.", fix="Use a table with text keys, which markers need.")
    names = [member for name in declared.by for member in layout.fields_of(name)]
    for name in names:
        if not _has_text(layout.sources[name].declared.type):
            raise BadMark(f"{where}: {name} cannot be part of a marker's key.", fix=_TEXTUAL)
    unique = Unique(*dict.fromkeys(names), ignore_case=declared.ignore_case)
    unique.name = declared.name
    return unique


def marker_key(layout: EntityLayout[Any], unique: Unique, values: Mapping[str, Any]) -> Item | None:
    """The key of the marker item, or None if a value is None: None is never unique."""
    parts = [values.get(name) for name in unique.by]
    if any(part is None for part in parts):
        return None
    texts = [map_key(part) for part in parts]
    if unique.ignore_case:
        texts = [text.casefold() for text in texts]
    text = "#".join([MARKER, layout.name, unique.name, *(quote(text, safe="") for text in texts)])
    key: Item = {layout.table.hash: {"S": text}}
    if layout.table.range is not None:
        key[layout.table.range] = {"S": MARKER}
    return key


def _has_text(kind: Any) -> bool:
    """Whether a marker's key can contain every value of a type."""
    if get_origin(kind) is Literal:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return all(_has_text(type(member.value)) for member in kind)
    return isinstance(kind, type) and issubclass(kind, str | int | UUID | date | Decimal) and kind is not bool


def markers(layout: EntityLayout[Any], values: Mapping[str, Any]) -> dict[str, Item]:
    """The keys of the markers of an item with these values, by constraint."""
    found = {name: marker_key(layout, unique, values) for name, unique in layout.uniques.items()}
    return {name: key for name, key in found.items() if key is not None}
