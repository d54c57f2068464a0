"""The validator of one field, taken out of pydantic's schema of its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

from gateleg.model.attributes.constraints import Schema, validator_of, without_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel


def field_validator(model: type[BaseModel], name: str, *, bounded: bool = True) -> Callable[[Any], Any] | None:
    """A function that validates a value as the model does for one of its fields; None if the validation depends on other fields.

    `bounded=False` ignores the field's bounds, for values that were read.
    """
    whole: Any = model.__pydantic_core_schema__
    schema, definitions = unwrap_schema(whole if bounded else without_bounds(whole))
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
