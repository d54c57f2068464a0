"""Operands that conditions compare, and that sums are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gateleg.model.codec.wire import wire
from gateleg.model.errors import ExpressionError, ExpressionValue
from gateleg.model.expressions.nodes import (
    Arithmetic,
    Between,
    Check,
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
#: the entity whose items are compared; Any where it is not known
Of = TypeVar("Of", default=Any)


class Comparable(Operand[T], Generic[T, Of]):
    """An operand that conditions compare."""

    def constant(self, value: Any) -> Operand[Any]:
        """The operand for a Python value that is compared with this one."""
        raise NotImplementedError

    def _compare(self, operator: Operator, other: Any) -> Condition[Of]:
        return Comparison(self, operator, other if isinstance(other, Operand) else self.constant(other))

    def __eq__(self, other: T | Operand[T] | None) -> Condition[Of]:  # type: ignore[override]
        if other is None:
            return Check("attribute_not_exists", (self,))
        return self._compare("=", other)

    def __ne__(self, other: T | Operand[T] | None) -> Condition[Of]:  # type: ignore[override]
        if other is None:
            return Check("attribute_exists", (self,))
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
        """Between two values, both included. The service refuses a range that ends before it begins, so it is refused here."""
        first, last = self.constant(low), self.constant(high)
        if isinstance(first, Constant) and isinstance(last, Constant) and _after(first.value, last.value):
            raise ExpressionValue(f"The range from {low!r} to {high!r} is empty.", fix="Give the lower value first.")
        return Between(self, first, last)

    def is_in(self, choices: Iterable[T]) -> Condition[Of]:
        """One of up to 100 values."""
        if isinstance(choices, str):
            raise ExpressionError(f"is_in takes a list of values, and was given the text {choices!r}.", fix=f"Write .is_in([{choices!r}]).")
        operands = tuple(self.constant(choice) for choice in choices)
        if not 1 <= len(operands) <= 100:
            raise ExpressionError(
                f"IN takes 1 to 100 values, not {len(operands)}.", fix="Split the question, or check for an empty choice."
            )
        return Membership(self, operands)

    __hash__ = object.__hash__


class Size(Comparable[int, Of], Generic[Of]):
    """The size of a text, binary, set, list or map."""

    def __init__(self, of: Operand[Any]) -> None:
        self.of = of

    def constant(self, value: Any) -> Operand[Any]:
        """Sizes are numbers."""
        return Constant(value, wire(value))

    def render(self, out: Placeholders) -> str:
        """size(path)."""
        return f"size({self.of.render(out)})"

    def outline(self, given: list[Value]) -> Hashable:
        """The size of something."""
        return "size", (self.of.outline(given),)

    def paths(self) -> Iterator[Path]:
        """The same as of the attribute."""
        return self.of.paths()


class Term(Operand[T], Generic[T]):
    """An operand of SET that numbers can be added to, such as `Job.tries.if_not_exists(0)`."""

    def __init__(self, operand: Operand[T], of: Comparable[T, Any]) -> None:
        self.operand = operand
        self._of = of

    def render(self, out: Placeholders) -> str:
        """The operand's text."""
        return self.operand.render(out)

    def outline(self, given: list[Value]) -> Hashable:
        """The operand's outline."""
        return self.operand.outline(given)

    def paths(self) -> Iterator[Path]:
        """The operand's paths."""
        return self.operand.paths()

    def __add__(self, other: T | Operand[T]) -> Operand[T]:
        return Arithmetic(self, "+", other if isinstance(other, Operand) else self._of.constant(other))

    def __sub__(self, other: T | Operand[T]) -> Operand[T]:
        return Arithmetic(self, "-", other if isinstance(other, Operand) else self._of.constant(other))


def _after(one: Any, other: Any) -> bool:
    """Whether one value follows another, where their type has an order."""
    try:
        return bool(one > other)
    except TypeError:
        return False
