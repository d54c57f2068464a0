"""Operands of comparisons and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gateleg.model.codec.wire import wire
from gateleg.model.errors import ExpressionError, ExpressionValue
from gateleg.model.expressions.nodes import (
    Arithmetic,
    Between,
    BooleanCall,
    Comparison,
    Condition,
    Constant,
    Membership,
    Operand,
    Operator,
    Path,
    Placeholders,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from gateleg.model.codec.wire import Value

T = TypeVar("T")
#: the entity whose items are compared; Any if unknown
Of = TypeVar("Of", default=Any)


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
