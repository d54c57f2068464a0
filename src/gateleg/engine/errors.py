"""DynamoDB's errors, with its codes, HTTP statuses and messages.

DynamoDB has an older and a newer validator with different messages, and not every operation uses the newer one, which wraps its messages
for PutItem, UpdateItem and DeleteItem in an envelope. Regions still differ in how far it is rolled out; where they do, the plainer message
is used here.
"""

from collections.abc import Mapping
from typing import Any, Final

#: HTTP statuses other than 400.
_STATUS = {"InternalServerError": 500, "ServiceUnavailable": 503}

#: Codes of the protocol layer rather than of DynamoDB itself; their `__type` has another prefix.
_CORAL = {"ValidationException", "SerializationException", "UnknownOperationException", "ThrottlingException", "AccessDeniedException"} | {
    "MissingAuthenticationTokenException",
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "UnrecognizedClientException",
}

#: Codes whose responses spell `Message` with a capital letter.
_CAPITAL = {"TransactionCanceledException", "SerializationException", "AccessDeniedException"}


class EngineError(Exception):
    """An error that DynamoDB would answer with: code, message and further members.

    `extra` holds further members of the response's body, such as `CancellationReasons` or the `Item` of a failed condition.
    """

    def __init__(self, code: str, message: str | None, extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.extra = dict(extra or {})

    @property
    def status(self) -> int:
        """The HTTP status that DynamoDB gives this code."""
        return _STATUS.get(self.code, 400)

    @property
    def type(self) -> str:
        """The `__type` of the response's body."""
        if self.code in _CORAL:
            return f"com.amazon.coral.{'validate' if self.code == 'ValidationException' else 'service'}#{self.code}"
        return f"com.amazonaws.dynamodb.v20120810#{self.code}"

    def body(self) -> dict[str, Any]:
        """The response's body."""
        body: dict[str, Any] = {"__type": self.type, **self.extra}
        if self.message is not None:
            capital = self.code in _CAPITAL or (self.code == "ConditionalCheckFailedException" and "Item" in self.extra)
            body["Message" if capital else "message"] = self.message
        return body

    def __str__(self) -> str:
        return self.code if self.message is None else f"{self.code}: {self.message}"


class EmptyKeyError(EngineError):
    """An empty key value. It refuses a whole TransactWriteItems, while other errors of an item become cancellation reasons."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


class InvalidValueError(EngineError):
    """An attribute value with an invalid number or set.

    DynamoDB has an older and a newer validator with different messages; which of them applies depends on the operation. `message` is the
    older one's, `newer` the newer one's.
    """

    def __init__(self, message: str, newer: str | None = None) -> None:
        super().__init__("ValidationException", message)
        self.newer = message if newer is None else newer


def validation(message: str) -> EngineError:
    """A `ValidationException`: the request is invalid."""
    return EngineError("ValidationException", message)


def invalid_parameter(reason: str) -> EngineError:
    """A `ValidationException` with the prefix that DynamoDB uses for most semantic errors."""
    return EngineError("ValidationException", f"One or more parameter values were invalid: {reason}")


def serialization(message: str | None = None) -> EngineError:
    """A `SerializationException`: the body does not have the shape of the operation's request."""
    return EngineError("SerializationException", message)


def not_found(message: str = "Requested resource not found") -> EngineError:
    """A `ResourceNotFoundException`."""
    return EngineError("ResourceNotFoundException", message)


def in_use(message: str) -> EngineError:
    """A `ResourceInUseException`."""
    return EngineError("ResourceInUseException", message)


def limit_exceeded(message: str) -> EngineError:
    """A `LimitExceededException`."""
    return EngineError("LimitExceededException", message)


def condition_failed(item: Mapping[str, Any] | None = None) -> EngineError:
    """A `ConditionalCheckFailedException`, with the current item if it was requested."""
    extra = {"Item": item} if item is not None else None
    return EngineError("ConditionalCheckFailedException", "The conditional request failed", extra)


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
