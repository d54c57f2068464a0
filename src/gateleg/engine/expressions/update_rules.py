"""Rules for updates beyond the grammar, in DynamoDB's order: those for the text, then those for names, values, paths and types."""

from typing import Any, Final

from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.functions import (
    CONDITION_FUNCTIONS,
    LIST,
    NUMBER,
    check_count,
    check_names,
    check_operators,
    check_type,
    defined,
    misused,
    require_path,
)
from gateleg.engine.expressions.nodes import Add, Arithmetic, Call, Delete, Names, Path, Value, Values
from gateleg.engine.expressions.paths import check_disjoint, check_spelling, resolve
from gateleg.engine.expressions.update_grammar import UpdateSource

SETS: Final = frozenset({"SS", "NS", "BS"})

#: Type names in the messages of ADD and DELETE.
_LONG_NAMES = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "NULL": "NULL", "BOOL": "BOOLEAN", "L": "LIST", "M": "MAP"}


def check_text(source: UpdateSource) -> None:
    """Apply the rules that need neither names nor values."""
    if source.redundant:
        raise InvalidExpression("The expression has redundant parentheses;")
    check_spelling(reference for reference in source.references if isinstance(reference, Path))
    check_names(tuple(call for call in source.calls if isinstance(call, Call)))
    for call in source.calls:
        _check_use(call)
    for index, section in enumerate(source.sections):
        if section in source.sections[:index]:
            raise InvalidExpression(f'The "{section}" section can only be used once in an update expression;')
    check_operators(len(source.calls))


def _check_use(call: Call | Arithmetic) -> None:
    """Refuse functions of conditions, and `list_append` as an operand of another function."""
    if isinstance(call, Arithmetic):
        return
    if call.name in CONDITION_FUNCTIONS:
        raise misused(call.name)
    for arg in call.args:
        if isinstance(arg, Call) and arg.name == "list_append":
            raise misused(arg.name)


def check_references(source: UpdateSource, names: Names, values: Values) -> None:
    """Apply the rules that need names and values."""
    for reference in source.references:
        if isinstance(reference, Path):
            resolve(reference, names)
    for reference in source.references:
        if isinstance(reference, Value):
            defined(reference, values)
    check_disjoint([resolve(action.path, names) for action in source.actions])
    for action in source.actions:
        if isinstance(action, Add | Delete) and isinstance(action.value, Value):
            check_operand("ADD" if isinstance(action, Add) else "DELETE", defined(action.value, values))
    for call in source.calls:
        _check_call(call, values)


def check_operand(operator: str, value: dict[str, Any]) -> None:
    """Refuse a value that ADD or DELETE does not accept."""
    tag = next(iter(value))
    if tag not in SETS and not (operator == "ADD" and tag == "N"):
        raise InvalidExpression(
            f"Incorrect operand type for operator or function; operator: {operator}, operand type: {_LONG_NAMES[tag]}, "
            f"typeSet: ALLOWED_FOR_{operator}_OPERAND"
        )


def _check_call(call: Call | Arithmetic, values: Values) -> None:
    if isinstance(call, Arithmetic):
        for operand in (call.left, call.right):
            check_type(call.operator, operand, NUMBER, values)
        return
    check_count(call)
    if call.name == "if_not_exists":
        require_path(call)
    else:
        for operand in call.args:
            check_type(call.name, operand, LIST, values)
