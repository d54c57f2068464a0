"""The parts of a statement as the engine's expressions.

WHERE becomes a condition, SET and REMOVE become an update, literals attribute values; document paths and columns are resolved.
"""

from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine import values
from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import (
    Action,
    Add,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    CompiledUpdate,
    Delete,
    In,
    Item,
    Literal,
    Node,
    Not,
    Operand,
    Or,
    Path,
    Remove,
    Set,
    Value,
    Values,
    check_disjoint,
    update,
)
from gateleg.engine.expressions.conditions import (
    CONDITION_FUNCTIONS,
    LIST,
    MAX_INDEX,
    NUMBER,
    SCALARS,
    SIZED,
    TEXTS,
    TYPES,
    ResolvedPath,
    check_count,
    check_type,
    constant,
    constant_type,
    descend,
    require_path,
    wrong_type,
)
from gateleg.engine.expressions.nodes import InvalidExpression
from gateleg.engine.expressions.rules import MAX_CHOICES, MIRRORED, SETS, check_bounds
from gateleg.engine.partiql.grammar import (
    Assign,
    CollectionLiteral,
    Constant,
    DocumentPath,
    Drop,
    FunctionCall,
    Name,
    OperatorExpression,
    Parameter,
    StatementError,
    Struct,
    TextRange,
    Tree,
    TypeTest,
)
from gateleg.engine.values import MAX_NESTING

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
            node = self._in(tree)
            return node if operator == "in" else Not(node)
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
            return self._either(right, MIRRORED[tree.operator], left)
        first, second = self._operand(left), self._operand(right)
        if tree.operator in _ORDERS:
            for operand in (first, second):
                check_type(tree.operator, operand, SCALARS, self._values)
        return Compare(tree.operator, first, second)

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
        sought, collection = tree.operands
        if not isinstance(collection, CollectionLiteral):
            raise StatementError(f"Unsupported token in expression: {kind_of(collection)}", collection.text_range)
        if not collection.members:
            raise StatementError("The IN operator is provided with too few operands; number of operands: 0")
        choices = tuple(self._operand(member) for member in collection.members)
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
        tag = _IS.get(tree.type)
        if tag is None:
            raise StatementError(
                f"Unsupported data type for IS operator: {tree.type.upper()}. Supported data types are {_IS_TYPES}", tree.text_range
            )
        return Call("attribute_type", (path, Literal({"S": tag})))

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
        tag = constant_type(call.args[1], self._values)
        if tag != "S":
            raise wrong_type(call.name, tag or "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
        value: dict[str, Any] | None = constant(call.args[1], self._values)
        if value is not None and value["S"] not in TYPES:
            raise StatementError(f"Invalid attribute type name found; type: {value['S']}, valid types: {_TYPE_NAMES}")


def _is_condition(tree: Tree) -> bool:
    """Whether a tree yields a boolean, so that it can be a condition by itself."""
    if isinstance(tree, OperatorExpression):
        return tree.operator in _TESTS
    return isinstance(tree, TypeTest) or (isinstance(tree, FunctionCall) and tree.name in CONDITION_FUNCTIONS and tree.name != "size")


_SET_FUNCTIONS: Final[dict[str, type[Add] | type[Delete]]] = {"set_add": Add, "set_delete": Delete}


def update_of(actions: tuple[Assign | Drop, ...], values: Values) -> tuple[CompiledUpdate, Values]:
    """The update that SET and REMOVE describe, and its literals; `values` are the request's parameters."""
    try:
        check_disjoint([keys_of(action.path) for action in actions])
        update_actions = [_action(action, values) for action in actions]
    except InvalidExpression as fault:
        raise StatementError(fault.message) from None
    literals = [action.value.value for action in update_actions if isinstance(action, Set) and isinstance(action.value, Literal)]
    return update(update_actions), {f"={position}": value for position, value in enumerate(literals)}


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


_MIXED: Final = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"

#: DynamoDB's names for the parts of a statement.
_KINDS: Final = {Name: "Id", DocumentPath: "Path", Parameter: "Parameter", OperatorExpression: "NAry", TypeTest: "IsType", Constant: "Lit"}


def literal(tree: Tree, path: str = "root", depth: int = 0) -> dict[str, Any]:
    """The attribute value of a tree; `path` locates it within the whole literal."""
    if isinstance(tree, Struct):
        members: dict[str, Any] = {}
        for name, value in named_members(tree):
            members[name] = literal(value, f"{path}.{name}", depth + 1)
        _check_depth(depth + 1, path)
        return {"M": members}
    if isinstance(tree, CollectionLiteral) and tree.kind == "list":
        listed = [literal(member, f"{path}[{i}]", depth + 1) for i, member in enumerate(tree.members)]
        _check_depth(depth + 1, path)
        return {"L": listed}
    if isinstance(tree, Constant):
        _check_depth(depth, path)
        return _constant(tree, path)
    if isinstance(tree, CollectionLiteral) and tree.kind == "bag":
        _check_depth(depth, path)
        return _bag(tree, path)
    raise unsupported(tree, path)


def unsupported(tree: Tree, path: str = "root") -> StatementError:
    """The error for a part that is not a value."""
    return StatementError(f"Unsupported data type: {kind_of(tree)} under key {path}", tree.text_range)


def kind_of(tree: Tree) -> str:
    """DynamoDB's name for a part of a statement; functions have their own names."""
    if isinstance(tree, FunctionCall):
        return tree.name
    if isinstance(tree, CollectionLiteral | Struct):
        return "Struct" if isinstance(tree, Struct) else tree.kind.capitalize()
    return _KINDS[type(tree)]


def named_members(tree: Struct) -> list[tuple[str, Tree]]:
    """The members of a struct, whose names must be strings and unique."""
    members: dict[str, Tree] = {}
    for name, value in tree.members:
        if not isinstance(name, Constant) or name.kind != "S":
            raise StatementError(f"Unsupported data type: {kind_of(name)} as the name of a member", name.text_range)
        if name.text in members:
            raise StatementError(f"Duplicate keys in tuple. Key: {name.text}")
        members[name.text] = value
    return list(members.items())


def number(text: str, path: str = "root") -> str:
    """The canonical form of a number literal."""
    mantissa, _, exponent = text.lower().partition("e")
    if not mantissa.strip("-0."):
        return "0"
    if len(exponent) > 8:
        raise StatementError(f"{values.UNDERFLOW if '-' in exponent else values.OVERFLOW} under {path}")
    try:
        return values.canonical_number(text)
    except EngineError as error:
        raise StatementError(f"{error.message} under {path}") from None


def _constant(tree: Constant, path: str) -> dict[str, Any]:
    if tree.kind == "N":
        return {"N": number(tree.text, path)}
    if tree.kind == "S":
        return {"S": tree.text}
    if tree.kind == "BOOL":
        return {"BOOL": tree.text == "true"}
    if tree.kind == "NULL":
        return {"NULL": True}
    raise StatementError(f"Unsupported data type: Missing under key {path}", tree.text_range)


def _check_depth(depth: int, path: str) -> None:
    """Refuse nesting beyond the limit of an item; DynamoDB finds the innermost value first."""
    if depth > MAX_NESTING:
        raise StatementError(f"Nesting Levels have exceeded supported limits under {path}")


def _bag(tree: CollectionLiteral, path: str) -> dict[str, Any]:
    if not tree.members:
        raise StatementError("Empty bags are not supported")
    texts: list[str] = []
    kinds: set[str] = set()
    for member in tree.members:
        if isinstance(member, Parameter):
            raise unsupported(member, path)
        if not isinstance(member, Constant) or member.kind not in ("S", "N"):
            raise StatementError(_MIXED)
        texts.append(member.text)
        kinds.add(member.kind)
    if len(kinds) > 1:
        raise StatementError(_MIXED)
    if kinds == {"S"}:
        if len(set(texts)) < len(texts):
            raise StatementError(f"One or more parameter values were invalid: Input collection [{', '.join(texts)}] contains duplicates.")
        return {"SS": sorted(texts)}
    clean = [number(text, path) for text in texts]
    if len(set(clean)) < len(clean):
        raise StatementError(
            f"One or more parameter values were invalid: Input collection [{', '.join(texts)}] contains duplicates! under {path}"
        )
    return {"NS": sorted(clean, key=values.as_decimal)}


_COMPONENT: Final = "Unexpected path component"


@dataclass(frozen=True, slots=True)
class SelectedColumn:
    """A column of a SELECT: its path and its name in the result."""

    name: str
    keys: ResolvedPath

    def value(self, item: Item) -> dict[str, Any] | None:
        """The item's value at the path."""
        return descend(item.get(str(self.keys[0])), self.keys[1:])


def keys_of(tree: Tree) -> ResolvedPath:
    """The names and indexes of a tree that must be a document path."""
    if isinstance(tree, Name):
        return (_named(tree.name),)
    if not isinstance(tree, DocumentPath) or not isinstance(tree.root, Name):
        raise StatementError(_COMPONENT, tree.text_range)
    keys: list[str | int] = [_named(tree.root.name)]
    for step in tree.steps:
        if isinstance(step, str):
            keys.append(_named(step))
        elif isinstance(step, Constant) and step.kind == "N":
            keys.append(_position(step.text, step.text_range))
        elif isinstance(step, Constant) and step.kind == "S":
            keys.append(_named(step.text))
        else:
            raise StatementError(_COMPONENT, tree.text_range if step is None else step.text_range)
    return tuple(keys)


def path_of(tree: Tree) -> Path:
    """The path expression of a tree that must be a document path."""
    return Path(keys_of(tree))


def is_path(tree: object) -> bool:
    """Whether a tree is a path."""
    return isinstance(tree, Name | DocumentPath)


def column(tree: Tree) -> SelectedColumn:
    """A column of a SELECT, named after its last name and the indexes that follow it."""
    keys = keys_of(tree)
    last = max(index for index, key in enumerate(keys) if isinstance(key, str))
    positions = "".join(f"[{key}]" for key in keys[last + 1 :])
    return SelectedColumn(f"{keys[last]}{positions}", keys)


def columns(trees: tuple[Tree, ...]) -> tuple[SelectedColumn, ...]:
    """The columns of a SELECT, whose names must be unique."""
    by_name: dict[str, SelectedColumn] = {}
    for tree in trees:
        selected = column(tree)
        if selected.name in by_name:
            raise StatementError(f"Duplicate identifiers in select clause: {selected.name}")
        by_name[selected.name] = selected
    return tuple(by_name.values())


@dataclass(frozen=True, slots=True)
class Target:
    """The table of a statement, its index if one is named, and the position of the table's name."""

    table: str
    index: str | None
    text_range: TextRange


def target(tree: Tree) -> Target:
    """The target after FROM, INTO or UPDATE."""
    names: list[object] = [tree.name] if isinstance(tree, Name) else []
    if isinstance(tree, DocumentPath) and isinstance(tree.root, Name):
        names = [tree.root.name, *tree.steps]
    if not names:
        raise StatementError(f"Unexpected from source: {kind_of(tree)}", tree.text_range)
    if "" in names:
        raise StatementError("Path component cannot be an empty string")
    if len(names) > 2:
        raise StatementError("A path may contain at most 2 components in the FROM clause")
    if not all(isinstance(name, str) for name in names):
        raise StatementError(_COMPONENT, tree.text_range)
    return Target(str(names[0]), str(names[1]) if len(names) > 1 else None, tree.text_range)


def _named(name: str) -> str:
    if not name:
        raise StatementError("Path component cannot be an empty string")
    return name


def _position(text: str, text_range: TextRange) -> int:
    canonical = number(text)
    if not canonical.lstrip("-").isdigit():
        raise StatementError(_COMPONENT, text_range)
    if not 0 <= int(canonical) <= MAX_INDEX:
        raise StatementError(f"List index is not within the allowable range; index: [{canonical}]", text_range)
    return int(canonical)
