"""WHERE clauses as condition expressions."""

from typing import Any, Final

from gateleg.engine.expressions import And, Between, Call, Compare, In, Literal, Node, Not, Operand, Or, Value, Values
from gateleg.engine.expressions.condition_rules import MAX_CHOICES, check_bounds
from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.functions import (
    CONDITION_FUNCTIONS,
    SCALARS,
    SIZED,
    TEXTS,
    TYPES,
    check_count,
    check_type,
    constant,
    constant_type,
    require_path,
    wrong_type,
)
from gateleg.engine.partiql.errors import StatementError
from gateleg.engine.partiql.literals import kind_of, literal
from gateleg.engine.partiql.paths import is_path, path_of
from gateleg.engine.partiql.trees import CollectionLiteral, Constant, FunctionCall, OperatorExpression, Parameter, Struct, Tree, TypeTest

_EQUALITIES: Final = frozenset({"=", "<>"})
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_LOGIC: Final = frozenset({"and", "or", "not"})
_TESTS: Final = _EQUALITIES | _ORDERS | _LOGIC | {"in", "not in", "between", "not between"}
#: Types that IS accepts, with DynamoDB's type names.
_IS: Final = {
    "null": "NULL",
    "boolean": "BOOL",
    "blob": "B",
    "string": "S",
    "numeric": "N",
    "struct": "M",
    "tuple": "M",
    "list": "L",
}
_IS_TYPES: Final = "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
_TYPE_NAMES: Final = "{N,BS,L,B,NULL,M,S,SS,NS,BOOL}"
#: Limit of conditions compared with one another, because each doubles the size of the tree.
_MAX_COMPARED: Final = 6

_TRUE: Final = Literal({"BOOL": True})
_FALSE: Final = Literal({"BOOL": False})


def condition_of(tree: Tree, values: Values) -> Node:
    """The condition of a tree; `values` are the request's parameters by `parameter_name`."""
    try:
        return _Conditions(values).node(tree)
    except InvalidExpression as fault:
        raise StatementError(fault.message) from None


def parameter_name(position: int) -> str:
    """The placeholder of a parameter."""
    return f"?{position}"


def operand_of(tree: Tree) -> Operand:
    """A path, parameter or literal."""
    if is_path(tree):
        return path_of(tree)
    if isinstance(tree, Parameter):
        return Value(parameter_name(tree.position))
    if isinstance(tree, Constant | CollectionLiteral | Struct):
        return Literal(literal(tree))
    raise StatementError(f"Unsupported token in expression: {kind_of(tree)}", tree.text_range)


