"""Build the spec of an entity from its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model.attributes.annotations import read_annotation
from gateleg.model.attributes.attr import attribute_of
from gateleg.model.attributes.attribute import Attribute
from gateleg.model.attributes.traits import traits_of
from gateleg.model.codec.codec import build_codec
from gateleg.model.codec.nested import attr_type, case_of, field_names
from gateleg.model.codec.shape_choice import shape_of
from gateleg.model.counters import Counter
from gateleg.model.declaration_checks import check_attributes, check_defaults, check_spec
from gateleg.model.errors import (
    BadKeyOption,
    BadMark,
    DeclarationError,
    DuplicateMark,
    MissingKey,
    UnknownComponent,
    UnsupportedType,
    WireNameClash,
)
from gateleg.model.keys.key import Key
from gateleg.model.keys.plans import KeyField, KeyPlan
from gateleg.model.keys.restrictions import check_when
from gateleg.model.keys.sources import KeySource
from gateleg.model.keys.templates import Template, parse_template
from gateleg.model.keys.text_keys import build_text_key
from gateleg.model.markers import resolve_unique
from gateleg.model.patterns import Pattern, resolve_pattern
from gateleg.model.spec import Spec, spec_of
from gateleg.model.uniques import Unique

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.model.spec import Table
    from gateleg.model.tables import Index, KeyType

E = TypeVar("E", bound=BaseModel)


def build_spec(entity: type[E], table: Table, tag: str | None, schema: int) -> Spec[E]:
    """Read attributes, keys, patterns and constraints; check them; compile the codec; register the entity with its table."""
    attributes = _attributes(entity)
    check_attributes(entity.__name__, attributes)
    check_defaults(entity, attributes)
    sources = _sources(entity, attributes)
    declared = _declared_keys(entity, table)
    resolver = _Resolver(entity.__name__, table, sources)
    key = resolver.primary(declared[""])
    indexes = {index.name: resolver.index(index, declared.get(index.name), key) for index in table.indexes}
    present = {name: plan for name, plan in indexes.items() if plan is not None}
    spec = Spec(entity, table, tag, schema, attributes, sources, key, present, computed=_computed(entity))
    check_spec(spec)
    for name, pattern in _members(entity, Pattern).items():
        spec.patterns[name] = resolve_pattern(spec, pattern)
    for name, unique in _members(entity, Unique).items():
        if spec.key.writes_legacy:
            raise BadKeyOption(
                f"{entity.__name__} has a unique constraint, and writes its legacy key.",
                fix="Move the items with a KeyMove: the owner of a unique value is known by its current key.",
            )
        spec.uniques[name] = resolve_unique(spec, unique)
    for name, counter in _members(entity, Counter).items():
        spec.counters[name] = _resolve_counter(spec, name, counter)
    spec.install(build_codec(spec))
    table.members[:] = [other for other in table.specs if not _same_class(other.entity, entity)] + [spec]
    return spec


def _resolve_counter(spec: Spec[Any], name: str, declared: Counter) -> Counter:
    """Check a counter, convert the values of `when` to the child's types, and register the child with the parent's spec."""
    where = f"{spec.name}.{name}"
    kind = read_annotation(getattr(declared.attribute, "annotation", None)).type
    if not isinstance(kind, type) or not issubclass(kind, int) or issubclass(kind, bool):
        raise BadMark(f"{where} counts in {declared.attribute!r}, which is not an int.", fix="Use an attribute declared as Attr[int].")
    parent = spec_of(declared.attribute.owner)
    missing_names = [part for part in parent.key.names if part not in spec.sources]
    if missing_names:
        raise BadMark(
            f"{where} counts in {declared.attribute!r}, but {spec.name} has no {', '.join(missing_names)}.",
            fix=f"Declare them in {spec.name}: the child needs all attributes of the parent's key.",
        )
    # A reloaded class replaces its previous version.
    named = (spec.entity.__module__, spec.entity.__qualname__)
    others = [one for one in parent.counted.get(declared.attribute.name, ()) if (one.__module__, one.__qualname__) != named]
    parent.counted[declared.attribute.name] = [*others, spec.entity]
    # Cached plans may write the attribute without counting.
    parent.plans.clear()
    counter = Counter(declared.attribute, when=check_when(where, declared.when, spec.sources))
    for other, resolved in spec.counters.items():
        if (
            resolved.attribute.path == counter.attribute.path
            and resolved.attribute.owner is parent.entity
            and resolved.when == counter.when
        ):
            raise DuplicateMark(
                f"{where} counts the same as {spec.name}.{other}, twice in {declared.attribute!r}.", fix="Keep one of them."
            )
    counter.parent_names = parent.key.names
    return counter


def _same_class(one: type, other: type) -> bool:
    """Whether both are the same class, possibly before and after a reload."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


