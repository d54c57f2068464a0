"""Bounds of attributes: enforced on writes, not on reads.

A stored value may break a bound: another program may have written it, or the bound may be newer than the item. So items are read with
pydantic's schema without the bounds. Written values are validated against them. Where only the database knows the new value (a sum, a
longer list), the bound becomes a condition of the write: see `planning/bounds.py`.
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
#: The members of pydantic's schemas that restrict a value without changing its type.
_BOUNDS = frozenset({"ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "max_digits", "decimal_places"})
_NUMBERS = ("ge", "gt", "le", "lt")
_LENGTHS = ("min_length", "max_length")
#: Members of a schema that contain values, and members that map names to schemas.
_VALUES = frozenset({"metadata", "default", "expected", "members", "config"})
_NAMED = frozenset({"fields", "choices"})
_BOUNDED = frozenset(
    {"int", "float", "decimal", "str", "bytes", "date", "datetime", "time", "timedelta", "list", "set", "frozenset", "dict", "tuple"}
)


def without_bounds(schema: Any) -> Any:
    """Copy a pydantic schema without its bounds, so that it accepts every value of the right type."""
    if isinstance(schema, list):
        return [without_bounds(entry) for entry in schema]
    if isinstance(schema, tuple):
        return tuple(without_bounds(entry) for entry in schema)
    if not isinstance(schema, dict):
        return schema
    left_out = _BOUNDS if schema.get("type") in _BOUNDED else frozenset[str]()
    return {name: _inner(name, entry) for name, entry in schema.items() if name not in left_out}


def _inner(member: str, entry: Any) -> Any:
    """A member of a schema without bounds. Under `fields` and `choices`, keys are user-defined names, so a field called `ge` is kept."""
    if member in _VALUES:
        return entry
    if member in _NAMED and isinstance(entry, dict):
        return {name: without_bounds(inner) for name, inner in entry.items()}
    return without_bounds(entry)


def reading_validator(model: type[BaseModel]) -> Callable[[Any], Any]:
    """A function that validates values as the model does, ignoring bounds."""
    return validator_of(without_bounds(model.__pydantic_core_schema__)).validate_python


def json_reader(adapter: TypeAdapter[Any]) -> Callable[[str | bytes], Any]:
    """A function that reads JSON as a type adapter does, ignoring bounds."""
    return validator_of(without_bounds(adapter.core_schema)).validate_json


def validator_of(schema: Any, config: Any = None) -> SchemaValidator:
    """A validator for exactly this schema. By default, pydantic would use the prebuilt validators of model classes inside it."""
    build: Any = SchemaValidator
    try:
        return cast("SchemaValidator", build(schema, config, _use_prebuilt=False))
    except TypeError:
        # Older versions have no prebuilt validators.
        return SchemaValidator(schema, config)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one attribute that an update could break."""

    ge: Any = None
    gt: Any = None
    le: Any = None
    lt: Any = None
    min_length: int | None = None
    max_length: int | None = None

    @property
    def numeric(self) -> bool:
        """Whether a number (rather than a length) is bounded."""
        return any(getattr(self, name) is not None for name in _NUMBERS)


def bounds_of(annotation: Any, info: FieldInfo | None) -> Bounds | None:
    """The bounds declared in an attribute's annotation and field, or None."""
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