class _Conditions:
    def __init__(self, values: Values) -> None:
        self._values = values
        self._compared = 0

    def node(self, tree: Tree) -> Node:
        if isinstance(tree, OperatorExpression):
            return self._operation(tree)
        if isinstance(tree, TypeTest):
            return self._type_test(tree)
        if isinstance(tree, FunctionCall):
            return self._function(tree)
        raise StatementError(f"Unsupported token in expression: {kind_of(tree)}", tree.text_range)

    def _operation(self, tree: OperatorExpression) -> Node:
        operator, operands = tree.operator, tree.operands
        if operator == "and":
            return And(tuple(self.node(part) for part in operands))
        if operator == "or":
            return Or(tuple(self.node(part) for part in operands))
        if operator == "not":
            return Not(self.node(operands[0]))
        if operator in _EQUALITIES or operator in _ORDERS:
            return self._compare(tree)
        if operator in ("in", "not in"):
            found = self._in(tree)
            return found if operator == "in" else Not(found)
        if operator in ("between", "not between"):
            within = self._between(tree)
            return within if operator == "between" else Not(within)
        raise StatementError(f"Unsupported operator in Condition Expression. Operator: {operator}", tree.text_range)

    def _operand(self, tree: Tree) -> Operand:
        if isinstance(tree, FunctionCall) and tree.name == "size":
            call = self._call(tree)
            check_type("size", call.args[0], SIZED, self._values)
            return call
        if isinstance(tree, FunctionCall):
            raise StatementError(f"Unrecognized function: {tree.name}", tree.text_range)
        if isinstance(tree, OperatorExpression):
            raise StatementError(f"Unsupported operator in Condition Expression. Operator: {tree.operator}", tree.text_range)
        return operand_of(tree)

    def _compare(self, tree: OperatorExpression) -> Node:
        left, right = tree.operands
        if _is_condition(left):
            return self._either(left, tree.operator, right)
        if _is_condition(right):
            return self._either(right, _MIRRORED[tree.operator], left)
        one, two = self._operand(left), self._operand(right)
        if tree.operator in _ORDERS:
            for operand in (one, two):
                check_type(tree.operator, operand, SCALARS, self._values)
        return Compare(tree.operator, one, two)

    def _either(self, condition: Tree, operator: str, other: Tree) -> Node:
        """A condition compared with a value: its result is compared."""
        self._count_compared()
        if operator in _ORDERS:
            raise wrong_type(operator, "BOOL")
        node = self.node(condition)
        if _is_condition(other):
            second = self.node(other)
            same = Or((And((node, second)), And((Not(node), Not(second)))))
            return same if operator == "=" else Not(same)
        value = self._operand(other)
        return Or((And((node, Compare(operator, _TRUE, value))), And((Not(node), Compare(operator, _FALSE, value)))))

    def _in(self, tree: OperatorExpression) -> Node:
        sought, given = tree.operands
        if not isinstance(given, CollectionLiteral):
            raise StatementError(f"Unsupported token in expression: {kind_of(given)}", given.text_range)
        if not given.members:
            raise StatementError("The IN operator is provided with too few operands; number of operands: 0")
        choices = tuple(self._operand(member) for member in given.members)
        if len(choices) > MAX_CHOICES:
            raise StatementError(f"The IN operator is provided with too many operands; number of operands: {len(choices)}")
        if _is_condition(sought):
            self._count_compared()
            node = self.node(sought)
            return Or((And((node, In(_TRUE, choices))), And((Not(node), In(_FALSE, choices)))))
        return In(self._operand(sought), choices)

    def _count_compared(self) -> None:
        self._compared += 1
        if self._compared > _MAX_COMPARED:
            raise StatementError("The expression contains too many operators; operator count: 301")

    def _between(self, tree: OperatorExpression) -> Node:
        operand, low, high = (self._operand(part) for part in tree.operands)
        for part in (operand, low, high):
            check_type("BETWEEN", part, SCALARS, self._values)
        least, most = constant(low, self._values), constant(high, self._values)
        if least is not None and most is not None:
            check_bounds(least, most)
        return Between(operand, low, high)

    def _type_test(self, tree: TypeTest) -> Node:
        if not is_path(tree.operand):
            raise StatementError(f"Unsupported token in expression: {kind_of(tree.operand)}", tree.operand.text_range)
        path = path_of(tree.operand)
        if tree.type == "missing":
            return Call("attribute_not_exists", (path,))
        wanted = _IS.get(tree.type)
        if wanted is None:
            raise StatementError(
                f"Unsupported data type for IS operator: {tree.type.upper()}. Supported data types are {_IS_TYPES}", tree.text_range
            )
        return Call("attribute_type", (path, Literal({"S": wanted})))

    def _call(self, tree: FunctionCall) -> Call:
        call = Call(tree.name, tuple(self._argument(argument) for argument in tree.arguments))
        check_count(call)
        return call

    def _argument(self, argument: object) -> Operand:
        if not isinstance(argument, Tree):
            raise StatementError(f"Unsupported token in expression: {'*' if argument is None else 'Select'}")
        return self._operand(argument)

    def _function(self, tree: FunctionCall) -> Node:
        if tree.name not in CONDITION_FUNCTIONS or tree.name == "size":
            raise StatementError(f"Unrecognized function: {tree.name}", tree.text_range)
        call = self._call(tree)
        if tree.name in ("attribute_exists", "attribute_not_exists"):
            require_path(call)
        elif tree.name == "begins_with":
            for argument in call.args:
                check_type(tree.name, argument, TEXTS, self._values)
        elif tree.name == "attribute_type":
            self._check_type_name(call)
        return call

    def _check_type_name(self, call: Call) -> None:
        found = constant_type(call.args[1], self._values)
        if found != "S":
            raise wrong_type(call.name, found or "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
        value: dict[str, Any] | None = constant(call.args[1], self._values)
        if value is not None and value["S"] not in TYPES:
            raise StatementError(f"Invalid attribute type name found; type: {value['S']}, valid types: {_TYPE_NAMES}")


_MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _is_condition(tree: Tree) -> bool:
    """Whether a tree yields a boolean, so that it can be a condition by itself."""
    if isinstance(tree, OperatorExpression):
        return tree.operator in _TESTS
    return isinstance(tree, TypeTest) or (isinstance(tree, FunctionCall) and tree.name in CONDITION_FUNCTIONS and tree.name != "size")
