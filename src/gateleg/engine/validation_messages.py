"""Messages of validation errors: DynamoDB has an older and a newer validator, and not every operation uses the newer one.

The newer validator wraps its messages for PutItem, UpdateItem and DeleteItem in an envelope. Regions still differ in how far it is rolled
out; where they do, the plainer message is used here.
"""

from typing import Any, Final

from gateleg.engine.errors import EngineError, InvalidValueError, validation

ENVELOPE: Final = "1 validation error detected: "
_WRAPPED_OPERATIONS: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_NEWER_VALIDATOR: Final = _WRAPPED_OPERATIONS | {"GetItem", "BatchGetItem", "Query"}

#: Requests with deeper nesting go to the older validator.
_OLDER_VALIDATOR_DEPTH: Final = 62

#: Messages of PutItem and UpdateItem without the envelope, and update expression errors that are wrapped nevertheless.
_UNWRAPPED: Final = ("Can not use both", "ExpressionAttributeValues can only")
_UNWRAPPED_UPDATE: Final = ("Value provided in", "Invalid UpdateExpression")
_WRAPPED_UPDATE: Final = ('Invalid UpdateExpression: The "', "Invalid UpdateExpression: Two document paths")


def value_error(fault: InvalidValueError, operation: str, request: dict[str, Any]) -> EngineError:
    """The error for an invalid attribute value, with the message that the operation uses."""
    if operation not in _NEWER_VALIDATOR or _is_deep(request):
        return fault
    return validation(f"{ENVELOPE}{fault.newer}" if operation in _WRAPPED_OPERATIONS else fault.newer)


def parameter_error(error: EngineError, operation: str, request: dict[str, Any]) -> EngineError:
    """The error for invalid parameters of PutItem, UpdateItem or DeleteItem, wrapped if DynamoDB wraps it."""
    message = error.message or ""
    if error.code != "ValidationException" or isinstance(error, InvalidValueError) or message.startswith(ENVELOPE) or _is_deep(request):
        return error
    if operation == "DeleteItem":
        message = message.removesuffix(": ConditionExpression is null")
    elif _is_unwrapped(operation, message):
        return error
    return validation(ENVELOPE + message)


def _is_unwrapped(operation: str, message: str) -> bool:
    if operation == "UpdateItem" and message.startswith(_UNWRAPPED_UPDATE):
        return not message.startswith(_WRAPPED_UPDATE)
    return message.startswith(_UNWRAPPED)


def _is_deep(request: dict[str, Any]) -> bool:
    """Whether the request is nested more deeply than the newer validator reads."""
    rest: list[tuple[Any, int]] = [(request, 0)]
    while rest:
        part, depth = rest.pop()
        if depth > _OLDER_VALIDATOR_DEPTH:
            return True
        if isinstance(part, dict):
            rest.extend((inner, depth + (name in ("M", "L"))) for name, inner in part.items())
        elif isinstance(part, list):
            rest.extend((inner, depth) for inner in part)
    return False
