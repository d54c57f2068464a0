"""The parameters of a request, in canonical form."""

from typing import Any

from gateleg.engine.values import validate


def read_parameters(given: list[Any] | None) -> list[Any]:
    """The parameters; raises DynamoDB's error for the first invalid one."""
    return [validate(value) for value in given or ()]
