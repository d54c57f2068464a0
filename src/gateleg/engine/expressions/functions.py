"""The functions of expressions, with the number and types of their operands."""

from typing import Any, Final

from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.nodes import Call, Literal, Operand, Path, Value, Values

CONDITION_FUNCTIONS: Final = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS: Final = {"if_not_exists": 2, "list_append": 2}
FUNCTIONS: Final = CONDITION_FUNCTIONS | UPDATE_FUNCTIONS

#: DynamoDB's limit of operators and functions in one expression.
MAX_OPERATORS: Final = 300

TYPES: Final = frozenset({"S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"})
SCALARS: Final = frozenset({"S", "N", "B"})
TEXTS: Final = frozenset({"S", "B"})
SIZED: Final = TYPES - {"N", "BOOL", "NULL"}
NUMBER: Final = frozenset({"N"})
LIST: Final = frozenset({"L"})

#: Result types that depend on the function alone.
_RESULTS = {"size": "N", "list_append": "L"}


def check_names(calls: tuple[Call, ...]) -> None:
    """Refuse unknown functions."""
    for call in calls:
        if call.name not in FUNCTIONS:
            raise InvalidExpression(f"Invalid function name; function: {call.name}")


def misused(name: str) -> InvalidExpression:
    """The error for a function that is not allowed in its position."""
    return InvalidExpression(f"The function is not allowed to be used this way in an expression; function: {name}")


def check_operators(count: int) -> None:
    """Refuse too many operators and functions; DynamoDB reports the limit plus one."""
    if count > MAX_OPERATORS:
        raise InvalidExpression(f"The expression contains too many operators; operator count: {MAX_OPERATORS + 1}")


def check_count(call: Call) -> None:
    """Refuse a wrong number of operands."""
    if len(call.args) != FUNCTIONS[call.name]:
        raise InvalidExpression(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {call.name}, number of operands: {len(call.args)}"
        )


def constant(operand: Operand, values: Values) -> dict[str, Any] | None:
    """The value of an operand that does not depend on an item, or None."""
    if isinstance(operand, Value):
        return defined(operand, values)
    return operand.value if isinstance(operand, Literal) else None


def defined(value: Value, values: Values) -> dict[str, Any]:
    """The value of a placeholder."""
    found: dict[str, Any] | None = values.get(value.name)
    if found is None:
        raise InvalidExpression(f"An expression attribute value used in expression is not defined; attribute value: {value.name}")
    return found


def constant_type(operand: Operand, values: Values) -> str | None:
    """The type of an operand that does not depend on an item, or None."""
    if isinstance(operand, Call):
        return _RESULTS.get(operand.name)
    value = constant(operand, values)
    return None if value is None else next(iter(value))


def check_type(operator: str, operand: Operand, allowed: frozenset[str], values: Values) -> None:
    """Refuse an operand of a type that the operator or function does not accept."""
    found = constant_type(operand, values)
    if found is not None and found not in allowed:
        raise wrong_type(operator, found)


def wrong_type(operator: str, found: str) -> InvalidExpression:
    """The error for an operand of a wrong type."""
    return InvalidExpression(f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {found}")


def require_path(call: Call) -> None:
    """Refuse a first operand that is not a path."""
    if not isinstance(call.args[0], Path):
        raise InvalidExpression(f"Operator or function requires a document path; operator or function: {call.name}")
