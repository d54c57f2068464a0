"""Request shapes: what DynamoDB's protocol layer refuses before an operation runs.

The operations known here are the operations that exist.
"""

from collections.abc import Callable
from typing import Any

from gateleg.engine.errors import EngineError, serialization
from gateleg.engine.protocol.check import compiled, enforce, read
from gateleg.engine.protocol.shapes import RequestShapes, Structure
from gateleg.plain import is_plain

__all__ = ["OPERATIONS", "check", "check_types"]

#: Every operation of DynamoDB and of DynamoDB Streams, with the shape of its request.
OPERATIONS = RequestShapes()

_PLAIN = is_plain("quick_check")
_quick_checks: dict[str, Callable[[dict[str, Any]], bool]] = {}


def check(operation: str, request: Any) -> None:
    """Raise the error of DynamoDB's protocol layer for a malformed request.

    Attribute values are not checked here if the rest is well formed. Values that DynamoDB converts, such as `"true"` for a boolean, are
    converted in place; null members count as absent, and unknown members are ignored.
    """
    quick_check = _quick_checks.get(operation) or _compile_quick_check(operation)
    if _PLAIN or type(request) is not dict or not quick_check(request):
        _find_errors(OPERATIONS[operation], request)


def check_types(operation: str, request: Any) -> None:
    """Raise a `SerializationException` if anything in a request, including attribute values, has a wrong JSON type."""
    read(OPERATIONS[operation], request)


def _compile_quick_check(operation: str) -> Callable[[dict[str, Any]], bool]:
    if operation not in OPERATIONS:
        raise EngineError("UnknownOperationException", None)
    _, test = compiled(OPERATIONS[operation])
    _quick_checks[operation] = quick_check = test or (lambda request: True)
    return quick_check


def _find_errors(operation: Structure, request: Any) -> None:
    if not isinstance(request, dict):
        raise serialization("Start of list found where not expected" if isinstance(request, list) else None)
    read(operation, request)
    enforce(operation, request)
