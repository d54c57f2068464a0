"""Check an entity's declaration, so that mistakes are found at import and not in production."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING, Any, get_origin
from uuid import UUID, uuid4

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from gateleg.errors import problem_message
from gateleg.model.codec.unchecked import construct_bare
from gateleg.model.errors import (
    BadMark,
    BadOption,
    DuplicateMark,
    IndexMismatch,
    NegativeInKey,
    NumberWithoutWidth,
    OptionalComponent,
    OverlappingKeys,
    StateInKey,
    WireNameClash,
)
from gateleg.model.keys.components import FixedComponent, IntegerComponent
from gateleg.model.keys.parts import KeyPart, PartComponent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.attributes.attribute import Attribute
    from gateleg.model.keys.plans import KeyField, KeyPlan
    from gateleg.model.spec import Spec


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
        marked = [attribute for attribute in attributes.values() if attribute.marked(kind)]
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
        shown = ", ".join(f"{name}={value}" for name, value in bounds.items())
        raise BadOption(f"{entity}.{attribute.name} has bounds that no value satisfies: {shown}.", fix="Correct one of them.")


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
        probe = construct_bare(entity, {})
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
    return len(ours) != len(others) or any("\0" not in one + other and one != other for one, other in zip(ours, others, strict=True))


def _segments(entry: KeyField) -> list[str] | None:
    """The template split at #, with each placeholder as a NUL; None if values may contain #."""
    if entry.text is None or "#" not in entry.text.template.delimiters:
        return None
    if any(isinstance(component, PartComponent) for component in entry.text.components):
        return None
    return "\0".join(entry.text.template.literals).split("#")
