"""Example values for JSON schemas, for tests that ask a host what its OpenAPI document allows."""

from __future__ import annotations

from typing import Any

_BY_FORMAT = {
    "uuid": "00000000-0000-4000-8000-000000000000",
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "time": "12:00:00",
    "uri": "https://example.com/",
    "email": "ann@example.com",
    "binary": "",
}
Schema = dict[str, Any]


def example_of(schema: Schema, document: Schema, seen: tuple[str, ...] = ()) -> Any:
    """An example value: the schema's own example or default, otherwise a placeholder of its type.

    Objects have their required properties, and the optional ones that have an example.
    """
    name = _reference(schema)
    if name in seen:
        return None
    if name:
        return example_of({**document["components"]["schemas"][name], **_without_reference(schema)}, document, (*seen, name))
    given = _given(schema)
    if given:
        return given[0]
    for parts in (schema.get("anyOf"), schema.get("oneOf")):
        if parts:
            return example_of(_not_null(parts), document, seen)
    if "allOf" in schema:
        values = [example_of(part, document, seen) for part in schema["allOf"]]
        return {key: value for part in values if isinstance(part, dict) for key, value in part.items()} or values[0]
    return _placeholder(schema, document, seen)


def _placeholder(schema: Schema, document: Schema, seen: tuple[str, ...]) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else None)
    if kind == "object":
        required = schema.get("required", ())
        properties = schema.get("properties", {}).items()
        return {key: example_of(part, document, seen) for key, part in properties if key in required or _has_example(part)}
    if kind == "array":
        return [example_of(schema.get("items", {}), document, seen)] if schema.get("minItems") else []
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    return {"boolean": False, "string": _BY_FORMAT.get(schema.get("format", ""), "string")}.get(str(kind))


def _given(schema: Schema) -> list[Any]:
    """The values that a schema itself names, the best example first."""
    named = [schema[key] for key in ("example", "default", "const") if key in schema]
    return [*schema.get("examples", ())[:1], *named, *schema.get("enum", ())[:1]]


def _has_example(schema: Schema) -> bool:
    return "example" in schema or "examples" in schema


def _reference(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _without_reference(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "$ref"}


def _not_null(parts: list[Schema]) -> Schema:
    return next((part for part in parts if part.get("type") != "null"), {"type": "null"})
