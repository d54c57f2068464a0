"""The wording of validation errors: DynamoDB has an older and a newer validator, and not every operation uses the newer one.

The newer check puts what it finds in PutItem, UpdateItem and DeleteItem into an envelope. Regions still differ in how much of it they have;
where they do, the words here are the plainer ones.
"""

from typing import Any, Final

from gateleg.engine.errors import EngineError, ValueFault, validation

ENVELOPE: Final = "1 validation error detected: "
_ENVELOPED: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_NEWER: Final = _ENVELOPED | {"GetItem", "BatchGetItem", "Query"}

#: Maps and lists around one another with which a request is left to the older check.
_OLDER_DEPTH: Final = 62

#: Faults that PutItem and UpdateItem tell without an envelope, and those of an update expression that are told in it after all.
_BARE: Final = ("Can not use both", "ExpressionAttributeValues can only")
_BARE_UPDATE: Final = ("Value provided in", "Invalid UpdateExpression")
_ENCLOSED: Final = ('Invalid UpdateExpression: The "', "Invalid UpdateExpression: Two document paths")


def value_refusal(fault: ValueFault, operation: str, request: dict[str, Any]) -> EngineError:
    """The fault of an attribute value in the words of the operation that met it."""
    if operation not in _NEWER or _is_deep(request):
        return fault
    return validation(f"{ENVELOPE}{fault.newer}" if operation in _ENVELOPED else fault.newer)


def request_refusal(error: EngineError, operation: str, request: dict[str, Any]) -> EngineError:
    """A fault of the parameters of PutItem, UpdateItem or DeleteItem, in the envelope if it belongs there."""
    message = error.message or ""
    if error.code != "ValidationException" or isinstance(error, ValueFault) or message.startswith(ENVELOPE) or _is_deep(request):
        return error
    if operation == "DeleteItem":
        message = message.removesuffix(": ConditionExpression is null")
    elif _is_bare(operation, message):
        return error
    return validation(ENVELOPE + message)


def _is_bare(operation: str, message: str) -> bool:
    if operation == "UpdateItem" and message.startswith(_BARE_UPDATE):
        return not message.startswith(_ENCLOSED)
    return message.startswith(_BARE)


def _is_deep(request: dict[str, Any]) -> bool:
    """Whether more maps and lists lie around one another than the newer check reads."""
    rest: list[tuple[Any, int]] = [(request, 0)]
    while rest:
        part, depth = rest.pop()
        if depth > _OLDER_DEPTH:
            return True
        if isinstance(part, dict):
            rest.extend((inner, depth + (name in ("M", "L"))) for name, inner in part.items())
        elif isinstance(part, list):
            rest.extend((inner, depth) for inner in part)
    return False
