"""The shape of every request: what DynamoDB's protocol layer refuses before an operation looks at what is asked.

The operations known here are the operations that exist.
"""

from collections.abc import Callable
from typing import Any

from gateleg.engine.errors import EngineError, serialization
from gateleg.engine.protocol import administration, items, tables
from gateleg.engine.protocol.constraints import enforce
from gateleg.engine.protocol.deserialize import read
from gateleg.engine.protocol.kinds import Structure
from gateleg.engine.protocol.quick_check import compiled

__all__ = ["OPERATIONS", "check", "check_types"]

#: Every operation of DynamoDB and of DynamoDB Streams, with the shape of its request.
OPERATIONS: dict[str, Structure] = {shape.name: shape for shape in (*items.OPERATIONS, *tables.OPERATIONS, *administration.OPERATIONS)}

_glances: dict[str, Callable[[dict[str, Any]], bool]] = {}


def check(operation: str, request: Any) -> None:
    """Raise what DynamoDB's protocol layer would answer to a request that it refuses.

    Attribute values of a request that is otherwise proper are not looked into. Values that DynamoDB converts, such as `"true"`
    where a boolean is expected, are converted in the request itself; members that are null count as absent, and unknown ones
    are ignored.
    """
    glance = _glances.get(operation) or _prepared(operation)
    if type(request) is not dict or not glance(request):
        _look_closely(OPERATIONS[operation], request)


def check_types(operation: str, request: Any) -> None:
    """Raise a `SerializationException` if anything in a request, attribute values included, has another type than it should have."""
    read(OPERATIONS[operation], request)


def _prepared(operation: str) -> Callable[[dict[str, Any]], bool]:
    if operation not in OPERATIONS:
        raise EngineError("UnknownOperationException", None)
    _, test = compiled(OPERATIONS[operation])
    _glances[operation] = glance = test or (lambda request: True)
    return glance


def _look_closely(operation: Structure, request: Any) -> None:
    if not isinstance(request, dict):
        raise serialization("Start of list found where not expected" if isinstance(request, list) else None)
    read(operation, request)
    enforce(operation, request)
