"""The SET and REMOVE clauses of an UPDATE, as an update expression."""

from typing import Final

from gateleg.engine.expressions import (
    Action,
    Add,
    Arithmetic,
    Call,
    CompiledUpdate,
    Delete,
    Literal,
    Operand,
    Remove,
    Set,
    Value,
    Values,
    check_disjoint,
    update,
)
from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.functions import LIST, NUMBER, check_count, check_type, require_path
from gateleg.engine.expressions.update_rules import SETS
from gateleg.engine.partiql.conditions import operand_of
from gateleg.engine.partiql.errors import StatementError
from gateleg.engine.partiql.paths import is_path, keys_of, path_of
from gateleg.engine.partiql.trees import Assign, Drop, FunctionCall, OperatorExpression, Tree

_SET_FUNCTIONS: Final[dict[str, type[Add] | type[Delete]]] = {"set_add": Add, "set_delete": Delete}


def update_of(actions: tuple[Assign | Drop, ...], values: Values) -> tuple[CompiledUpdate, Values]:
    """The update that SET and REMOVE describe, and its literals; `values` are the request's parameters."""
    try:
        check_disjoint([keys_of(action.path) for action in actions])
        made = [_action(action, values) for action in actions]
    except InvalidExpression as fault:
        raise StatementError(fault.message) from None
    literals = [action.value.value for action in made if isinstance(action, Set) and isinstance(action.value, Literal)]
    return update(made), {f"={position}": value for position, value in enumerate(literals)}


def _action(action: Assign | Drop, values: Values) -> Action:
    path = path_of(action.path)
    if isinstance(action, Drop):
        return Remove(path)
    value = action.value
    if isinstance(value, FunctionCall) and value.name in _SET_FUNCTIONS:
        return _set_action(action, value, values)
    return Set(path, _value(value, values))


def _set_action(action: Assign, call: FunctionCall, values: Values) -> Action:
    """`a = set_add(a, members)` and `a = set_delete(a, members)`."""
    name = call.name.upper()
    if len(call.arguments) != 2:
        raise StatementError(f"{name} must have exactly two arguments", call.text_range)
    first, second = call.arguments
    path = path_of(action.path)
    if not is_path(first) or not isinstance(first, Tree) or path_of(first) != path:
        raise StatementError(f"The first argument to {name} must equal the assignment value", call.text_range)
    if not isinstance(second, Tree):
        raise StatementError(f"The second argument to {name} must be a value with type SET", first.text_range)
    members = operand_of(second)
    value = values[members.name] if isinstance(members, Value) else members.value if isinstance(members, Literal) else {}
    if not isinstance(members, Value | Literal) or not SETS & value.keys():
        raise StatementError(f"The second argument to {name} must be a value with type SET", first.text_range)
    return _SET_FUNCTIONS[call.name](path, members)


def _value(tree: Tree, values: Values) -> Operand | Arithmetic:
    if isinstance(tree, OperatorExpression):
        if tree.operator not in ("+", "-") or len(tree.operands) != 2:
            raise StatementError(f"Unsupported operator in Update Expression. Operator: {tree.operator}", tree.text_range)
        left, right = (_operand(part, values) for part in tree.operands)
        for operand in (left, right):
            check_type(tree.operator, operand, NUMBER, values)
        return Arithmetic(tree.operator, left, right)
    return _operand(tree, values)


def _operand(tree: Tree, values: Values) -> Operand:
    if isinstance(tree, OperatorExpression):
        raise StatementError(f"Unsupported operator in Update Expression. Operator: {tree.operator}", tree.text_range)
    if not isinstance(tree, FunctionCall):
        return operand_of(tree)
    if tree.name not in ("list_append", "if_not_exists"):
        raise StatementError(f"Unrecognized function: {tree.name}", tree.text_range)
    arguments = tuple(_operand(argument, values) for argument in tree.arguments if isinstance(argument, Tree))
    call = Call(tree.name, arguments)
    check_count(call)
    if tree.name == "if_not_exists":
        require_path(call)
    else:
        for argument in arguments:
            check_type(tree.name, argument, LIST, values)
    return call
