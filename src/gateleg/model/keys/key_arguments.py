"""The components of a key as a caller gives them: by position as typed conditions, `Scene.sequence == 1`, or by name, `sequence=1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.model.attributes.attr import Attr
from gateleg.model.errors import MissingComponent, NotAKeyCondition, UnknownArgument
from gateleg.model.expressions.nodes import Comparison, Condition, Constant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Presets", "key_components"]


@dataclass(frozen=True, slots=True)
class Presets:
    """Components that hold unless the caller gives others, such as those of a store's scope. What a key does not have is left out."""

    values: Mapping[str, Any]


def read_components(
    entity: type[Any], given: Sequence[Condition | Presets], named: Mapping[str, Any], understood: frozenset[str]
) -> tuple[dict[str, Any], Condition | None]:
    """The components by name, and the one condition that is not an equality, if there is one.

    `understood` are the components that the key has: of presets, only those count.
    """
    values: dict[str, Any] = {}
    presets: dict[str, Any] = {}
    rest: Condition | None = None
    for one in given:
        if isinstance(one, Presets):
            presets = {name: value for name, value in one.values.items() if name in understood}
            continue
        component = _equality(entity, one)
        if component is None:
            if rest is not None:
                raise NotAKeyCondition("Two conditions narrow the sort key; one range is all that DynamoDB takes.")
            rest = one
            continue
        name, value = component
        if name in values or name in named:
            raise UnknownArgument(f"{entity.__name__}.{name} was given twice.", fix="Give each component once.")
        values[name] = value
    return {**presets, **values, **named}, rest


def key_components(
    entity: type[Any], given: Sequence[Condition | Presets], named: Mapping[str, Any], understood: frozenset[str]
) -> Mapping[str, Any]:
    """The components of a whole key, where every condition must be an equality."""
    if not given:
        return named
    components, rest = read_components(entity, given, named, understood)
    if rest is not None:
        raise NotAKeyCondition(
            f"A key of {entity.__name__} was given a condition that does not compare one of its components with ==.",
            fix="Give each component as Entity.component == value; what the stored item must satisfy belongs in condition=.",
        )
    return components


def _equality(entity: type[Any], condition: Condition) -> tuple[str, Any] | None:
    """The component and its value, when the condition compares a top-level attribute with a value for equality."""
    if not isinstance(condition, Condition):
        raise NotAKeyCondition(f"{condition!r} is not a condition.", fix=f"Compare an attribute: {entity.__name__}.component == value.")
    if not (isinstance(condition, Comparison) and condition.operator == "=" and isinstance(condition.right, Constant)):
        return None
    attribute = condition.left
    if not isinstance(attribute, Attr) or len(attribute.path) != 1:
        return None
    if not issubclass(entity, attribute.owner):
        raise UnknownArgument(
            f"{attribute!r} is not an attribute of {entity.__name__}.", fix=f"Compare attributes of {entity.__name__} itself."
        )
    return attribute.name, condition.right.value


def missing_components(what: str, entity: str, names: Sequence[str]) -> MissingComponent:
    """The error that a key or pattern needs more components."""
    shown, one = ", ".join(names), names[0]
    fix = f"Give {'it' if len(names) == 1 else 'them'} by position, as {entity}.{one} == value, or by name, as {one}=value."
    return MissingComponent(f"{what} needs {shown}.", fix=fix, entity=entity, missing=tuple(names))
