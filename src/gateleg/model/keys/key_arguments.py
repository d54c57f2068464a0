"""Read the components of a key from a call's arguments: typed conditions, `Scene.sequence == 1`, or keywords, `sequence=1`."""

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
    """Default components, such as those of a store's scope. Ones that a key does not have are ignored."""

    values: Mapping[str, Any]


def read_components(
    entity: type[Any], positional: Sequence[Condition | Presets], named: Mapping[str, Any], known: frozenset[str]
) -> tuple[dict[str, Any], Condition | None]:
    """The components by name, and the one condition that is not an equality, if any.

    `known` are the names of the key's components; presets with other names are ignored.
    """
    values: dict[str, Any] = {}
    presets: dict[str, Any] = {}
    rest: Condition | None = None
    for argument in positional:
        if isinstance(argument, Presets):
            presets = {name: value for name, value in argument.values.items() if name in known}
            continue
        component = _equality(entity, argument)
        if component is None:
            if rest is not None:
                raise NotAKeyCondition("Two conditions restrict the sort key, but DynamoDB accepts only one range.")
            rest = argument
            continue
        name, value = component
        if name in values or name in named:
            raise UnknownArgument(f"{entity.__name__}.{name} was passed twice.", fix="Pass each component once.")
        values[name] = value
    return {**presets, **values, **named}, rest


def key_components(
    entity: type[Any], positional: Sequence[Condition | Presets], named: Mapping[str, Any], known: frozenset[str]
) -> Mapping[str, Any]:
    """The components of a complete key, where every condition must be an equality."""
    if not positional:
        return named
    components, rest = read_components(entity, positional, named, known)
    if rest is not None:
        raise NotAKeyCondition(
            f"A condition for a key of {entity.__name__} does not compare one of its components with ==.",
            fix="Pass each component as Entity.component == value, and conditions on the stored item with condition=.",
        )
    return components


def _equality(entity: type[Any], condition: Condition) -> tuple[str, Any] | None:
    """The component and its value, if the condition compares a top-level attribute with a constant by ==."""
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
    """The error for missing components of a key or pattern, which `what` describes."""
    shown, one = ", ".join(names), names[0]
    fix = f"Pass {'it' if len(names) == 1 else 'them'} by position, as {entity}.{one} == value, or by name, as {one}=value."
    return MissingComponent(f"{what} needs {shown}.", fix=fix, entity=entity, missing=tuple(names))
