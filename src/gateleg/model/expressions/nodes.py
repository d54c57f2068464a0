"""Conditions and operands as values, and the text they compile to.

Every node is a frozen dataclass. `render` writes it with placeholders, numbered in the order of writing, so that equal expressions compile
to equal requests. `outline` is the node without its values: nodes with equal outlines render to equal texts, and the values they leave
open are given in the order in which `render` would have met them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn

from typing_extensions import TypeVar

from gateleg.model.errors import ConditionTruth, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from gateleg.model.codec.wire import Value

T_co = TypeVar("T_co", covariant=True)
#: the entity whose items a condition is about, which type checkers compare with that of a verb; Any where it is not known
E_contra = TypeVar("E_contra", contravariant=True, default=Any)
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
Path = tuple[str | int, ...]
_PLAIN = re.compile(r"[A-Za-z0-9_]+")


@lru_cache(4096)
def _is_plain(attribute: str) -> bool:
    return _PLAIN.fullmatch(attribute) is not None


@dataclass
class Placeholders:
    """Collects the names and values of all expressions of one request."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    #: for values that the model has worked out, how it did
    recipes: dict[str, Callable[[Any], Value]] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        """The placeholder of an attribute name: readable where the name allows it."""
        placeholder = f"#{attribute}" if _is_plain(attribute) else f"#_{len(self.names)}"
        while self.names.get(placeholder, attribute) != attribute:
            placeholder += "_"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: Value) -> str:
        """The placeholder of a value."""
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def path(self, path: Path) -> str:
        """A document path, such as `#logs.#entries[0]`."""
        text = ""
        for step in path:
            text += f"[{step}]" if isinstance(step, int) else ("." if text else "") + self.name(step)
        return text

    def parameters(self) -> dict[str, Any]:
        """The request members; those that are empty are left out, as DynamoDB demands."""
        parameters: dict[str, Any] = {}
        if self.names:
            parameters["ExpressionAttributeNames"] = self.names
        if self.values:
            parameters["ExpressionAttributeValues"] = self.values
        return parameters


class Operand(Generic[T_co]):
    """Something with a value in the database: a literal, a path, a size, an arithmetic expression. `T_co` is its Python type."""

    def render(self, out: Placeholders) -> str:
        """The operand's text."""
        raise NotImplementedError

    def outline(self, given: list[Value]) -> Hashable:
        """The operand without its values, which are added to `given`."""
        raise NotImplementedError

    def paths(self) -> Iterator[Path]:
        """The document paths it reads."""
        yield from ()


@dataclass(frozen=True, eq=False)
class Constant(Operand[T_co]):
    """A value, in Python and on the wire."""

    value: Any
    wire: Value

    def render(self, out: Placeholders) -> str:
        """A value placeholder."""
        return out.value(self.wire)

    def outline(self, given: list[Value]) -> Hashable:
        """Nothing but its value."""
        given.append(self.wire)
        return None


@dataclass(frozen=True, eq=False)
class Reference(Operand[T_co]):
    """The value at a path."""

    path: Path

    def render(self, out: Placeholders) -> str:
        """The path."""
        return out.path(self.path)

    def outline(self, given: list[Value]) -> Hashable:
        """The path."""
        return self.path

    def paths(self) -> Iterator[Path]:
        """Its own."""
        yield self.path


@dataclass(frozen=True, eq=False)
class Call(Operand[T_co]):
    """A function of operands: size, if_not_exists, list_append."""

    function: str
    arguments: tuple[Operand[Any], ...]

    def render(self, out: Placeholders) -> str:
        """The call."""
        return f"{self.function}({', '.join(argument.render(out) for argument in self.arguments)})"

    def outline(self, given: list[Value]) -> Hashable:
        """The function and its arguments."""
        return self.function, tuple([argument.outline(given) for argument in self.arguments])

    def paths(self) -> Iterator[Path]:
        """Those of its arguments."""
        for argument in self.arguments:
            yield from argument.paths()


@dataclass(frozen=True, eq=False)
class Arithmetic(Operand[T_co]):
    """A sum or difference, which SET may assign."""

    left: Operand[Any]
    sign: Literal["+", "-"]
    right: Operand[Any]

    def render(self, out: Placeholders) -> str:
        """Left, sign, right: DynamoDB takes one sign and no parentheses."""
        if isinstance(self.left, Arithmetic) or isinstance(self.right, Arithmetic):
            raise ExpressionError("DynamoDB adds or subtracts two operands, not more.", fix="Add up the constants first.")
        return f"{self.left.render(out)} {self.sign} {self.right.render(out)}"

    def outline(self, given: list[Value]) -> Hashable:
        """The sign and both sides."""
        return self.sign, (self.left.outline(given), self.right.outline(given))

    def paths(self) -> Iterator[Path]:
        """Those of both sides."""
        yield from self.left.paths()
        yield from self.right.paths()


