"""What DynamoDB Local does otherwise than the service, for programs whose tests were written against it."""

from typing import Any

from gateleg.engine.errors import validation


def as_local(request: dict[str, Any]) -> dict[str, Any]:
    """A CreateTable request that the service would take: attribute definitions that no key uses are left out, not refused."""
    definitions = request["AttributeDefinitions"]
    if len({d["AttributeName"] for d in definitions}) < len(definitions):
        raise validation("Cannot have two attributes with the same name")
    schemas = [request["KeySchema"]]
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        schemas += [index["KeySchema"] for index in request.get(member) or ()]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    return {**request, "AttributeDefinitions": [d for d in definitions if d["AttributeName"] in used]}
