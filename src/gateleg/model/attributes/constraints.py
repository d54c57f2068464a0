"""Bounds of attributes: enforced when something is written, not when it is read.

What is stored is the truth, also where it breaks a bound: another program may have written it, or the bound may be newer than the item. So
items are read by pydantic's schema without its bounds. Values that are written are validated against them, and where only the database
knows the new value (a sum, a longer list), the bound becomes a condition of the write: see `guards`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic.fields import FieldInfo
from pydantic_core import SchemaValidator

from gateleg.model.attributes.annotations import read_annotation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import BaseModel, TypeAdapter

Schema = dict[str, Any]
#: The members of pydantic's schemas that bound a value without changing what it is.
_BOUNDS = frozenset({"ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "max_digits", "decimal_places"})
_NUMBERS = ("ge", "gt", "le", "lt")
_LENGTHS = ("min_length", "max_length")
#: Members that hold values, and members that hold schemas by name.
_VALUES = frozenset({"metadata", "default", "expected", "members", "config"})
_NAMED = frozenset({"fields", "choices"})
_BOUNDED = frozenset(
    {"int", "float", "decimal", "str", "bytes", "date", "datetime", "time", "timedelta", "list", "set", "frozenset", "dict", "tuple"}
)


def without_bounds(schema: Any) -> Any:
    """A pydantic schema that takes every value of the right type, whatever bounds are declared."""
    if isinstance(schema, list):
        return [without_bounds(entry) for entry in schema]
    if isinstance(schema, tuple):
        return tuple(without_bounds(entry) for entry in schema)
    if not isinstance(schema, dict):
        return schema
    left_out = _BOUNDS if schema.get("type") in _BOUNDED else frozenset[str]()
    return {name: _inner(name, entry) for name, entry in schema.items() if name not in left_out}


def _inner(member: str, entry: Any) -> Any:
    """A member of a schema without the bounds in it. What belongs to the names of fields or tags is a schema, whatever the names are."""
    if member in _VALUES:
        return entry
    if member in _NAMED and isinstance(entry, dict):
        return {name: without_bounds(inner) for name, inner in entry.items()}
    return without_bounds(entry)


def reading_validator(model: type[BaseModel]) -> Callable[[Any], Any]:
    """Validates values as the model does, but for their bounds."""
    return validator_of(without_bounds(model.__pydantic_core_schema__)).validate_python


def json_reader(adapter: TypeAdapter[Any]) -> Callable[[str | bytes], Any]:
    """Reads JSON as a type adapter does, but for bounds."""
    return validator_of(without_bounds(adapter.core_schema)).validate_json


def validator_of(schema: Any, config: Any = None) -> SchemaValidator:
    """A validator by this schema alone. For models inside it, pydantic would otherwise use the validators of their classes."""
    build: Any = SchemaValidator
    try:
        return cast("SchemaValidator", build(schema, config, _use_prebuilt=False))
    except TypeError:
        # Older versions never look at the classes.
        return SchemaValidator(schema, config)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one attribute that an update may break."""

    ge: Any = None
    gt: Any = None
    le: Any = None
    lt: Any = None
    min_length: int | None = None
    max_length: int | None = None

    @property
    def numeric(self) -> bool:
        """Whether a number is bounded."""
        return any(getattr(self, name) is not None for name in _NUMBERS)


def bounds_of(annotation: Any, info: FieldInfo | None) -> Bounds | None:
    """The bounds that an attribute has by its annotation and its field; None when it has none."""
    found: dict[str, Any] = {}
    for entry in (*_entries(read_annotation(annotation).metadata), *_entries(info.metadata if info is not None else ())):
        for name in (*_NUMBERS, *_LENGTHS):
            value = getattr(entry, name, None)
            if value is not None:
                found[name] = value
    return Bounds(**found) if found else None


def _entries(metadata: Iterable[Any]) -> Iterable[Any]:
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from entry.metadata
        else:
            yield entry