M = TypeVar("M")


def _members(entity: type, kind: type[M]) -> dict[str, M]:
    """The class attributes of a type in a class and its bases; subclasses override."""
    found: dict[str, M] = {}
    for base in reversed(entity.__mro__):
        found |= {name: value for name, value in vars(base).items() if isinstance(value, kind)}
    return found


def _attributes(entity: type[BaseModel]) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {}
    for name, info in entity.model_fields.items():
        annotation = attr_type(info.annotation)
        wire, _ = field_names(name, info, case_of(entity))
        declared = read_annotation(annotation)
        attr = attribute_of(entity, name)
        attributes[name] = Attribute(name, wire, annotation, declared, shape_of(annotation), info, traits_of(info), attr)
    return attributes


def _sources(entity: type[BaseModel], attributes: Mapping[str, Attribute]) -> dict[str, KeySource]:
    sources = {a.name: KeySource(a.name, a.wire, a.name, None, a.annotation, a.declared, a.shape) for a in attributes.values()}
    case = case_of(entity)
    for attribute in attributes.values():
        if attribute.part is None:
            continue
        for member, declared in attribute.part.__members__().items():
            if member in sources:
                raise WireNameClash(
                    f"{entity.__name__}.{member} is also a field of {attribute.part.__name__}.", fix="Remove it: the key part stores it."
                )
            wire = case(member) if case else member
            sources[member] = KeySource(member, wire, attribute.name, member, declared.type, declared, shape_of(declared.type))
    return sources


def _computed(entity: type[BaseModel]) -> dict[str, Any]:
    case = case_of(entity)
    return {
        name: (info.alias or (case(name) if case else name), shape_of(info.return_type))
        for name, info in entity.model_computed_fields.items()
    }


def _declared_keys(entity: type[BaseModel], table: Table) -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for name, key in _members(entity, Key).items():
        if key.index in keys:
            place = f"the index {key.index}" if key.index else "the table"
            raise DeclarationError(f"{entity.__name__}.{name} is a second key for {place}.", fix="Keep one.")
        table.index(key.index)
        keys[key.index] = key
    if "" not in keys:
        example = ", ".join(f'"{{{name}}}"' for name in table.attributes)
        raise MissingKey(f"{entity.__name__} has no key.", fix=f"Declare one, such as key = Key({example}).")
    return keys


