"""Key conditions of a Query."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.errors import validation
from gateleg.engine.expressions.condition_rules import operands, operator_of
from gateleg.engine.expressions.functions import constant
from gateleg.engine.expressions.nodes import And, Between, Call, Compare, In, Literal, Names, Node, Not, Operand, Or, Path, Value, Values
from gateleg.engine.expressions.paths import resolve

_OPERATORS: Final = {"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


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
        return KeyCondition({name: (operator, [_value(part, values) for part in given]) for name, operator, given in self.parts})


def _value(operand: Operand, values: Values) -> dict[str, Any]:
    found = constant(operand, values)
    assert found is not None, "only values and literals are kept"
    return found


class _Refusal(Exception):
    """A well-formed condition that is not a key condition."""


def key_template(root: Node, names: Names) -> KeyTemplate:
    """The key condition that a tree describes."""
    parts: dict[str, tuple[str, tuple[Operand, ...]]] = {}
    try:
        for node in _clauses(root):
            name, operator, given = _part(node, names)
            if name in parts:
                raise _Refusal("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")
            parts[name] = (operator, given)
    except _Refusal as refusal:
        return KeyTemplate((), str(refusal))
    return KeyTemplate(tuple((name, operator, given) for name, (operator, given) in parts.items()))


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
    given = operands(node)
    operator = operator_of(node)
    if not isinstance(node, Compare) and not isinstance(given[0], Path):
        raise _Refusal(f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute as its first operand")
    place: int | None = None
    for index, operand in enumerate(given):
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
    path = given[place]
    assert isinstance(path, Path)
    name = str(resolve(path, names)[0])
    others = tuple(operand for operand in given if isinstance(operand, Value | Literal))
    if isinstance(node, Compare):
        return name, _OPERATORS[operator if place == 0 else _MIRRORED[operator]], others
    return name, "BETWEEN" if isinstance(node, Between) else "BEGINS_WITH", others
