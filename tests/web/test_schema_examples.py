from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gateleg.web.schema_examples import call_of, example_of

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


def test_a_call_has_the_parameters_and_the_body_of_its_operation() -> None:
    operation = {
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 50}},
            {"name": "color", "in": "query", "schema": {"anyOf": [{"$ref": "#/components/schemas/Color"}, {"type": "null"}]}},
            {"name": "session", "in": "cookie", "schema": {"type": "string"}},
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}},
    }
    assert call_of("/api/x/{id}", "post", operation, DOCUMENT) == {
        "method": "POST",
        "path": "/api/x/{id}",
        "parameters": [
            {"name": "id", "in": "path", "required": True},
            {"name": "limit", "in": "query", "input": "integer", "default": 50},
            {"name": "color", "in": "query", "choices": ["red", "blue"]},
        ],
        "body": {"type": "application/json", "required": True, "example": {"child": None}},
    }


def test_a_form_with_files_and_a_stream_are_recognised() -> None:
    files = {"type": "array", "items": {"type": "string", "format": "binary"}}
    schema = {"type": "object", "properties": {"file": files, "title": {"type": "string"}}}
    operation = {
        "requestBody": {"content": {"multipart/form-data": {"schema": schema}}},
        "responses": {"200": {"content": {"text/event-stream": {}}}},
    }
    call = call_of("/a", "post", operation, DOCUMENT)
    assert call["body"]["fields"] == [{"name": "file", "file": True, "many": True}, {"name": "title", "file": False, "many": False}]
    assert call["streams"] is True


async def test_the_bodies_of_this_hosts_operations_fit_their_schemas(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/openapi.json")).json()
    checked = 0
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            body = call_of(path, verb, operation, document).get("body", {})
            if "example" in body:
                schema = operation["requestBody"]["content"]["application/json"]["schema"] | {"components": document["components"]}
                Draft202012Validator(schema).validate(body["example"])
                checked += 1
    assert checked > 5
