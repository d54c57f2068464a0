"""Evaluate conditions in Python with DynamoDB's semantics: values of different types are unequal and have no order.

A condition on attributes of another entity is refused, because it would be evaluated on attributes that happen to have the same name.
"""

from __future__ import annotations

from binascii import a2b_base64
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from gateleg.model.errors import ExpressionError, ForeignAttribute
from gateleg.model.expressions.nodes import (
    And,
    Arithmetic,
    Between,
    BooleanCall,
    Comparison,
    Condition,
    Constant,
    DocumentPath,
    In,
    Not,
    Operand,
    Or,
    Size,
    Term,
    ValueCall,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.model.wire import Item, Value

__all__ = ["check_about", "compares", "is_satisfied", "orderable"]

T = TypeVar("T")
Of = TypeVar("Of", default=Any)

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_SIZED = ("S", "SS", "NS", "BS", "L", "M")


def is_satisfied(condition: Condition, item: Item) -> bool:
    """Whether a wire item satisfies a condition, as the database would decide."""
    if isinstance(condition, And):
        return all(is_satisfied(term, item) for term in condition.terms)
    if isinstance(condition, Or):
        return any(is_satisfied(term, item) for term in condition.terms)
    if isinstance(condition, Not):
        return not is_satisfied(condition.condition, item)
    if isinstance(condition, BooleanCall):
        return _checked(condition, item)
    if isinstance(condition, Between):
        value = value_of(condition.operand, item)
        bounds = value_of(condition.low, item), value_of(condition.high, item)
        return value is not None and compares(value, "BETWEEN", *bounds)
    if isinstance(condition, In):
        value = value_of(condition.operand, item)
        return value is not None and any(compares(value, "=", value_of(choice, item)) for choice in condition.choices)
    assert isinstance(condition, Comparison)
    value = value_of(condition.left, item)
    # A missing value satisfies <> and no other comparison.
    return condition.operator == "<>" if value is None else compares(value, condition.operator, value_of(condition.right, item))


def compares(value: Value, operator: str, *operands: Value | None) -> bool:
    """Compare a wire value with others by an operator: =, <>, <, <=, >, >=, BETWEEN or begins_with."""
    if any(operand is None for operand in operands):
        return operator == "<>"
    mine, others = comparable(value), [comparable(operand) for operand in operands if operand is not None]
    if operator in ("=", "<>"):
        return (mine == others[0]) is (operator == "=")
    if mine[0] not in ("S", "N", "B") or any(other[0] != mine[0] for other in others):
        return False
    if operator == "begins_with":
        return mine[0] != "N" and bool(mine[1].startswith(others[0][1]))
    if operator == "BETWEEN":
        return bool(others[0][1] <= mine[1] <= others[1][1])
    return _ORDERED[operator](mine[1], others[0][1])


def comparable(value: Value) -> tuple[str, Any]:
    """A wire value's type and content in a form that is equal for two values if and only if DynamoDB treats them as equal."""
    ((tag, content),) = value.items()
    if tag == "N":
        return tag, Decimal(content)
    if tag == "B":
        return tag, a2b_base64(content)
    if tag in ("SS", "NS", "BS"):
        return tag, frozenset(comparable({tag[0]: member}) for member in content)
    if tag == "L":
        return tag, tuple(comparable(member) for member in content)
    if tag == "M":
        return tag, frozenset((name, comparable(member)) for name, member in content.items())
    return tag, content


def orderable(value: Value) -> Any:
    """The sort value of a key attribute's wire value."""
    return comparable(value)[1]


def value_of(operand: Operand[Any], item: Item) -> Value | None:
    """The wire value of an operand in an item: a constant, the value at a path, or a size."""
    if isinstance(operand, Constant):
        return operand.wire
    paths = list(operand.paths())
    if len(paths) != 1:
        raise ExpressionError(f"{operand!r} cannot be compared here.", fix="Compare an attribute, the size of an attribute, or a value.")
    value = _at(item, paths[0])
    return _size(value) if isinstance(operand, Size) else value


def _size(value: Value | None) -> Value | None:
    if value is None:
        return None
    ((tag, content),) = value.items()
    if tag == "B":
        return {"N": str(len(a2b_base64(content)))}
    return {"N": str(len(content))} if tag in _SIZED else None


def _checked(condition: BooleanCall, item: Item) -> bool:
    value = value_of(condition.arguments[0], item)
    if condition.function == "attribute_exists":
        return value is not None
    if condition.function == "attribute_not_exists":
        return value is None
    argument = value_of(condition.arguments[1], item)
    if value is None or argument is None:
        return False
    if condition.function == "attribute_type":
        return argument.get("S") in value
    return _contains(value, argument) if condition.function == "contains" else compares(value, condition.function, argument)


def _contains(value: Value, sought: Value) -> bool:
    tag, content = comparable(value)
    kind, member = comparable(sought)
    if tag in ("S", "B"):
        return kind == tag and member in content
    return tag in ("SS", "NS", "BS", "L") and (kind, member) in content


def _at(item: Item, path: DocumentPath) -> Value | None:
    """The wire value at a path."""
    value: Value | None = {"M": item}
    for step in path:
        if value is None:
            return None
        if isinstance(step, int):
            elements = value.get("L", [])
            value = elements[step] if step < len(elements) else None
        else:
            value = value.get("M", {}).get(step)
    return value


def check_about(condition: Any, entity: type[Any], option: str = "condition=") -> None:
    """Raise `ForeignAttribute` unless the argument is a condition on attributes of the entity."""
    if type(condition) is Comparison and type(condition.right) is Constant and getattr(condition.left, "owner", None) is entity:
        return
    if not isinstance(condition, Condition):
        raise ForeignAttribute(
            f"{option} takes a condition, and was given {condition!r}.",
            fix=f"Compare attributes: {entity.__name__}.attribute == value. Combine comparisons with & and |.",
        )
    for node in _parts(condition):
        owner = getattr(node, "owner", entity)
        if owner is not entity and not issubclass(entity, owner):
            raise ForeignAttribute(
                f"{node!r} is not an attribute of {entity.__name__}.", fix=f"Compare attributes of {entity.__name__} itself."
            )


def _parts(node: Any) -> Iterator[Any]:
    """The operands of an expression that are not made of others."""
    if isinstance(node, Comparison | Arithmetic):
        inner: tuple[Any, ...] = (node.left, node.right)
    elif isinstance(node, And | Or):
        inner = node.terms
    elif isinstance(node, Not):
        inner = (node.condition,)
    elif isinstance(node, BooleanCall | ValueCall):
        inner = node.arguments
    elif isinstance(node, Between):
        inner = (node.operand, node.low, node.high)
    elif isinstance(node, In):
        inner = (node.operand,)
    elif isinstance(node, Size):
        inner = (node.of,)
    elif isinstance(node, Term):
        inner = (node.operand,)
    else:
        yield node
        return
    for part in inner:
        yield from _parts(part)
