"""Build the spec of an entity from its class, and check the declaration, so that mistakes are found at import and not in production."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar, get_origin
from uuid import UUID, uuid4

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from gateleg.errors import problem_message
from gateleg.model.attr import Attribute, attribute_of
from gateleg.model.codec import build_codec
from gateleg.model.errors import (
    BadKeyOption,
    BadMark,
    BadOption,
    DeclarationError,
    DuplicateMark,
    IndexMismatch,
    MissingKey,
    NegativeInKey,
    NumberWithoutWidth,
    OptionalComponent,
    OverlappingKeys,
    StateInKey,
    UnknownComponent,
    UnsupportedType,
    WireNameClash,
)
from gateleg.model.key_parts import KeyPart, PartComponent, build_text_key
from gateleg.model.key_text import FixedComponent, IntegerComponent, Template, parse_template
from gateleg.model.keys import Key, KeyField, KeyPlan, KeySource, check_when, spec_of
from gateleg.model.patterns import Pattern, resolve_pattern
from gateleg.model.shapes import attr_type, case_of, field_names, shape_of
from gateleg.model.spec import Spec
from gateleg.model.tables import Counter, Unique, resolve_unique
from gateleg.model.types import read_annotation, traits_of
from gateleg.model.validation import construct_unchecked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.model.tables import Index, KeyType, Table

E = TypeVar("E", bound=BaseModel)
M = TypeVar("M")


def build_spec(entity: type[E], table: Table, tag: str | None, schema: int) -> Spec[E]:
    """Read attributes, keys, patterns and constraints; check them; register the entity with its table."""
    attributes = _attributes(entity)
    check_attributes(entity.__name__, attributes)
    check_defaults(entity, attributes)
    sources = _sources(entity, attributes)
    declared = _declared_keys(entity, table)
    resolver = _Resolver(entity.__name__, table, sources)
    key = resolver.primary(declared[""])
    indexes = {index.name: resolver.index(index, declared.get(index.name), key) for index in table.indexes}
    present = {name: plan for name, plan in indexes.items() if plan is not None}
    spec = Spec(entity, table, tag, schema, attributes, sources, key, present, build_codec, computed=_computed(entity))
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
    table.register(spec)
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
    others = [entity for entity in parent.counted.get(declared.attribute.name, ()) if (entity.__module__, entity.__qualname__) != named]
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


def _members(entity: type, kind: type[M]) -> dict[str, M]:
    """The class attributes of a type in a class and its bases; subclasses override."""
    members: dict[str, M] = {}
    for base in reversed(entity.__mro__):
        members |= {name: value for name, value in vars(base).items() if isinstance(value, kind)}
    return members


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
            declared = tuple(entry for entry in fields if entry is not None)
            if len(declared) != len(fields):
                return None
            return KeyPlan(index, declared[: len(index.hash)], declared[len(index.hash) :])
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
        fields = tuple(entry for entry in undeclared if entry is not None)
        if forms or len(fields) != len(attributes):
            raise MissingKey(
                f"The key of {self.entity} for {index.name or self.table.name} has {len(forms)} templates "
                f"for {', '.join(attributes) or 'no attribute'}.",
                fix="Give one template for each key attribute.",
            )
        return fields

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


#: The kinds of pydantic's errors about bounds.
_BOUNDS = frozenset(
    {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of"}
    | {"string_too_short", "string_too_long", "string_pattern_mismatch", "bytes_too_short", "bytes_too_long", "too_short", "too_long"}
)
#: Types without a length, and types that are not compared with numbers.
_WITHOUT_LENGTH = frozenset({int, float, Decimal, bool, datetime, date, time, timedelta, UUID})
_WITHOUT_ORDER = frozenset({str, bytes, list, tuple, set, frozenset, dict, UUID})
#: Factories that can be called to see what they make.
_CONTAINERS = frozenset({list, dict, set, frozenset, tuple})
#: The kinds of pydantic's errors that functions in annotations raise.
_BY_FUNCTIONS = frozenset({"value_error", "assertion_error"})


def check_attributes(entity: str, attributes: Mapping[str, Attribute]) -> None:
    """Check the wire names and special types of the attributes."""
    seen: dict[str, str] = {}
    for attribute in attributes.values():
        if attribute.wire in seen:
            raise WireNameClash(
                f"{entity}.{attribute.name} and {entity}.{seen[attribute.wire]} have the same name on the wire, {attribute.wire!r}."
            )
        seen[attribute.wire] = attribute.name
    for attribute in attributes.values():
        if attribute.traits.stamp is not None and attribute.declared.type is not datetime:
            raise BadMark(f"{entity}.{attribute.name} is a stamp but not a datetime.", fix="Declare it as Attr[datetime].")
        if attribute.info.default_factory is uuid4 and attribute.declared.type is not UUID:
            raise BadMark(f"{entity}.{attribute.name} is a new_uuid() but not a UUID.", fix="Declare it as Attr[UUID].")
        if attribute.name.startswith("model_") and hasattr(BaseModel, attribute.name):
            raise BadOption(
                f"{entity}.{attribute.name} hides what pydantic's models have under this name.",
                fix=f"Choose another name, and keep this one in the item with name={attribute.name!r}.",
            )
        _check_bounds(entity, attribute)
    for kind in ("version", "ttl"):
        marked = [attribute for attribute in attributes.values() if attribute.is_special(kind)]
        if len(marked) > 1:
            raise DuplicateMark(f"{entity} has two {kind} attributes: {', '.join(attribute.name for attribute in marked)}.")
        for attribute in marked:
            _check_mark(entity, attribute, kind)


def _check_bounds(entity: str, attribute: Attribute) -> None:
    """Refuse bounds that the type does not have, which pydantic finds at the first value only, and bounds that no value satisfies."""
    bounds = {
        name: value
        for entry in (*attribute.declared.metadata, *attribute.info.metadata)
        for name in ("ge", "gt", "le", "lt", "min_length", "max_length")
        if isinstance(value := getattr(entry, name, None), int | float)
    }
    kind = get_origin(attribute.declared.type) or attribute.declared.type
    for name in bounds:
        if kind in (_WITHOUT_LENGTH if name.endswith("length") else _WITHOUT_ORDER):
            raise BadOption(
                f"{entity}.{attribute.name} has the bound {name}={bounds[name]}, which {kind.__name__} does not have.",
                fix="Use ge, gt, le and lt for numbers, and min_length and max_length for texts and collections.",
            )
    low = max((bounds[name] for name in ("ge", "gt") if name in bounds), default=-inf)
    high = min((bounds[name] for name in ("le", "lt") if name in bounds), default=inf)
    strict = low in (bounds.get("gt"), bounds.get("lt")) or high in (bounds.get("gt"), bounds.get("lt"))
    if low > high or (low == high and strict) or bounds.get("min_length", 0) > bounds.get("max_length", inf):
        listed = ", ".join(f"{name}={value}" for name, value in bounds.items())
        raise BadOption(f"{entity}.{attribute.name} has bounds that no value satisfies: {listed}.", fix="Correct one of them.")


def check_defaults(entity: type[BaseModel], attributes: Mapping[str, Attribute]) -> None:
    """Refuse defaults that their own attributes refuse: pydantic does not look at them.

    The entity's own validators are not asked, since they may need the other attributes.
    """
    decorators = entity.__pydantic_decorators__
    if decorators.model_validators or not entity.__pydantic_complete__:
        return
    validated = {name for validator in decorators.field_validators.values() for name in validator.info.fields}
    validated |= {name for validator in decorators.validators.values() for name in validator.info.fields}
    for attribute in attributes.values():
        factory = attribute.info.default_factory
        default = factory() if factory in _CONTAINERS else attribute.info.default
        if attribute.info.frozen or default is PydanticUndefined or default is None or validated & {attribute.name, "*"}:
            continue
        probe = construct_unchecked(entity, {})
        try:
            entity.__pydantic_validator__.validate_assignment(probe, attribute.name, default)
        except ValidationError as error:
            problem = error.errors()[0]
            # A default outside of the bounds, such as "" where a text must not be empty, may stand for a value that is still to come.
            if problem["type"] in _BOUNDS or problem["type"] in _BY_FUNCTIONS:
                continue
            reason = problem_message(problem)
        except TypeError as error:
            reason = str(error)
        except Exception:
            # A validator inside the annotation that needs other attributes.
            continue
        else:
            valid = probe.__dict__[attribute.name]
            if valid == default or type(valid) is type(default):
                continue
            reason = f"It is a {type(default).__name__}"
        raise BadOption(
            f"{entity.__name__}.{attribute.name} has the default {default!r}, which it would refuse: {reason.rstrip('.')}.",
            fix="Give a default of the attribute's type.",
        )


def _check_mark(entity: str, attribute: Attribute, kind: str) -> None:
    if kind == "ttl" and attribute.declared.type is not datetime:
        raise BadMark(f"{entity}.{attribute.name} is a TTL but not a datetime.", fix="Declare it as Attr[TTL] or Attr[TTL | None].")
    if kind == "version" and (attribute.declared.type is not int or attribute.info.default != 0):
        raise BadMark(f"{entity}.{attribute.name} is a version that does not start at 0.", fix="Declare it as Attr[Version] = field(0).")


def check_spec(spec: Spec[Any]) -> None:
    """Check keys and wire names of the entity, by themselves and against the other entities of its table."""
    for name in spec.key.names:
        attribute = spec.attributes[spec.sources[name].attribute]
        if attribute.optional:
            raise OptionalComponent(f"{spec.name}.{name} is part of the primary key and may be None.")
        if attribute.state:
            raise StateInKey(f"{spec.name}.{name} is a state and part of the primary key.")
    for plan in (spec.key, *spec.indexes.values()):
        for entry in plan.fields:
            _check_numbers(spec, plan, entry)
    _check_names(spec)
    for other in spec.table.specs:
        if other.entity.__qualname__ != spec.entity.__qualname__:
            _check_neighbours(spec, other)


def _check_numbers(spec: Spec[Any], plan: KeyPlan, entry: KeyField) -> None:
    if entry.text is None:
        return
    for name, component in zip(entry.names, entry.text.components, strict=True):
        if isinstance(component, IntegerComponent) and component.width is None and entry in plan.range:
            raise NumberWithoutWidth(f"{spec.name}: the sort key {entry.text.template.text!r} contains the number {name} without a width.")
        source = spec.sources[name]
        if isinstance(component, IntegerComponent | FixedComponent) and source.member is None:
            limits = (*source.declared.metadata, *spec.attributes[name].info.metadata)
            if any(getattr(limit, "ge", 0) < 0 or getattr(limit, "gt", -1) < -1 for limit in limits):
                raise NegativeInKey(f"{spec.name}.{name} may be negative, and is part of the key {entry.text.template.text!r}.")


def _check_names(spec: Spec[Any]) -> None:
    attributes = {attribute.wire: attribute.name for attribute in spec.attributes.values()}
    for name in spec.derived_names:
        if name in attributes:
            raise WireNameClash(f"{spec.name}.{attributes[name]} has the wire name {name!r}, which the model writes itself.")
    texts: dict[str, Any] = {}
    for plan in (spec.key, *spec.indexes.values()):
        for entry in plan.derived:
            form = entry.text.template.text if entry.text is not None else entry.names
            if texts.setdefault(entry.attribute, form) != form:
                raise IndexMismatch(f"{spec.name} writes {entry.attribute} in two forms: {texts[entry.attribute]} and {form}.")
    if spec.tag is not None and spec.table.tag is None:
        raise BadMark(f"{spec.name} has a tag, but {spec.table.name} has no tag attribute.", fix='Give the table tag="entityType".')


def _check_neighbours(spec: Spec[Any], other: Spec[Any]) -> None:
    types, theirs = spec.key_types(), other.key_types()
    for name in types.keys() & theirs.keys():
        if types[name] != theirs[name]:
            raise IndexMismatch(f"{name} of {spec.table.name} is {types[name]} in {spec.name} and {theirs[name]} in {other.name}.")
    if spec.ttl is not None and other.ttl is not None and spec.ttl.wire != other.ttl.wire:
        raise DuplicateMark(f"{spec.table.name} has two TTL attributes: {spec.ttl.wire} and {other.ttl.wire}.")
    if spec.tag is not None and spec.tag == other.tag:
        raise OverlappingKeys(f"{spec.name} and {other.name} have the same tag {spec.tag!r}.", fix="Give each entity a different tag.")
    pairs = list(zip(spec.key.fields, other.key.fields, strict=True))
    tagged = spec.tag is not None and other.tag is not None
    if all(_overlap(mine, their) for mine, their in pairs) and not (tagged and any(_differ(mine, their) for mine, their in pairs)):
        raise OverlappingKeys(f"The keys of {spec.name} and {other.name} in {spec.table.name} can coincide.")


def _overlap(mine: KeyField, theirs: KeyField) -> bool:
    """Whether a value of one key attribute could be mistaken for a value of the other."""
    exact = [entry.prefix for entry in (mine, theirs) if entry.text is not None and not entry.names]
    if len(exact) == 2:
        return exact[0] == exact[1]
    if exact:
        other = theirs if mine.text is not None and not mine.names else mine
        return _may_hold(other, exact[0])
    return mine.prefix.startswith(theirs.prefix) or theirs.prefix.startswith(mine.prefix)


def _may_hold(entry: KeyField, text: str) -> bool:
    """Whether a text could be the value of a key attribute, given its template, key part or type."""
    if entry.text is not None:
        return entry.text.matches(text)
    if entry.source is None or entry.type != "S":
        return entry.type == "S"
    kind = entry.source.declared.type
    return kind.__text_key__().matches(text) if isinstance(kind, type) and issubclass(kind, KeyPart) else True


def _differ(mine: KeyField, theirs: KeyField) -> bool:
    """Whether no value can match both templates, even if one is a prefix of the other: TEAM#{team} and TEAM#{team}#MEMBER#{member}.

    A query may then find items of both entities, and filters by tag.
    """
    ours, others = _segments(mine), _segments(theirs)
    if ours is None or others is None:
        return False
    return len(ours) != len(others) or any("\0" not in own + other and own != other for own, other in zip(ours, others, strict=True))


def _segments(entry: KeyField) -> list[str] | None:
    """The template split at #, with each placeholder as a NUL; None if values may contain #."""
    if entry.text is None or "#" not in entry.text.template.delimiters:
        return None
    if any(isinstance(component, PartComponent) for component in entry.text.components):
        return None
    return "\0".join(entry.text.template.literals).split("#")
