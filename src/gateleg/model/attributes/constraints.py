"""Bounds of attributes: enforced on writes, not on reads. That a text is an object key (`S3Key`) counts as a bound.

A stored value may break a bound: another program may have written it, or the bound may be newer than the item. So items are read with
pydantic's schema without the bounds. Written values are validated against them. Where only the database knows the new value (a sum, a
longer list), the bound becomes a condition of the write: see `planning/bounds.py`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

from pydantic.fields import FieldInfo
from pydantic_core import SchemaValidator

from gateleg.model.attributes.annotations import read_annotation
from gateleg.model.attributes.special_types import check_s3_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydantic import BaseModel, TypeAdapter

Schema = dict[str, Any]
#: The members of pydantic's schemas that restrict a value without changing its type.
_BOUNDS = frozenset({"ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "max_digits", "decimal_places"})
_COMPLETE = "__pydantic_complete__"
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
    if schema.get("type") == "function-after" and schema["function"].get("function") is check_s3_key:
        return without_bounds(schema["schema"])
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
        with _without_prebuilt(schema):
            return SchemaValidator(schema, config)


_prebuilt_lock = RLock()


@contextmanager
def _without_prebuilt(schema: Any) -> Iterator[None]:
    """Keep pydantic 2.11 and 2.12 from using prebuilt validators: they take those of complete classes only, and cannot be told otherwise.

    What other threads validate or build in the meantime is the same with and without prebuilt validators, only slower to build.
    """
    with _prebuilt_lock:
        complete = {model for model in _models_in(schema) if vars(model).get(_COMPLETE)}
        try:
            for model in complete:
                type.__setattr__(model, _COMPLETE, False)
            yield
        finally:
            for model in complete:
                type.__setattr__(model, _COMPLETE, True)


def _models_in(schema: Any) -> Iterator[type]:
    """The classes of the models in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("cls"), type):
            yield schema["cls"]
        schema = schema.values()
    elif not isinstance(schema, list | tuple):
        return
    for entry in schema:
        yield from _models_in(entry)


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
