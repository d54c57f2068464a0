"""Evaluate conditions in Python with DynamoDB's semantics: values of different types are unequal and have no order.

Operands of comparisons and sums.

Whose attributes a condition reads: one about another entity would be evaluated on attributes that happen to have the same name.
"""

from __future__ import annotations

from binascii import a2b_base64
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gateleg.model.errors import ExpressionError, ExpressionValue, ForeignAttribute
from gateleg.model.expressions.nodes import (
    Arithmetic,
    Between,
    BooleanCall,
    Both,
    Comparison,
    Condition,
    Constant,
    Membership,
    Not,
    Operand,
    Operator,
    Path,
    Placeholders,
    ValueCall,
)
from gateleg.model.wire import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from gateleg.model.wire import Item, Value

__all__ = ["check_about", "compares", "is_satisfied", "orderable"]

T = TypeVar("T")
Of = TypeVar("Of", default=Any)

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_SIZED = ("S", "SS", "NS", "BS", "L", "M")


def is_satisfied(condition: Condition, item: Item) -> bool:
    """Whether a wire item satisfies a condition, as the database would decide."""
    if isinstance(condition, Both):
        return (all if condition.word == "AND" else any)(is_satisfied(term, item) for term in condition.terms)
    if isinstance(condition, Not):
        return not is_satisfied(condition.condition, item)
    if isinstance(condition, BooleanCall):
        return _checked(condition, item)
    if isinstance(condition, Between):
        found = value_of(condition.operand, item)
        bounds = value_of(condition.low, item), value_of(condition.high, item)
        return found is not None and compares(found, "BETWEEN", *bounds)
    if isinstance(condition, Membership):
        found = value_of(condition.operand, item)
        return found is not None and any(compares(found, "=", value_of(choice, item)) for choice in condition.choices)
    assert isinstance(condition, Comparison)
    found = value_of(condition.left, item)
    # A missing value satisfies <> and no other comparison.
    return condition.operator == "<>" if found is None else compares(found, condition.operator, value_of(condition.right, item))


def compares(found: Value, operator: str, *operands: Value | None) -> bool:
    """Compare a wire value with others by an operator: =, <>, <, <=, >, >=, BETWEEN or begins_with."""
    if any(operand is None for operand in operands):
        return operator == "<>"
    mine, others = comparable(found), [comparable(operand) for operand in operands if operand is not None]
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
    found = _at(item, paths[0])
    return _size(found) if isinstance(operand, Size) else found


def _size(found: Value | None) -> Value | None:
    if found is None:
        return None
    ((tag, content),) = found.items()
    if tag == "B":
        return {"N": str(len(a2b_base64(content)))}
    return {"N": str(len(content))} if tag in _SIZED else None


def _checked(condition: BooleanCall, item: Item) -> bool:
    found = value_of(condition.arguments[0], item)
    if condition.function == "attribute_exists":
        return found is not None
    if condition.function == "attribute_not_exists":
        return found is None
    argument = value_of(condition.arguments[1], item)
    if found is None or argument is None:
        return False
    if condition.function == "attribute_type":
        return argument.get("S") in found
    return _contains(found, argument) if condition.function == "contains" else compares(found, condition.function, argument)


def _contains(found: Value, sought: Value) -> bool:
    tag, content = comparable(found)
    kind, wanted = comparable(sought)
    if tag in ("S", "B"):
        return kind == tag and wanted in content
    return tag in ("SS", "NS", "BS", "L") and (kind, wanted) in content


def _at(item: Item, path: Path) -> Value | None:
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


#: the entity whose items are compared; Any if unknown


