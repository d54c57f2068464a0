"""A request's parameters as canonical attribute values."""

from typing import Any

from gateleg.engine.values import validate


def read_parameters(given: list[Any] | None) -> list[Any]:
    """The parameters; raises DynamoDB's error for the first that is not an attribute value."""
    return [validate(value) for value in given or ()]
