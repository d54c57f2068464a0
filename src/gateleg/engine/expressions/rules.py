"""Rules for expressions beyond the grammar, in DynamoDB's order: for conditions, updates, and the key conditions of a Query.

Rules for the text come first, then those for names and values, by clause. An UpdateExpression also has a size, which is limited to that of
an item: it counts what the expression states (names, indexes and the request's values, at each use, with some bytes per action and
function), but not the item's own values.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.errors import validation
from gateleg.engine.expressions.conditions import (
    CONDITION_FUNCTIONS,
    LIST,
    NUMBER,
    SCALARS,
    SIZED,
    TEXTS,
    TYPES,
    UPDATE_FUNCTIONS,
    ResolvedPath,
    check_count,
    check_disjoint,
    check_names,
    check_operators,
    check_spelling,
    check_type,
    constant,
    constant_type,
    defined,
    greater,
    misused,
    require_path,
    resolve,
    spell,
    type_of,
    wrong_type,
)
from gateleg.engine.expressions.grammar import Clause, ConditionSource, UpdateSource
from gateleg.engine.expressions.nodes import (
    Action,
    Add,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Delete,
    In,
    InvalidExpression,
    Literal,
    Names,
    Node,
    Not,
    Operand,
    Or,
    Path,
    Set,
    Value,
    Values,
)
from gateleg.engine.values import MAX_ITEM_SIZE, size, text_size

MAX_CHOICES: Final = 100

#: All types as DynamoDB prints them for an unknown type.
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
_TYPE_NAMES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


def check_condition(source: ConditionSource) -> None:
    """Apply the rules that need neither names nor values."""
    if source.redundant:
        raise InvalidExpression("The expression has redundant parentheses;")
    calls = source.calls
    check_names(calls)
    for clause in source.clauses:
        _check_condition_use(clause)
    check_operators(source.operators + len(calls))
    check_spelling(reference for reference in source.references if isinstance(reference, Path))


def _check_condition_use(clause: Clause) -> None:
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


def check_condition_references(source: ConditionSource, names: Names, values: Values) -> None:
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
        _check_condition_call(call, values)
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


def _check_condition_call(call: Call, values: Values) -> None:
    if call.name in ("attribute_exists", "attribute_not_exists"):
        require_path(call)
    elif call.name == "begins_with":
        for arg in call.args:
            check_type(call.name, arg, TEXTS, values)
    elif call.name == "size":
        check_type(call.name, call.args[0], SIZED, values)
    elif call.name == "attribute_type":
        tag = constant_type(call.args[1], values)
        if tag != "S":
            raise wrong_type(call.name, tag or _ANY_TYPE)
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


SETS: Final = frozenset({"SS", "NS", "BS"})

#: Type names in the messages of ADD and DELETE.
_LONG_NAMES = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "NULL": "NULL", "BOOL": "BOOLEAN", "L": "LIST", "M": "MAP"}


def check_update(source: UpdateSource) -> None:
    """Apply the rules that need neither names nor values."""
    if source.redundant:
        raise InvalidExpression("The expression has redundant parentheses;")
    check_spelling(reference for reference in source.references if isinstance(reference, Path))
    check_names(tuple(call for call in source.calls if isinstance(call, Call)))
    for call in source.calls:
        _check_update_use(call)
    for index, section in enumerate(source.sections):
        if section in source.sections[:index]:
            raise InvalidExpression(f'The "{section}" section can only be used once in an update expression;')
    check_operators(len(source.calls))


def _check_update_use(call: Call | Arithmetic) -> None:
    """Refuse functions of conditions, and `list_append` as an operand of another function."""
    if isinstance(call, Arithmetic):
        return
    if call.name in CONDITION_FUNCTIONS:
        raise misused(call.name)
    for arg in call.args:
        if isinstance(arg, Call) and arg.name == "list_append":
            raise misused(arg.name)


def check_update_references(source: UpdateSource, names: Names, values: Values) -> None:
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
        _check_update_call(call, values)


def check_operand(operator: str, value: dict[str, Any]) -> None:
    """Refuse a value that ADD or DELETE does not accept."""
    tag = next(iter(value))
    if tag not in SETS and not (operator == "ADD" and tag == "N"):
        raise InvalidExpression(
            f"Incorrect operand type for operator or function; operator: {operator}, operand type: {_LONG_NAMES[tag]}, "
            f"typeSet: ALLOWED_FOR_{operator}_OPERAND"
        )


def _check_update_call(call: Call | Arithmetic, values: Values) -> None:
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


_OPERATORS: Final = {"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
#: Each operator of a comparison as it is with the operands exchanged.
MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A KeyConditionExpression or KeyConditions: operator and operands by attribute.

    Operators are EQ, LT, LE, GT, GE, BETWEEN and BEGINS_WITH; KeyConditions may hold others, which no key answers.
    """

    parts: Mapping[str, tuple[str, list[dict[str, Any]]]]


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """A key condition without its values, or the reason why it is invalid."""

    parts: tuple[tuple[str, str, tuple[Operand, ...]], ...]
    refusal: str | None = None

    def fill(self, values: Values) -> KeyCondition:
        """The key condition with a request's values."""
        if self.refusal is not None:
            raise validation(self.refusal)
        return KeyCondition({name: (operator, [_value(part, values) for part in parts]) for name, operator, parts in self.parts})


