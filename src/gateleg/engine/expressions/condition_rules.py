"""Rules for conditions beyond the grammar, in DynamoDB's order: those for the text, then those for names and values by clause."""

from typing import Any, Final

from gateleg.engine.expressions.compare import greater, type_of
from gateleg.engine.expressions.condition_grammar import Clause, ConditionSource
from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.functions import (
    SCALARS,
    SIZED,
    TEXTS,
    TYPES,
    UPDATE_FUNCTIONS,
    check_count,
    check_names,
    check_operators,
    check_type,
    constant,
    constant_type,
    defined,
    misused,
    require_path,
    wrong_type,
)
from gateleg.engine.expressions.nodes import Between, Call, Compare, In, Names, Operand, Path, Value, Values
from gateleg.engine.expressions.paths import ResolvedPath, check_spelling, resolve, spell

MAX_CHOICES: Final = 100

#: All types as DynamoDB prints them for an unknown type.
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
_TYPE_NAMES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


def check_text(source: ConditionSource) -> None:
    """Apply the rules that need neither names nor values."""
    if source.redundant:
        raise InvalidExpression("The expression has redundant parentheses;")
    calls = source.calls
    check_names(calls)
    for clause in source.clauses:
        _check_use(clause)
    check_operators(source.operators + len(calls))
    check_spelling(reference for reference in source.references if isinstance(reference, Path))


def _check_use(clause: Clause) -> None:
    for call in clause.calls:
        if call.name in UPDATE_FUNCTIONS:
            raise misused(call.name)
        _check_nested(call.args)
    if isinstance(clause.node, Call):
        if clause.node.name == "size":
            raise misused("size")
    else:
        _check_nested(operands(clause.node))


def _check_nested(args: tuple[Operand, ...]) -> None:
    """Allow only `size` as an operand."""
    for arg in args:
        if isinstance(arg, Call) and arg.name != "size":
            raise misused(arg.name)


def operands(node: Compare | Between | In | Call) -> tuple[Operand, ...]:
    """The operands of a clause, in order."""
    if isinstance(node, Compare):
        return node.left, node.right
    if isinstance(node, Between):
        return node.operand, node.low, node.high
    if isinstance(node, In):
        return node.operand, *node.choices
    return node.args


def operator_of(node: Compare | Between | In | Call) -> str:
    """The operator or function of a clause, as in messages."""
    if isinstance(node, Compare):
        return node.operator
    if isinstance(node, Between):
        return "BETWEEN"
    return "IN" if isinstance(node, In) else node.name


def check_references(source: ConditionSource, names: Names, values: Values) -> None:
    """Apply the rules that need names and values, clause by clause."""
    for clause in source.clauses:
        _check_clause(clause, names, values)


def _check_clause(clause: Clause, names: Names, values: Values) -> None:
    for reference in clause.references:
        if isinstance(reference, Value):
            defined(reference, values)
        else:
            resolve(reference, names)
    for call in clause.calls:
        check_count(call)
    node = clause.node
    if isinstance(node, In) and len(node.choices) > MAX_CHOICES:
        raise InvalidExpression(f"The IN operator is provided with too many operands; number of operands: {len(node.choices)}")
    for call in clause.calls:
        _check_distinct(call.name, call.args, names)
    if not isinstance(node, Call):
        _check_distinct(operator_of(node), operands(node), names)
    for call in clause.calls:
        _check_call(call, values)
    if isinstance(node, Between):
        _check_between(node, values)
    elif isinstance(node, Compare) and node.operator not in ("=", "<>"):
        for operand in operands(node):
            check_type(node.operator, operand, SCALARS, values)


def _check_distinct(operator: str, args: tuple[Operand, ...], names: Names) -> None:
    first: ResolvedPath | None = resolve(args[0], names) if isinstance(args[0], Path) else None
    if first is None:
        return
    if any(isinstance(other, Path) and resolve(other, names) == first for other in args[1:]):
        raise InvalidExpression(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {operator}, first operand: {spell(first)}"
        )


def _check_call(call: Call, values: Values) -> None:
    if call.name in ("attribute_exists", "attribute_not_exists"):
        require_path(call)
    elif call.name == "begins_with":
        for arg in call.args:
            check_type(call.name, arg, TEXTS, values)
    elif call.name == "size":
        check_type(call.name, call.args[0], SIZED, values)
    elif call.name == "attribute_type":
        found = constant_type(call.args[1], values)
        if found != "S":
            raise wrong_type(call.name, found or _ANY_TYPE)
        check_type_name(constant(call.args[1], values))


def check_type_name(value: dict[str, Any] | None) -> None:
    """Refuse an unknown type name in `attribute_type`."""
    if value is None or value.get("S") not in TYPES:
        named = "" if value is None else value.get("S")
        raise InvalidExpression(f"Invalid attribute type name found; type: {named}, valid types: {_TYPE_NAMES}")


def _check_between(node: Between, values: Values) -> None:
    for operand in operands(node):
        check_type("BETWEEN", operand, SCALARS, values)
    low, high = constant(node.low, values), constant(node.high, values)
    if low is not None and high is not None:
        check_bounds(low, high)


def check_bounds(low: dict[str, Any], high: dict[str, Any]) -> None:
    """Refuse bounds of BETWEEN of different types or in the wrong order."""
    if type_of(low) != type_of(high):
        what = "same data type for lower and upper bounds"
    elif greater(low, high):
        what = "upper bound to be greater than or equal to lower bound"
    else:
        return
    raise InvalidExpression(
        f"The BETWEEN operator requires {what}; "
        f"lower bound operand: AttributeValue: {_spelled(low)}, upper bound operand: AttributeValue: {_spelled(high)}"
    )


def _spelled(value: dict[str, Any]) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"