class _Resolver:
    """Resolves declared keys to `KeyPlan`s."""

    def __init__(self, entity: str, table: Table, sources: Mapping[str, KeySource]) -> None:
        self.entity = entity
        self.table = table
        self.sources = sources
        self.by_wire = {source.wire: source for source in sources.values()}

    def primary(self, key: Key) -> KeyPlan:
        if key.when or key.shards != 1:
            raise BadKeyOption(f"The primary key of {self.entity} has when or shards.", fix="Use them for keys of indexes only.")
        index = self.table.primary
        plan = self._plan(index, key.hash, key.range)
        legacy = []
        # A legacy key is only read, so it may store another attribute under the same wire name.
        older = _Resolver(self.entity, self.table, self.sources)
        older.by_wire = {}
        for hash_form, range_form in key.legacy:
            forms = key.range if range_form is None else (parse_template(range_form),)
            legacy.append(older._plan(index, (parse_template(hash_form),), forms))
            for now, before in zip(plan.fields, legacy[-1].fields, strict=True):
                if now.type != before.type:
                    raise BadKeyOption(
                        f"A legacy form of {self.entity} stores {now.attribute} as {before.type}, but the key stores it as {now.type}.",
                        fix="A key attribute has one type in all items of a table; for another type, move the items to a new table.",
                    )
        self._check_writes(key, plan, legacy)
        return KeyPlan(index, plan.hash, plan.range, legacy=tuple(legacy), writes_legacy=key.writes == "legacy")

    def _check_writes(self, key: Key, plan: KeyPlan, legacy: Sequence[KeyPlan]) -> None:
        """Raise `BadKeyOption` if new items cannot be stored under the first legacy key."""
        if key.writes == "current":
            return
        if key.writes != "legacy" or not legacy:
            raise BadKeyOption(
                f"The key of {self.entity} has writes={key.writes!r}{'' if legacy else ' without legacy forms'}.",
                fix='Write legacy=[...] with writes="legacy", or leave it out.',
            )
        unknown = [name for name in legacy[0].names if name not in plan.names]
        if unknown:
            raise BadKeyOption(
                f"The legacy form of {self.entity} has {', '.join(unknown)}, which the key does not have, so nothing can be stored there.",
                fix='Leave out writes="legacy", or move the items with a KeyMove.',
            )

    def index(self, index: Index, key: Key | None, primary: KeyPlan) -> KeyPlan | None:
        if key is None:
            fields = [self._undeclared(attribute, primary) for attribute in index.attributes]
            found = tuple(entry for entry in fields if entry is not None)
            if len(found) != len(fields):
                return None
            return KeyPlan(index, found[: len(index.hash)], found[len(index.hash) :])
        if key.legacy or key.writes != "current":
            raise BadKeyOption(
                f"The key of {self.entity} for {index.name} has legacy forms.",
                fix="Declare them for the primary key only: index keys are rewritten in place.",
            )
        plan = self._plan(index, key.hash or (), key.range, primary)
        if key.shards > 1 and plan.hash[0].text is None:
            form = parse_template(key.hash[0].text)
            plan = KeyPlan(index, (self._text(plan.hash[0].attribute, form), *plan.hash[1:]), plan.range)
        if key.when and all(entry.attribute in self.table.attributes for entry in plan.derived):
            raise BadKeyOption(
                f"The key of {self.entity} for {index.name} has when, but every item has its attributes.",
                fix="Give the index a separate key attribute, which items outside the index then lack.",
            )
        when = check_when(f"The key of {self.entity} for {index.name}", key.when, self.sources)
        return KeyPlan(index, plan.hash, plan.range, when, key.shards)

    def _plan(self, index: Index, hash: tuple[Template, ...], range: tuple[Template, ...], primary: KeyPlan | None = None) -> KeyPlan:
        return KeyPlan(index, self._fields(index, index.hash, hash, primary), self._fields(index, index.range, range, primary))

    def _fields(
        self, index: Index, attributes: tuple[str, ...], forms: tuple[Template, ...], primary: KeyPlan | None
    ) -> tuple[KeyField, ...]:
        if len(forms) == len(attributes):
            return tuple(self._field(attribute, form) for attribute, form in zip(attributes, forms, strict=True))
        undeclared = [self._undeclared(attribute, primary) for attribute in attributes] if not forms else []
        found = tuple(entry for entry in undeclared if entry is not None)
        if forms or len(found) != len(attributes):
            raise MissingKey(
                f"The key of {self.entity} for {index.name or self.table.name} has {len(forms)} templates "
                f"for {', '.join(attributes) or 'no attribute'}.",
                fix="Give one template for each key attribute.",
            )
        return found

    def _undeclared(self, attribute: str, primary: KeyPlan | None) -> KeyField | None:
        """The field of a key attribute without a template: an attribute of the entity, or of the primary key."""
        if attribute in self.by_wire:
            return self._copy(attribute, self.by_wire[attribute])
        return next((entry for entry in primary.fields if entry.attribute == attribute), None) if primary is not None else None

    def _field(self, attribute: str, form: Template) -> KeyField:
        if form.bare:
            return self._copy(attribute, self._source(form.names[0]))
        if attribute in self.by_wire:
            raise WireNameClash(f"{self.entity}: {attribute} is an attribute and also the key {form.text!r}.")
        return self._text(attribute, form)

    def _text(self, attribute: str, form: Template) -> KeyField:
        return KeyField(attribute, None, build_text_key(form, lambda name: self._source(name).declared), "S")

    def _copy(self, attribute: str, source: KeySource) -> KeyField:
        kinds: dict[str, KeyType] = {"S": "S", "N": "N", "B": "B"}
        if source.shape.tag not in kinds:
            raise UnsupportedType(
                f"{self.entity}.{source.name} cannot be a key: it is stored as {source.shape.tag or 'various types'}.",
                fix="Use an attribute that is stored as text, number or binary.",
            )
        if attribute in self.by_wire and self.by_wire[attribute] is not source:
            raise WireNameClash(f"{self.entity}: {attribute} is an attribute and also the key {{{source.name}}}.")
        return KeyField(attribute, source, None, kinds[source.shape.tag])

    def _source(self, name: str) -> KeySource:
        if name not in self.sources:
            raise UnknownComponent(
                f"A key of {self.entity} uses {name!r}, but {self.entity} has no such attribute.",
                fix="Names with a leading underscore are private in pydantic: choose another name."
                if name.startswith("_")
                else f"It has {', '.join(self.sources) or 'none: declare attributes as name: Attr[type]'}.",
            )
        return self.sources[name]
