"""`when=` restrictions: the values that attributes must have for an item to be in an index or to be counted."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from gateleg.model.errors import BadWhen, KeyValueError
from gateleg.model.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.keys.sources import KeySource

When = dict[str, tuple[Any, ...]]


def read_when(when: Mapping[str, Iterable[Any]] | None) -> When:
    """Normalise a declared `when`: the values of each attribute become a tuple."""
    for name, values in (when or {}).items():
        if isinstance(values, str | bytes):
            raise BadWhen(f"when={{{name!r}: {values!r}}} has a text instead of a list of values.", fix=f"Write [{values!r}].")
    return {name: tuple(values) for name, values in (when or {}).items()}


def check_when(where: str, when: When, sources: Mapping[str, KeySource]) -> When:
    """Convert the values to the types of their attributes; raise `BadWhen` if that fails. `where` names the declaration in messages."""
    checked: When = {}
    for name, values in when.items():
        source = sources.get(name)
        if source is None:
            raise BadWhen(f"{where}: when= names {name!r}, which is not an attribute.", fix=did_you_mean(name, sources))
        if not values:
            raise BadWhen(f"{where}: when= has no value for {name}, so no item would ever match.", fix="List at least one value.")
        checked[name] = tuple(_checked(where, source, value) for value in values)
    return checked


def _checked(where: str, source: KeySource, value: Any) -> Any:
    try:
        return source.validate(value, where)
    except KeyValueError as error:
        choices = _choices(source.declared.type)
        fix = did_you_mean(value, choices) if choices else "Use values of the attribute's type."
        raise BadWhen(f"{where}: when= has {value!r}, which is not a possible value of {source.name}.", fix=fix) from error


def _choices(kind: Any) -> list[Any]:
    """The values of an enumeration or a Literal."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [member.value for member in kind]
    return list(get_args(kind)) if get_origin(kind) is Literal else []