def _value(operand: Operand, values: Values) -> dict[str, Any]:
    value = constant(operand, values)
    assert value is not None, "only values and literals are kept"
    return value


class _Refusal(Exception):
    """A well-formed condition that is not a key condition."""


def key_template(root: Node, names: Names) -> KeyTemplate:
    """The key condition that a tree describes."""
    parts: dict[str, tuple[str, tuple[Operand, ...]]] = {}
    try:
        for node in _clauses(root):
            name, operator, values = _part(node, names)
            if name in parts:
                raise _Refusal("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")
            parts[name] = (operator, values)
    except _Refusal as refusal:
        return KeyTemplate((), str(refusal))
    return KeyTemplate(tuple((name, operator, values) for name, (operator, values) in parts.items()))


def _clauses(root: Node) -> list[Compare | Between | Call]:
    """The clauses joined by AND, in order; refuses anything else."""
    clauses: list[Compare | Between | Call] = []
    for node in root.parts if isinstance(root, And) else (root,):
        if isinstance(node, Or | Not | And):
            raise _invalid_operator("OR" if isinstance(node, Or) else "NOT")
        if isinstance(node, In) or (isinstance(node, Compare) and node.operator == "<>"):
            raise _invalid_operator(operator_of(node))
        if isinstance(node, Call) and node.name != "begins_with":
            raise _invalid_operator(node.name)
        clauses.append(node)
    return clauses


def _invalid_operator(operator: str) -> _Refusal:
    return _Refusal(f"Invalid operator used in KeyConditionExpression: {operator}")


def _part(node: Compare | Between | Call, names: Names) -> tuple[str, str, tuple[Operand, ...]]:
    parts = operands(node)
    operator = operator_of(node)
    if not isinstance(node, Compare) and not isinstance(parts[0], Path):
        raise _Refusal(f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute as its first operand")
    place: int | None = None
    for index, operand in enumerate(parts):
        if isinstance(operand, Call):
            raise _Refusal("KeyConditionExpressions cannot contain nested operations")
        if isinstance(operand, Path):
            if place is not None:
                raise _Refusal("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
            if len(operand.parts) > 1:
                raise _Refusal("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes")
            place = index
    if place is None:
        raise _Refusal("Invalid condition in KeyConditionExpression: No key attribute specified")
    path = parts[place]
    assert isinstance(path, Path)
    name = str(resolve(path, names)[0])
    others = tuple(operand for operand in parts if isinstance(operand, Value | Literal))
    if isinstance(node, Compare):
        return name, _OPERATORS[operator if place == 0 else MIRRORED[operator]], others
    return name, "BETWEEN" if isinstance(node, Between) else "BEGINS_WITH", others


_UPDATE: Final = 3
_WRITE: Final = 19
_REMOVAL: Final = 1
_STEP_WRITTEN: Final = 4
_PATH_READ: Final = 1
_STEP_READ: Final = 14
_FUNCTIONS: Final = {"+": 34, "-": 37, "list_append": 37, "if_not_exists": 39}


@dataclass(frozen=True, slots=True)
class ExpressionSize:
    """The size of an expression: a fixed part, and the values it refers to, counted at each use."""

    fixed: int
    values: tuple[str, ...]
    #: If all values of a request together stay below this, the expression cannot be too large.
    room: int

    def exceeds(self, values: Values, size: int) -> bool:
        """Whether the expression exceeds the item size limit with these values, whose total size is `size`."""
        return size > self.room and self.total(values) > MAX_ITEM_SIZE

    def total(self, values: Values) -> int:
        """Size of the expression with these values."""
        return self.fixed + sum(size(values[name]) for name in self.values)


def expression_size(actions: Iterable[Action], names: Names) -> ExpressionSize:
    """The size of an expression with these actions."""
    fixed, values = _UPDATE, list[str]()
    for action in actions:
        fixed += _target(resolve(action.path, names))
        if isinstance(action, Set | Add):
            fixed += _WRITE + _operand(action.value, names, values)
        else:
            fixed += _REMOVAL
    most = max(Counter(values).values(), default=1)
    return ExpressionSize(fixed, tuple(values), (MAX_ITEM_SIZE - fixed) // most)


def _target(keys: ResolvedPath) -> int:
    return _element(keys[0]) + sum(_STEP_WRITTEN + _element(key) for key in keys[1:])


def _operand(operand: Operand | Arithmetic, names: Names, values: list[str]) -> int:
    """Size of a right-hand side without its values, whose placeholders are added to `values`."""
    total = 0
    waiting: list[Operand | Arithmetic] = [operand]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Value):
            values.append(part.name)
        elif isinstance(part, Path):
            total += _PATH_READ + sum(_STEP_READ + _element(key) for key in resolve(part, names))
        elif isinstance(part, Call):
            total += _FUNCTIONS[part.name]
            waiting.extend(part.args)
        elif isinstance(part, Arithmetic):
            total += _FUNCTIONS[part.operator]
            waiting.extend((part.left, part.right))
    return total


def _element(key: str | int) -> int:
    return len(str(key)) if isinstance(key, int) else text_size(key)