class Comparable(Operand[T], Generic[T, Of]):
    """An operand with comparison operators, which return conditions."""

    def constant(self, value: Any) -> Operand[Any]:
        """The operand for a Python value to compare with this one."""
        raise NotImplementedError

    def _compare(self, operator: Operator, other: Any) -> Condition[Of]:
        return Comparison(self, operator, other if isinstance(other, Operand) else self.constant(other))

    def __eq__(self, other: T | Operand[T] | None) -> Condition[Of]:  # type: ignore[override]
        if other is None:
            return BooleanCall("attribute_not_exists", (self,))
        return self._compare("=", other)

    def __ne__(self, other: T | Operand[T] | None) -> Condition[Of]:  # type: ignore[override]
        if other is None:
            return BooleanCall("attribute_exists", (self,))
        return self._compare("<>", other)

    def __lt__(self, other: T | Operand[T]) -> Condition[Of]:
        return self._compare("<", other)

    def __le__(self, other: T | Operand[T]) -> Condition[Of]:
        return self._compare("<=", other)

    def __gt__(self, other: T | Operand[T]) -> Condition[Of]:
        return self._compare(">", other)

    def __ge__(self, other: T | Operand[T]) -> Condition[Of]:
        return self._compare(">=", other)

    def between(self, low: T, high: T) -> Condition[Of]:
        """A condition: between two values, both included. Raises `ExpressionValue` if `low` is greater than `high`."""
        first, last = self.constant(low), self.constant(high)
        if isinstance(first, Constant) and isinstance(last, Constant) and _is_greater(first.value, last.value):
            raise ExpressionValue(f"The range from {low!r} to {high!r} is empty.", fix="Pass the lower value first.")
        return Between(self, first, last)

    def is_in(self, choices: Iterable[T]) -> Condition[Of]:
        """A condition: equal to one of 1 to 100 values."""
        if isinstance(choices, str):
            raise ExpressionError(f"is_in takes a list of values, and was given the text {choices!r}.", fix=f"Write .is_in([{choices!r}]).")
        operands = tuple(self.constant(choice) for choice in choices)
        if not 1 <= len(operands) <= 100:
            raise ExpressionError(
                f"is_in takes 1 to 100 values, not {len(operands)}.", fix="Split the values, or skip the call if there are none."
            )
        return Membership(self, operands)

    __hash__ = object.__hash__


class Size(Comparable[int, Of], Generic[Of]):
    """The size of a text, binary, set, list or map."""

    def __init__(self, of: Operand[Any]) -> None:
        self.of = of

    def constant(self, value: Any) -> Operand[Any]:
        """A number to compare with."""
        return Constant(value, wire(value))

    def render(self, out: Placeholders) -> str:
        return f"size({self.of.render(out)})"

    def cache_key(self, values: list[Value]) -> Hashable:
        """The function and its argument, without values."""
        return "size", (self.of.cache_key(values),)

    def paths(self) -> Iterator[Path]:
        """The paths of the attribute."""
        return self.of.paths()


class Term(Operand[T], Generic[T]):
    """An operand of SET that supports + and -, such as `Job.tries.if_not_exists(0)`."""

    def __init__(self, operand: Operand[T], of: Comparable[T, Any]) -> None:
        self.operand = operand
        self._of = of

    def render(self, out: Placeholders) -> str:
        return self.operand.render(out)

    def cache_key(self, values: list[Value]) -> Hashable:
        """The operand's cache key."""
        return self.operand.cache_key(values)

    def paths(self) -> Iterator[Path]:
        return self.operand.paths()

    def __add__(self, other: T | Operand[T]) -> Operand[T]:
        return Arithmetic(self, "+", other if isinstance(other, Operand) else self._of.constant(other))

    def __sub__(self, other: T | Operand[T]) -> Operand[T]:
        return Arithmetic(self, "-", other if isinstance(other, Operand) else self._of.constant(other))


def _is_greater(one: Any, other: Any) -> bool:
    """Whether one value is greater than another; False if their type has no order."""
    try:
        return bool(one > other)
    except TypeError:
        return False


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
    elif isinstance(node, Both):
        inner = node.terms
    elif isinstance(node, Not):
        inner = (node.condition,)
    elif isinstance(node, BooleanCall | ValueCall):
        inner = node.arguments
    elif isinstance(node, Between):
        inner = (node.operand, node.low, node.high)
    elif isinstance(node, Membership):
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
