"""Conditions, compiled to Python functions of an item and the request's values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.expressions import compare
from gateleg.engine.expressions.nodes import (
    And,
    Between,
    Call,
    Compare,
    Getter,
    In,
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
)
from gateleg.engine.expressions.paths import ResolvedPath, getter, nested_attributes, resolve, root_attributes

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
    found = list(paths_in(node, names))
    return CompiledCondition(compile_condition(node, names), root_attributes(found), nested_attributes(found))


def paths_in(node: Node, names: Names) -> "list[ResolvedPath]":
    """All resolved paths of a condition."""
    found: list[ResolvedPath] = []
    waiting: list[Any] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Path):
            found.append(resolve(part, names))
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
    return found


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
        found = inner(item, values)
        return None if found is None else compare.size(found)

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
    relation = compare.RELATIONS[node.operator]

    def test(item: Item, values: Values) -> bool:
        one = left(item, values)
        if one is None:
            return False
        two = right(item, values)
        return two is not None and relation(one, two)

    return test


def _attribute_equals(name: str, placeholder: str) -> Test:
    equal = compare.equal

    def test(item: Item, values: Values) -> bool:
        found = item.get(name)
        return found is not None and equal(found, values[placeholder])

    return test


def _differs(left: Getter, right: Getter) -> Test:
    """`<>` is the only comparison that a missing value satisfies."""

    def test(item: Item, values: Values) -> bool:
        one = left(item, values)
        two = right(item, values)
        return one is None or two is None or not compare.equal(one, two)

    return test


def _between(operand: Getter, low: Getter, high: Getter) -> Test:
    def test(item: Item, values: Values) -> bool:
        value, least, most = operand(item, values), low(item, values), high(item, values)
        if value is None or least is None or most is None:
            return False
        return compare.at_least(value, least) and compare.at_most(value, most)

    return test


def _in(operand: Getter, choices: list[Getter]) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        for choice in choices:
            found = choice(item, values)
            if found is not None and compare.equal(value, found):
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
    read, wanted = (compile_operand(arg, names) for arg in node.args)

    def test(item: Item, values: Values) -> bool:
        found, named = read(item, values), wanted(item, values)
        return found is not None and named is not None and named.get("S") in found

    return test


def _relates(relation: compare.Relation) -> Callable[[Call, Names], Test]:
    def build(node: Call, names: Names) -> Test:
        left, right = (compile_operand(arg, names) for arg in node.args)

        def test(item: Item, values: Values) -> bool:
            one = left(item, values)
            if one is None:
                return False
            two = right(item, values)
            return two is not None and relation(one, two)

        return test

    return build


_FUNCTIONS: Final[dict[str, Callable[[Call, Names], Test]]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _missing,
    "attribute_type": _has_type,
    "begins_with": _relates(compare.begins_with),
    "contains": _relates(compare.contains),
}
