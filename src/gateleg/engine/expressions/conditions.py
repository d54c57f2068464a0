"""Conditions, compiled to Python functions of an item and the request's values, and what they are made of.

First the conditions, then the comparison of canonical values (values of different types are never equal and have no order), the functions
of expressions with the number and types of their operands, and document paths: resolved, spelled, checked and read. Updates, projections
and the rules of expressions use these too.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, Final

from gateleg.engine.expressions.nodes import (
    Alias,
    And,
    Between,
    Call,
    Compare,
    Getter,
    In,
    InvalidExpression,
    Item,
    Literal,
    Names,
    Node,
    Not,
    Operand,
    Or,
    Path,
    Test,
    Value,
    Values,
    is_reserved,
)
from gateleg.engine.values import as_decimal, decode_binary

Wire = dict[str, Any]
Relation = Callable[[Wire, Wire], bool]

#: A path with resolved aliases.
ResolvedPath = tuple[str | int, ...]
NO_NAMES: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class CompiledCondition:
    """A ConditionExpression or FilterExpression, or a legacy form of one (Expected, QueryFilter, ScanFilter)."""

    #: takes an item ({} if it does not exist) and the request's values
    test: Test
    #: attributes in use
    attributes: frozenset[str]
    #: attributes with document paths into them (`a.b`, `a[0]`)
    nested: frozenset[str] = frozenset()


def condition(node: Node, names: Names = NO_NAMES) -> CompiledCondition:
    """Compile a condition from its tree."""
    paths = list(paths_in(node, names))
    return CompiledCondition(compile_condition(node, names), root_attributes(paths), nested_attributes(paths))


def paths_in(node: Node, names: Names) -> "list[ResolvedPath]":
    """All resolved paths of a condition."""
    paths: list[ResolvedPath] = []
    waiting: list[Any] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Path):
            paths.append(resolve(part, names))
        elif isinstance(part, And | Or):
            waiting.extend(part.parts)
        elif isinstance(part, Not):
            waiting.append(part.part)
        elif isinstance(part, Compare):
            waiting.extend((part.left, part.right))
        elif isinstance(part, Between):
            waiting.extend((part.operand, part.low, part.high))
        elif isinstance(part, In):
            waiting.extend((part.operand, *part.choices))
        elif isinstance(part, Call):
            waiting.extend(part.args)
    return paths


def compile_condition(node: Node, names: Names = NO_NAMES) -> Test:
    """A function that tests an item."""
    if isinstance(node, And):
        return _all([compile_condition(part, names) for part in node.parts])
    if isinstance(node, Or):
        return _any([compile_condition(part, names) for part in node.parts])
    if isinstance(node, Not):
        return _not(node, names)
    if isinstance(node, Compare):
        return _compare(node, names)
    if isinstance(node, Between):
        return _between(*(compile_operand(part, names) for part in (node.operand, node.low, node.high)))
    if isinstance(node, In):
        return _in(compile_operand(node.operand, names), [compile_operand(choice, names) for choice in node.choices])
    return _FUNCTIONS[node.name](node, names)


def compile_operand(operand: Operand, names: Names = NO_NAMES) -> Getter:
    """A function that returns an operand's value, or None."""
    if isinstance(operand, Path):
        return getter(resolve(operand, names))
    if isinstance(operand, Value):
        name = operand.name
        return lambda item, values: values[name]
    if isinstance(operand, Literal):
        value = operand.value
        return lambda item, values: value
    inner = compile_operand(operand.args[0], names)

    def measure(item: Item, values: Values) -> dict[str, Any] | None:
        value = inner(item, values)
        return None if value is None else size(value)

    return measure


