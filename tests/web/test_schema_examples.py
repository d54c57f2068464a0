from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.web.schema_examples import example_of

NODE = {
    "type": "object",
    "properties": {"child": {"anyOf": [{"$ref": "#/components/schemas/Node"}, {"type": "null"}]}},
    "required": ["child"],
}
DOCUMENT = {"components": {"schemas": {"Node": NODE, "Color": {"type": "string", "enum": ["red", "blue"]}}}}


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 0}, 1),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, ["string"]),
        ({"type": "string", "default": "a", "examples": ["b"]}, "b"),
        ({"$ref": "#/components/schemas/Color"}, "red"),
        ({"$ref": "#/components/schemas/Color", "default": "blue"}, "blue"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 0),
        ({"allOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"type": "object"}]}, {"a": 1}),
        ({"$ref": "#/components/schemas/Node"}, {"child": None}),
        ({}, None),
    ],
)
def test_the_example_of_a_schema(schema: dict[str, Any], example: Any) -> None:
    assert example_of(schema, DOCUMENT) == example


def test_an_example_has_required_properties_and_those_with_an_example() -> None:
    properties = {
        "name": {"type": "string"},
        "size": {"type": "integer", "examples": [5]},
        "note": {"type": "string"},
        "limit": {"type": "integer", "default": 50},
    }
    schema = {"type": "object", "properties": properties, "required": ["name"]}
    assert example_of(schema, DOCUMENT) == {"name": "string", "size": 5}


async def test_the_bodies_of_this_hosts_operations_fit_their_schemas(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/openapi.json")).json()
    checked = 0
    for verbs in document["paths"].values():
        for operation in verbs.values():
            schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if schema is not None:
                whole = schema | {"components": document["components"]}
                Draft202012Validator(whole).validate(example_of(schema, document))
                checked += 1
    assert checked > 5
