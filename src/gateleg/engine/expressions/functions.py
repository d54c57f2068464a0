"""The functions of expressions: which there are, how many operands they take, and what they take."""

from typing import Any, Final

from gateleg.engine.expressions.faults import Fault
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

#: Operators and functions that one expression may have.
MAX_OPERATORS: Final = 300

TYPES: Final = frozenset({"S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"})
SCALARS: Final = frozenset({"S", "N", "B"})
TEXTS: Final = frozenset({"S", "B"})
SIZED: Final = TYPES - {"N", "BOOL", "NULL"}
NUMBER: Final = frozenset({"N"})
LIST: Final = frozenset({"L"})

#: Types of what a call gives, where the function alone tells.
_RESULTS = {"size": "N", "list_append": "L"}


def check_names(calls: tuple[Call, ...]) -> None:
    """Refuses functions that do not exist."""
    for call in calls:
        if call.name not in FUNCTIONS:
            raise Fault(f"Invalid function name; function: {call.name}")


def misused(name: str) -> Fault:
    """A function that may not stand where it stands."""
    return Fault(f"The function is not allowed to be used this way in an expression; function: {name}")


def check_operators(count: int) -> None:
    """Refuses too many operators and functions; DynamoDB counts no further than the first one too many."""
    if count > MAX_OPERATORS:
        raise Fault(f"The expression contains too many operators; operator count: {MAX_OPERATORS + 1}")


def check_count(call: Call) -> None:
    """Refuses a call with a wrong number of operands."""
    if len(call.args) != FUNCTIONS[call.name]:
        raise Fault(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {call.name}, number of operands: {len(call.args)}"
        )


def constant(operand: Operand, values: Values) -> dict[str, Any] | None:
    """The value of an operand that the request alone gives."""
    if isinstance(operand, Value):
        return defined(operand, values)
    return operand.value if isinstance(operand, Literal) else None


def defined(value: Value, values: Values) -> dict[str, Any]:
    """What a placeholder stands for."""
    found: dict[str, Any] | None = values.get(value.name)
    if found is None:
        raise Fault(f"An expression attribute value used in expression is not defined; attribute value: {value.name}")
    return found


def constant_type(operand: Operand, values: Values) -> str | None:
    """The type of an operand, where it does not depend on an item."""
    if isinstance(operand, Call):
        return _RESULTS.get(operand.name)
    value = constant(operand, values)
    return None if value is None else next(iter(value))


def check_type(operator: str, operand: Operand, allowed: frozenset[str], values: Values) -> None:
    """Refuses an operand whose type the operator or function does not take."""
    found = constant_type(operand, values)
    if found is not None and found not in allowed:
        raise wrong_type(operator, found)


def wrong_type(operator: str, found: str) -> Fault:
    """An operand of a type that the operator or function does not take."""
    return Fault(f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {found}")


def require_path(call: Call) -> None:
    """Refuses a call whose first operand is not a path."""
    if not isinstance(call.args[0], Path):
        raise Fault(f"Operator or function requires a document path; operator or function: {call.name}")
