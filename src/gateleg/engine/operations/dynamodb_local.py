"""Differences of DynamoDB Local, for programs whose tests were written against it."""

from typing import Any

from gateleg.engine.errors import validation


def drop_unused_definitions(request: dict[str, Any]) -> dict[str, Any]:
    """A CreateTable request without the attribute definitions that no key uses, which DynamoDB Local accepts."""
    definitions = request["AttributeDefinitions"]
    if len({d["AttributeName"] for d in definitions}) < len(definitions):
        raise validation("Cannot have two attributes with the same name")
    schemas = [request["KeySchema"]]
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        schemas += [index["KeySchema"] for index in request.get(member) or ()]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    return {**request, "AttributeDefinitions": [d for d in definitions if d["AttributeName"] in used]}
