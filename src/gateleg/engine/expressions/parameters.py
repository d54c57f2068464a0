"""The expressions and legacy parameters that each operation accepts, and which of them may be combined."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from gateleg.engine.errors import validation

#: The order in which DynamoDB reads expressions.
_READING_ORDER: Final = ("UpdateExpression", "ConditionExpression", "KeyConditionExpression", "FilterExpression", "ProjectionExpression")


@dataclass(frozen=True)
class ExpressionParameters:
    """The expression parameters of an operation, or of a part of one, in the order of DynamoDB's messages."""

    expressions: tuple[str, ...]
    legacy: tuple[str, ...] = ()

    @cached_property
    def with_values(self) -> tuple[str, ...]:
        """The expressions that may use values."""
        return tuple(name for name in self.expressions if name != "ProjectionExpression")

    @cached_property
    def reading_order(self) -> tuple[str, ...]:
        """The expressions in the order in which DynamoDB reads them."""
        return tuple(name for name in _READING_ORDER if name in self.expressions)

    @cached_property
    def legacy_names(self) -> frozenset[str]:
        """The legacy parameters, as a set for fast lookups."""
        return frozenset(self.legacy)


_PROJECTED = ExpressionParameters(("ProjectionExpression",), ("AttributesToGet",))
_CONDITIONAL = ExpressionParameters(("ConditionExpression",), ("Expected", "ConditionalOperator"))
_CHECKED = ExpressionParameters(("ConditionExpression",))

#: By operation; then by the member names of batches and transactions.
EXPRESSION_PARAMETERS: Final[dict[str, ExpressionParameters]] = {
    "GetItem": _PROJECTED,
    "PutItem": _CONDITIONAL,
    "DeleteItem": _CONDITIONAL,
    "UpdateItem": ExpressionParameters(
        ("UpdateExpression", "ConditionExpression"), ("AttributeUpdates", "Expected", "ConditionalOperator")
    ),
    "Query": ExpressionParameters(
        ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
        ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    ),
    "Scan": ExpressionParameters(("ProjectionExpression", "FilterExpression"), ("AttributesToGet", "ScanFilter", "ConditionalOperator")),
    "KeysAndAttributes": _PROJECTED,
    "Get": ExpressionParameters(("ProjectionExpression",)),
    "Put": _CHECKED,
    "Delete": _CHECKED,
    "ConditionCheck": _CHECKED,
    "Update": ExpressionParameters(("UpdateExpression", "ConditionExpression")),
}

#: All parameters that concern expressions; a request without any of them is not checked.
PARAMETERS: Final = frozenset(name for form in EXPRESSION_PARAMETERS.values() for name in (*form.expressions, *form.legacy)) | {
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
}


def check_parameters(request: Mapping[str, Any], operation: str) -> None:
    """Refuse expressions together with legacy parameters, and placeholders or a ConditionalOperator that nothing uses.

    DynamoDB looks at this before it looks at keys and items.
    """
    form = EXPRESSION_PARAMETERS[operation]
    given = [name for name in form.expressions if request.get(name) is not None]
    legacy = [] if form.legacy_names.isdisjoint(request) else [name for name in form.legacy if request.get(name) is not None]
    if given and legacy:
        if "KeyConditionExpression" not in given and "KeyConditions" in legacy:
            legacy.remove("KeyConditions")
        if legacy:
            raise validation(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(legacy)}}} Expression parameters: {{{', '.join(given)}}}"
            )
    if not given and request.get("ExpressionAttributeNames") is not None:
        raise validation("ExpressionAttributeNames can only be specified when using expressions")
    if request.get("ExpressionAttributeValues") is not None:
        _check_values_used(form, request)
    if "ConditionalOperator" in legacy:
        _check_conditional_operator(request)


def _check_values_used(form: ExpressionParameters, request: Mapping[str, Any]) -> None:
    users = form.with_values
    if users and all(request.get(name) is None for name in users):
        verb = "are" if len(users) > 1 else "is"
        raise validation(f"ExpressionAttributeValues can only be specified when using expressions: {' and '.join(users)} {verb} null")


def _check_conditional_operator(request: Mapping[str, Any]) -> None:
    conditions = request.get("Expected") or request.get("QueryFilter") or request.get("ScanFilter")
    if not conditions:
        raise validation("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) < 2:
        raise validation("ConditionalOperator can only be used when Filter or Expected has two or more elements")