class Condition(Generic[E_contra]):
    """What must hold in the database. Combine with `&`, `|` and `~`."""

    def render(self, out: Placeholders) -> str:
        """The condition's text."""
        raise NotImplementedError

    def outline(self, given: list[Value]) -> Hashable:
        """The condition without its values, which are added to `given`."""
        raise NotImplementedError

    def paths(self) -> Iterator[Path]:
        """The document paths it reads."""
        raise NotImplementedError

    def __and__(self, other: Condition[E_contra] | None) -> Condition[E_contra]:
        return self if other is None else Both("AND", (*_terms(self, "AND"), *_terms(other, "AND")))

    def __rand__(self, other: Condition[E_contra] | None) -> Condition[E_contra]:
        return self  # called for None only; the type lets a condition of a base class stand before one of its subclass

    def __or__(self, other: Condition[E_contra]) -> Condition[E_contra]:
        return Both("OR", (*_terms(self, "OR"), *_terms(other, "OR")))

    if TYPE_CHECKING:

        def __ror__(self, other: Condition[E_contra]) -> Condition[E_contra]: ...

    def __invert__(self) -> Condition[E_contra]:
        return self.condition if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        raise ConditionTruth("A condition has no truth value in Python.")

    def attributes(self) -> frozenset[str]:
        """The top-level attributes it mentions, by wire name."""
        return frozenset(str(path[0]) for path in self.paths())


def _terms(condition: Condition, word: str) -> tuple[Condition, ...]:
    return condition.terms if isinstance(condition, Both) and condition.word == word else (condition,)


def all_of(*conditions: Condition | None) -> Condition | None:
    """All of the conditions that are not None, or None when there is none."""
    result: Condition | None = None
    for condition in conditions:
        if condition is not None:
            result = condition if result is None else result & condition
    return result


@dataclass(frozen=True, eq=False)
class Both(Condition):
    """All (AND) or any (OR) of several conditions."""

    word: Literal["AND", "OR"]
    terms: tuple[Condition, ...]

    def render(self, out: Placeholders) -> str:
        """The terms with the word between them; a nested combination of the other kind in parentheses."""
        texts = [f"({term.render(out)})" if isinstance(term, Both) else term.render(out) for term in self.terms]
        return f" {self.word} ".join(texts)

    def outline(self, given: list[Value]) -> Hashable:
        """The word and the terms."""
        return self.word, tuple([term.outline(given) for term in self.terms])

    def paths(self) -> Iterator[Path]:
        """Those of the terms."""
        for term in self.terms:
            yield from term.paths()


@dataclass(frozen=True, eq=False)
class Not(Condition):
    """The opposite of a condition."""

    condition: Condition

    def render(self, out: Placeholders) -> str:
        """NOT (...)."""
        return f"NOT ({self.condition.render(out)})"

    def outline(self, given: list[Value]) -> Hashable:
        """The condition, turned around."""
        return "NOT", self.condition.outline(given)

    def paths(self) -> Iterator[Path]:
        """Those of the condition."""
        return self.condition.paths()


@dataclass(frozen=True, eq=False)
class Comparison(Condition):
    """Two operands compared."""

    left: Operand[Any]
    operator: Operator
    right: Operand[Any]

    def render(self, out: Placeholders) -> str:
        """Left, operator, right."""
        return f"{self.left.render(out)} {self.operator} {self.right.render(out)}"

    def outline(self, given: list[Value]) -> Hashable:
        """The operator and both sides."""
        return self.operator, self.left.outline(given), self.right.outline(given)

    def paths(self) -> Iterator[Path]:
        """Those of both sides."""
        yield from self.left.paths()
        yield from self.right.paths()


@dataclass(frozen=True, eq=False)
class Between(Condition):
    """An operand between two others, both included."""

    operand: Operand[Any]
    low: Operand[Any]
    high: Operand[Any]

    def render(self, out: Placeholders) -> str:
        """Operand BETWEEN low AND high."""
        return f"{self.operand.render(out)} BETWEEN {self.low.render(out)} AND {self.high.render(out)}"

    def outline(self, given: list[Value]) -> Hashable:
        """The three operands."""
        return "BETWEEN", self.operand.outline(given), self.low.outline(given), self.high.outline(given)

    def paths(self) -> Iterator[Path]:
        """Those of all three."""
        for operand in (self.operand, self.low, self.high):
            yield from operand.paths()


@dataclass(frozen=True, eq=False)
class Membership(Condition):
    """An operand that equals one of several."""

    operand: Operand[Any]
    choices: tuple[Operand[Any], ...]

    def render(self, out: Placeholders) -> str:
        """Operand IN (...)."""
        return f"{self.operand.render(out)} IN ({', '.join(choice.render(out) for choice in self.choices)})"

    def outline(self, given: list[Value]) -> Hashable:
        """The operand and its choices."""
        return "IN", self.operand.outline(given), tuple([choice.outline(given) for choice in self.choices])

    def paths(self) -> Iterator[Path]:
        """Those of all operands."""
        for operand in (self.operand, *self.choices):
            yield from operand.paths()


@dataclass(frozen=True, eq=False)
class Check(Condition):
    """A function that is true or false: attribute_exists, begins_with, contains, ..."""

    function: str
    arguments: tuple[Operand[Any], ...]

    def render(self, out: Placeholders) -> str:
        """The call."""
        return f"{self.function}({', '.join(argument.render(out) for argument in self.arguments)})"

    def outline(self, given: list[Value]) -> Hashable:
        """The function and its arguments."""
        return self.function, tuple([argument.outline(given) for argument in self.arguments])

    def paths(self) -> Iterator[Path]:
        """Those of the arguments."""
        for argument in self.arguments:
            yield from argument.paths()


def exists(attribute: str) -> Condition:
    """That the item has a top-level attribute, by wire name."""
    return Check("attribute_exists", (Reference((attribute,)),))


def missing(attribute: str) -> Condition:
    """That the item lacks a top-level attribute, by wire name."""
    return Check("attribute_not_exists", (Reference((attribute,)),))


def equals(attribute: str, value: Value) -> Condition:
    """That a top-level attribute has a wire value."""
    return Comparison(Reference((attribute,)), "=", Constant(None, value))
