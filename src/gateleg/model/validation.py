"""Validation that differs from pydantic's: values that were read, single fields, and instances that are known to be valid.

Bounds of attributes are enforced on writes, not on reads: another program may have written the stored value, or the bound may be newer than
the item. So items are read with pydantic's schema without the bounds, and written values are validated against them. That a text is an
object key (`S3Key`) counts as a bound. Where only the database knows the new value (a sum, a longer list), the bound becomes a condition of
the write: see `BoundGuard` in `planning/plan_cache.py`.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import SchemaValidator, core_schema

from gateleg.model.types import check_s3_key, read_annotation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import TypeAdapter

__all__ = ["construct_unchecked"]

M = TypeVar("M", bound=BaseModel)

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


def core_schema_of(source: type[BaseModel] | TypeAdapter[Any]) -> Schema:
    """The schema of a model or of an adapter, built now if that was deferred: until then pydantic holds an object that is no schema."""
    if isinstance(source, type):
        if not source.__pydantic_complete__:
            source.model_rebuild()
        return cast("Schema", source.__pydantic_core_schema__)
    if not isinstance(source.core_schema, dict):
        source.rebuild()
    return cast("Schema", source.core_schema)


def schema_for_reading(source: type[BaseModel] | TypeAdapter[Any]) -> Schema:
    """The schema of a model or of an adapter without bounds."""
    return cast("Schema", without_bounds(core_schema_of(source)))


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
    return validator_of(schema_for_reading(model)).validate_python


def json_reader(adapter: TypeAdapter[Any]) -> Callable[[str | bytes], Any]:
    """A function that reads JSON as a type adapter does, ignoring bounds."""
    return validator_of(schema_for_reading(adapter)).validate_json


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


class Bounds(NamedTuple):
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
    limits: dict[str, Any] = {}
    for entry in (*_entries(read_annotation(annotation).metadata), *_entries(info.metadata if info is not None else ())):
        for name in (*_NUMBERS, *_LENGTHS):
            value = getattr(entry, name, None)
            if value is not None:
                limits[name] = value
    return Bounds(**limits) if limits else None


def _entries(metadata: Iterable[Any]) -> Iterable[Any]:
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from entry.metadata
        else:
            yield entry


def field_validator(model: type[BaseModel], name: str, *, bounded: bool = True) -> Callable[[Any], Any] | None:
    """A function that validates a value as the model does for one of its fields; None if the validation depends on other fields.

    `bounded=False` ignores the field's bounds, for values that were read.
    """
    schema, definitions = unwrap_schema(core_schema_of(model) if bounded else schema_for_reading(model))
    if schema["type"] != "model" or schema["schema"]["type"] != "model-fields":
        return None
    entry = schema["schema"]["fields"][name]["schema"]
    if sees_other_fields(entry):
        return None
    return validator_of(with_definitions(entry, definitions), schema.get("config")).validate_python


def unwrap_schema(schema: Schema) -> tuple[Schema, Mapping[str, Schema]]:
    """The schema of a model, and the definitions that it references."""
    if schema["type"] != "definitions":
        return schema, {}
    definitions = {definition["ref"]: definition for definition in schema["definitions"]}
    return resolve_reference(schema["schema"], definitions), definitions


def resolve_reference(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The schema itself, or the definition that it references."""
    return definitions[schema["schema_ref"]] if schema["type"] == "definition-ref" else schema


def sees_other_fields(schema: Any) -> bool:
    """Whether a validator or a default in a schema depends on other fields."""
    if isinstance(schema, list | tuple):
        return any(sees_other_fields(entry) for entry in schema)
    if not isinstance(schema, dict):
        return False
    return (
        schema.get("type") == "with-info"
        or bool(schema.get("default_factory_takes_data"))
        or any(sees_other_fields(entry) for name, entry in schema.items() if name != "metadata")
    )


def with_definitions(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A part of a schema, together with the definitions that it may reference."""
    return core_schema.definitions_schema(schema, list(definitions.values())) if definitions else schema


#: Functions that set the parts of an instance directly, bypassing the model's `__setattr__`.
set_values = BaseModel.__dict__["__dict__"].__set__
set_fields = BaseModel.__dict__["__pydantic_fields_set__"].__set__
set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
set_private = BaseModel.__dict__["__pydantic_private__"].__set__


def construct_unchecked(model: type[M], values: dict[str, Any]) -> M:
    """An instance with these values, which must be valid and complete: nothing is validated, no default is filled in, no hook runs."""
    instance = object.__new__(model)
    set_values(instance, values)
    set_fields(instance, set(values))
    set_extra(instance, None)
    set_private(instance, None)
    return instance