def _all(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item, values: first(item, values) and second(item, values)

    def test(item: Item, values: Values) -> bool:
        for part in tests:  # noqa: SIM110
            if not part(item, values):
                return False
        return True

    return test


def _any(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests
        return lambda item, values: first(item, values) or second(item, values)

    def test(item: Item, values: Values) -> bool:
        for part in tests:  # noqa: SIM110
            if part(item, values):
                return True
        return False

    return test


def _not(node: Not, names: Names) -> Test:
    """Counts consecutive NOTs, so that three hundred of them cost one call."""
    odd = True
    part = node.part
    while isinstance(part, Not):
        odd = not odd
        part = part.part
    inner = compile_condition(part, names)
    return (lambda item, values: not inner(item, values)) if odd else inner


def _compare(node: Compare, names: Names) -> Test:
    left = compile_operand(node.left, names)
    right = compile_operand(node.right, names)
    if node.operator == "<>":
        return _differs(left, right)
    if node.operator == "=" and isinstance(node.left, Path) and isinstance(node.right, Value):
        keys = resolve(node.left, names)
        if len(keys) == 1:
            return _attribute_equals(str(keys[0]), node.right.name)
    return _related(RELATIONS[node.operator], left, right)


def _related(relation: Relation, left: Getter, right: Getter) -> Test:
    """A relation between two values, which a missing one does not have."""

    def test(item: Item, values: Values) -> bool:
        value = left(item, values)
        if value is None:
            return False
        other = right(item, values)
        return other is not None and relation(value, other)

    return test


def _attribute_equals(name: str, placeholder: str) -> Test:
    equal = are_equal

    def test(item: Item, values: Values) -> bool:
        value = item.get(name)
        return value is not None and equal(value, values[placeholder])

    return test


def _differs(left: Getter, right: Getter) -> Test:
    """`<>` is the only comparison that a missing value satisfies."""

    def test(item: Item, values: Values) -> bool:
        value = left(item, values)
        other = right(item, values)
        return value is None or other is None or not are_equal(value, other)

    return test


def _between(operand: Getter, low: Getter, high: Getter) -> Test:
    def test(item: Item, values: Values) -> bool:
        value, least, most = operand(item, values), low(item, values), high(item, values)
        if value is None or least is None or most is None:
            return False
        return at_least(value, least) and at_most(value, most)

    return test


def _in(operand: Getter, choices: list[Getter]) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        for choice in choices:
            candidate = choice(item, values)
            if candidate is not None and are_equal(value, candidate):
                return True
        return False

    return test


def _exists(node: Call, names: Names) -> Test:
    operand = node.args[0]
    keys = resolve(operand, names) if isinstance(operand, Path) else ()
    if len(keys) == 1:
        name = keys[0]
        return lambda item, values: name in item
    read = compile_operand(operand, names)
    return lambda item, values: read(item, values) is not None


def _missing(node: Call, names: Names) -> Test:
    operand = node.args[0]
    keys = resolve(operand, names) if isinstance(operand, Path) else ()
    if len(keys) == 1:
        name = keys[0]
        return lambda item, values: name not in item
    read = compile_operand(operand, names)
    return lambda item, values: read(item, values) is None


def _has_type(node: Call, names: Names) -> Test:
    read, read_type = (compile_operand(arg, names) for arg in node.args)

    def test(item: Item, values: Values) -> bool:
        value, named = read(item, values), read_type(item, values)
        return value is not None and named is not None and named.get("S") in value

    return test


def _relates(relation: Relation) -> Callable[[Call, Names], Test]:
    return lambda node, names: _related(relation, *(compile_operand(arg, names) for arg in node.args))


#: Longer binaries are not cached, because images and the like would fill the memory.
_MAX_CACHED_CHARACTERS: Final = 1024
_cached_decode = lru_cache(maxsize=4096)(decode_binary)


def decoded(text: str) -> bytes:
    """Decode base64, with a cache for short values."""
    return _cached_decode(text) if len(text) <= _MAX_CACHED_CHARACTERS else decode_binary(text)


def type_of(value: Wire) -> str:
    """The type of an attribute value: S, N, B, BOOL, NULL, SS, NS, BS, L or M."""
    return next(iter(value))


def are_equal(left: Wire, right: Wire) -> bool:
    """Whether two values are equal; the order of set members does not matter."""
    if left == right:
        return True
    deep = _DEEP.get(next(iter(left)))
    return deep is not None and deep(left, right)


def unequal(left: Wire, right: Wire) -> bool:
    """The negation of `are_equal`."""
    return not are_equal(left, right)


def _same_binary(left: Wire, right: Wire) -> bool:
    return "B" in right and decoded(left["B"]) == decoded(right["B"])


def _same_members(tag: str) -> Relation:
    return lambda left, right: tag in right and set(left[tag]) == set(right[tag])


def _same_binaries(left: Wire, right: Wire) -> bool:
    return "BS" in right and {decoded(member) for member in left["BS"]} == {decoded(member) for member in right["BS"]}


def _same_list(left: Wire, right: Wire) -> bool:
    mine, other = left["L"], right.get("L")
    return other is not None and len(mine) == len(other) and all(map(are_equal, mine, other))


def _same_map(left: Wire, right: Wire) -> bool:
    mine, other = left["M"], right.get("M")
    return other is not None and mine.keys() == other.keys() and all(are_equal(mine[name], other[name]) for name in mine)


#: Types that cannot be compared by their JSON alone.
_DEEP: Final[dict[str, Relation]] = {
    "B": _same_binary,
    "SS": _same_members("SS"),
    "NS": _same_members("NS"),
    "BS": _same_binaries,
    "L": _same_list,
    "M": _same_map,
}


def _ordered(relation: Callable[[Any, Any], bool]) -> Relation:
    def test(left: Wire, right: Wire) -> bool:
        mine = left.get("S")
        if mine is not None:
            other = right.get("S")
            return other is not None and relation(mine, other)
        mine = left.get("N")
        if mine is not None:
            other = right.get("N")
            return other is not None and relation(as_decimal(mine), as_decimal(other))
        mine = left.get("B")
        if mine is not None:
            other = right.get("B")
            return other is not None and relation(decoded(mine), decoded(other))
        return False

    return test


less = _ordered(lt)
at_most = _ordered(le)
greater = _ordered(gt)
at_least = _ordered(ge)
RELATIONS: Final[dict[str, Relation]] = {"=": are_equal, "<>": unequal, "<": less, "<=": at_most, ">": greater, ">=": at_least}


def begins_with(value: Wire, prefix: Wire) -> bool:
    """Whether a string or binary value begins with another."""
    text = value.get("S")
    if text is not None:
        start = prefix.get("S")
        return start is not None and text.startswith(start)
    if "B" in value and "B" in prefix:
        return decoded(value["B"]).startswith(decoded(prefix["B"]))
    return False


def contains(value: Wire, sought: Wire) -> bool:
    """Whether a string or binary value contains another, or a set or list has it as a member."""
    (tag,) = value
    if tag == "L":
        return any(are_equal(member, sought) for member in value["L"])
    if tag == "B":
        return "B" in sought and decoded(sought["B"]) in decoded(value["B"])
    if tag == "BS":
        return "B" in sought and decoded(sought["B"]) in {decoded(member) for member in value["BS"]}
    if tag in ("S", "SS"):
        return "S" in sought and sought["S"] in value[tag]
    return tag == "NS" and "N" in sought and sought["N"] in value["NS"]


def size(value: Wire) -> Wire | None:
    """The result of `size`: length of a string, bytes of a binary value, number of members of the others; None for N, BOOL and NULL."""
    ((tag, content),) = value.items()
    if tag in ("SS", "NS", "BS", "L", "M", "S"):
        return {"N": str(len(content))}
    if tag == "B":
        return {"N": str(len(decoded(content)))}
    return None


_FUNCTIONS: Final[dict[str, Callable[[Call, Names], Test]]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _missing,
    "attribute_type": _has_type,
    "begins_with": _relates(begins_with),
    "contains": _relates(contains),
}

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
    content: dict[str, Any] | None = values.get(value.name)
    if content is None:
        raise InvalidExpression(f"An expression attribute value used in expression is not defined; attribute value: {value.name}")
    return content


def constant_type(operand: Operand, values: Values) -> str | None:
    """The type of an operand that does not depend on an item, or None."""
    if isinstance(operand, Call):
        return _RESULTS.get(operand.name)
    value = constant(operand, values)
    return None if value is None else next(iter(value))


def check_type(operator: str, operand: Operand, allowed: frozenset[str], values: Values) -> None:
    """Refuse an operand of a type that the operator or function does not accept."""
    tag = constant_type(operand, values)
    if tag is not None and tag not in allowed:
        raise wrong_type(operator, tag)


def wrong_type(operator: str, tag: str) -> InvalidExpression:
    """The error for an operand of a wrong type."""
    return InvalidExpression(f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}")


def require_path(call: Call) -> None:
    """Refuse a first operand that is not a path."""
    if not isinstance(call.args[0], Path):
        raise InvalidExpression(f"Operator or function requires a document path; operator or function: {call.name}")


MAX_DEPTH: Final = 32
MAX_INDEX: Final = 2**31 - 1


def check_spelling(paths: Iterable[Path]) -> None:
    """Refuse reserved words, list indexes out of range, and too many levels."""
    for path in paths:
        for part in path.parts:
            if isinstance(part, str):
                if is_reserved(part):
                    raise InvalidExpression(f"Attribute name is a reserved keyword; reserved keyword: {part}")
            elif isinstance(part, int) and part > MAX_INDEX:
                raise InvalidExpression(f"List index is not within the allowable range; index: [{part}]")
        if len(path.parts) > MAX_DEPTH:
            raise InvalidExpression(f"The document path has too many nesting levels; nesting levels: {len(path.parts)}")


def aliases(path: Path) -> list[str]:
    """The `#names` of a path."""
    return [part.name for part in path.parts if isinstance(part, Alias)]


def resolve(path: Path, names: Names) -> ResolvedPath:
    """Replace the aliases of a path."""
    return tuple(_named(part.name, names) if isinstance(part, Alias) else part for part in path.parts)


def _named(alias: str, names: Names) -> str:
    name = names.get(alias)
    if name is None:
        raise InvalidExpression(f"An expression attribute name used in the document path is not defined; attribute name: {alias}")
    return name


def spell(keys: ResolvedPath) -> str:
    """A path as in DynamoDB's messages: `[a, [0], b]`."""
    return f"[{', '.join(f'[{key}]' if isinstance(key, int) else key for key in keys)}]"


@dataclass(slots=True)
class _PathNode:
    """A node in the tree of paths: which path ends here, and which was the first to continue by name and by index."""

    end: int | None = None
    first: dict[type, int] = field(default_factory=dict)
    below: "dict[str | int, _PathNode]" = field(default_factory=dict)


def check_disjoint(paths: list[ResolvedPath]) -> None:
    """Refuse paths that overlap, or that cannot exist in one document. Overlaps are reported before conflicts."""
    root = _PathNode()
    conflict: InvalidExpression | None = None
    for place, keys in enumerate(paths):
        branch = root
        rival: int | None = None
        for key in keys:
            if branch.end is not None:
                raise _meeting("overlap", paths[branch.end], keys)
            other = branch.first.get(str if isinstance(key, int) else int)
            if other is not None:
                rival = other if rival is None else min(rival, other)
            branch.first.setdefault(type(key), place)
            branch = branch.below.setdefault(key, _PathNode())
        if branch.end is not None or branch.first:
            raise _meeting("overlap", paths[min(branch.first.values()) if branch.end is None else branch.end], keys)
        branch.end = place
        if rival is not None and conflict is None:
            conflict = _meeting("conflict", paths[rival], keys)
    if conflict is not None:
        raise conflict


def _meeting(relation: str, earlier: ResolvedPath, later: ResolvedPath) -> InvalidExpression:
    return InvalidExpression(
        f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
        f"path one: {spell(earlier)}, path two: {spell(later)}"
    )


def root_attributes(paths: Iterable[ResolvedPath]) -> frozenset[str]:
    """The attributes that paths start with."""
    return frozenset(str(keys[0]) for keys in paths)


def nested_attributes(paths: Iterable[ResolvedPath]) -> frozenset[str]:
    """The attributes that paths reach into."""
    return frozenset(str(keys[0]) for keys in paths if len(keys) > 1)


def getter(keys: ResolvedPath) -> Getter:
    """A function that reads a path from an item."""
    head, tail = str(keys[0]), keys[1:]
    if not tail:
        return lambda item, values: item.get(head)

    def read(item: Item, values: Values) -> dict[str, Any] | None:
        return descend(item.get(head), tail)

    return read


def descend(value: dict[str, Any] | None, keys: ResolvedPath) -> dict[str, Any] | None:
    """The value at a path inside another value, or None."""
    for key in keys:
        if value is None:
            return None
        if type(key) is int:
            members = value.get("L")
            value = members[key] if members is not None and key < len(members) else None
        else:
            members = value.get("M")
            value = members.get(key) if members is not None else None
    return value
