"""Conditions, operands and update actions as values, and their rendering as expression text. Attributes create them: `Job.priority >= 5`.

The classes have the names that they have in the engine's parser, where it has them: `And`, `Or`, `In`, `Path`. `render` writes a node with
placeholders, numbered in the order of writing, so that equal expressions render to equal requests. `cache_key` is the node without its
values: nodes with equal cache keys render to equal texts. It appends the values to a list, in the order in which `render` writes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn

from typing_extensions import TypeVar

from gateleg.model.errors import ConditionTruth, EmptyUpdate, ExpressionError, ExpressionValue, OverlappingPaths
from gateleg.model.wire import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from gateleg.model.fields import States
    from gateleg.model.wire import Value

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
#: The entity whose items a condition is about or an action changes, for type checkers; Any if unknown.
E_contra = TypeVar("E_contra", contravariant=True, default=Any)
#: The entity whose attributes are compared; Any if unknown.
Of = TypeVar("Of", default=Any)

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
DocumentPath = tuple[str | int, ...]
_PLAIN = re.compile(r"[A-Za-z0-9_]+")


@lru_cache(4096)
def _is_plain(attribute: str) -> bool:
    return _PLAIN.fullmatch(attribute) is not None


@dataclass
class Placeholders:
    """Collects the names and values of all expressions in one request."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    #: for values that the model added, the function that computes them; None for one that is always the same
    recipes: dict[str, Callable[[Any], Value] | None] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        """Add an attribute name and return its placeholder, which contains the name if its characters allow it."""
        placeholder = f"#{attribute}" if _is_plain(attribute) else f"#_{len(self.names)}"
        while self.names.get(placeholder, attribute) != attribute:
            placeholder += "_"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: Value) -> str:
        """Add a value and return its placeholder."""
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def path(self, path: DocumentPath) -> str:
        """The text of a document path, such as `#logs.#entries[0]`."""
        text = ""
        for step in path:
            text += f"[{step}]" if isinstance(step, int) else ("." if text else "") + self.name(step)
        return text

    def parameters(self) -> dict[str, Any]:
        """The request parameters; empty ones are omitted, as DynamoDB requires."""
        parameters: dict[str, Any] = {}
        if self.names:
            parameters["ExpressionAttributeNames"] = self.names
        if self.values:
            parameters["ExpressionAttributeValues"] = self.values
        return parameters


class Operand(Generic[T_co]):
    """A value in an expression: a literal, a path, a size or an arithmetic expression. `T_co` is its Python type."""

    def render(self, out: Placeholders) -> str:
        raise NotImplementedError

    def cache_key(self, values: list[Value]) -> Hashable:
        """The operand without its values, as part of the key of a cached plan; appends the values to `values`."""
        raise NotImplementedError

    def paths(self) -> Iterator[DocumentPath]:
        """The document paths it reads."""
        yield from ()


@dataclass(frozen=True, eq=False)
class Constant(Operand[T_co]):
    """A constant, as a Python value and as a wire value."""

    value: Any
    wire: Value

    def render(self, out: Placeholders) -> str:
        return out.value(self.wire)

    def cache_key(self, values: list[Value]) -> Hashable:
        """None: a constant consists of its value only."""
        values.append(self.wire)
        return None


@dataclass(frozen=True, eq=False)
class Path(Operand[T_co]):
    """The value at a path."""

    path: DocumentPath

    def render(self, out: Placeholders) -> str:
        return out.path(self.path)

    def cache_key(self, values: list[Value]) -> Hashable:
        return self.path

    def paths(self) -> Iterator[DocumentPath]:
        yield self.path


@dataclass(frozen=True, eq=False)
class _FunctionCall:
    """A call of one of DynamoDB's functions."""

    function: str
    arguments: tuple[Operand[Any], ...]

    def render(self, out: Placeholders) -> str:
        return f"{self.function}({', '.join(argument.render(out) for argument in self.arguments)})"

    def cache_key(self, values: list[Value]) -> Hashable:
        """The function and its arguments."""
        return self.function, tuple([argument.cache_key(values) for argument in self.arguments])

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of its arguments."""
        for argument in self.arguments:
            yield from argument.paths()


class ValueCall(_FunctionCall, Operand[T_co]):
    """A function call whose result is a value: size, if_not_exists or list_append."""


@dataclass(frozen=True, eq=False)
class Arithmetic(Operand[T_co]):
    """A sum or difference, as an operand of SET."""

    left: Operand[Any]
    sign: Literal["+", "-"]
    right: Operand[Any]

    def render(self, out: Placeholders) -> str:
        """Left, sign, right; raise `ExpressionError` for more than two operands."""
        if isinstance(self.left, Arithmetic) or isinstance(self.right, Arithmetic):
            raise ExpressionError("DynamoDB can only add or subtract two operands.", fix="Combine the constants in Python first.")
        return f"{self.left.render(out)} {self.sign} {self.right.render(out)}"

    def cache_key(self, values: list[Value]) -> Hashable:
        """The sign and both sides."""
        return self.sign, (self.left.cache_key(values), self.right.cache_key(values))

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of both sides."""
        yield from self.left.paths()
        yield from self.right.paths()


class Condition(Generic[E_contra]):
    """A condition that the database evaluates on an item, such as `Job.priority >= 5`. Combine conditions with `&`, `|` and `~`."""

    def render(self, out: Placeholders) -> str:
        raise NotImplementedError

    def cache_key(self, values: list[Value]) -> Hashable:
        """The condition without its values, as part of the key of a cached plan; appends the values to `values`."""
        raise NotImplementedError

    def paths(self) -> Iterator[DocumentPath]:
        """The document paths it reads."""
        raise NotImplementedError

    def __and__(self, other: Condition[E_contra] | None) -> Condition[E_contra]:
        return self if other is None else And.of(self, other)

    def __rand__(self, other: Condition[E_contra] | None) -> Condition[E_contra]:
        return self  # only called for None; the annotation also allows a condition of a base class on the left of one of a subclass

    def __or__(self, other: Condition[E_contra]) -> Condition[E_contra]:
        return Or.of(self, other)

    if TYPE_CHECKING:

        def __ror__(self, other: Condition[E_contra]) -> Condition[E_contra]: ...

    def __invert__(self) -> Condition[E_contra]:
        return self.condition if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        raise ConditionTruth("A condition has no truth value in Python.")

    def attributes(self) -> frozenset[str]:
        """The wire names of the top-level attributes in the condition."""
        return frozenset(str(path[0]) for path in self.paths())


def all_of(*conditions: Condition | None) -> Condition | None:
    """Combine the conditions that are not None with AND; None if there are none."""
    result: Condition | None = None
    for condition in conditions:
        if condition is not None:
            result = condition if result is None else result & condition
    return result


@dataclass(frozen=True, eq=False)
class _Junction(Condition):
    """Several conditions joined by one word."""

    word: ClassVar[str]
    terms: tuple[Condition, ...]

    @classmethod
    def of(cls, left: Condition, right: Condition) -> Condition:
        """Both conditions, joined; one that is already joined by the same word adds its terms."""
        return cls((*cls._terms(left), *cls._terms(right)))

    @classmethod
    def _terms(cls, condition: Condition) -> tuple[Condition, ...]:
        return condition.terms if isinstance(condition, cls) else (condition,)

    def render(self, out: Placeholders) -> str:
        """The terms joined by the word, with nested junctions in parentheses."""
        texts = [f"({term.render(out)})" if isinstance(term, _Junction) else term.render(out) for term in self.terms]
        return f" {self.word} ".join(texts)

    def cache_key(self, values: list[Value]) -> Hashable:
        """The word and the terms."""
        return self.word, tuple([term.cache_key(values) for term in self.terms])

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of the terms."""
        for term in self.terms:
            yield from term.paths()


class And(_Junction):
    """A condition that holds if all its terms hold."""

    word = "AND"


class Or(_Junction):
    """A condition that holds if one of its terms holds."""

    word = "OR"


@dataclass(frozen=True, eq=False)
class Not(Condition):
    """The negation of a condition."""

    condition: Condition

    def render(self, out: Placeholders) -> str:
        return f"NOT ({self.condition.render(out)})"

    def cache_key(self, values: list[Value]) -> Hashable:
        """NOT and the condition."""
        return "NOT", self.condition.cache_key(values)

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of the condition."""
        return self.condition.paths()


@dataclass(frozen=True, eq=False)
class Comparison(Condition):
    """A comparison of two operands."""

    left: Operand[Any]
    operator: Operator
    right: Operand[Any]

    def render(self, out: Placeholders) -> str:
        return f"{self.left.render(out)} {self.operator} {self.right.render(out)}"

    def cache_key(self, values: list[Value]) -> Hashable:
        """The operator and both sides."""
        return self.operator, self.left.cache_key(values), self.right.cache_key(values)

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of both sides."""
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

    def cache_key(self, values: list[Value]) -> Hashable:
        return "BETWEEN", self.operand.cache_key(values), self.low.cache_key(values), self.high.cache_key(values)

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of the three operands."""
        for operand in (self.operand, self.low, self.high):
            yield from operand.paths()


@dataclass(frozen=True, eq=False)
class In(Condition):
    """An operand is equal to one of several others."""

    operand: Operand[Any]
    choices: tuple[Operand[Any], ...]

    def render(self, out: Placeholders) -> str:
        return f"{self.operand.render(out)} IN ({', '.join(choice.render(out) for choice in self.choices)})"

    def cache_key(self, values: list[Value]) -> Hashable:
        """The operand and its choices."""
        return "IN", self.operand.cache_key(values), tuple([choice.cache_key(values) for choice in self.choices])

    def paths(self) -> Iterator[DocumentPath]:
        """The paths of all operands."""
        for operand in (self.operand, *self.choices):
            yield from operand.paths()


class BooleanCall(_FunctionCall, Condition):
    """A function call whose result is a boolean: attribute_exists, begins_with, contains, ..."""


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
        return In(self, operands)

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

    def paths(self) -> Iterator[DocumentPath]:
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

    def paths(self) -> Iterator[DocumentPath]:
        return self.operand.paths()

    def __add__(self, other: T | Operand[T]) -> Operand[T]:
        return Arithmetic(self, "+", other if isinstance(other, Operand) else self._of.constant(other))

    def __sub__(self, other: T | Operand[T]) -> Operand[T]:
        return Arithmetic(self, "-", other if isinstance(other, Operand) else self._of.constant(other))


def _is_greater(value: Any, other: Any) -> bool:
    """Whether one value is greater than another; False if their type has no order."""
    try:
        return bool(value > other)
    except TypeError:
        return False


def exists(attribute: str) -> Condition:
    """A condition: the item has a top-level attribute, given its wire name."""
    return BooleanCall("attribute_exists", (Path((attribute,)),))


def missing(attribute: str) -> Condition:
    """A condition: the item lacks a top-level attribute, given its wire name."""
    return BooleanCall("attribute_not_exists", (Path((attribute,)),))


def equals(attribute: str, value: Value) -> Condition:
    """A condition: a top-level attribute, given its wire name, has a wire value."""
    return Comparison(Path((attribute,)), "=", Constant(None, value))


@dataclass(frozen=True, eq=False)
class UpdateAction(Generic[E_contra]):
    """One clause of an update, such as the result of `Job.priority.set(5)`. Pass it to `patch`, `upsert` and similar calls of a store."""

    path: DocumentPath
    #: the class and Python name of the attribute that created the action; None and empty for actions that the model adds
    owner: type[Any] | None = None
    attribute: str = ""
    #: the attribute itself, if its bounds or those of the list around it must be checked
    attr: Any = None

    def cache_key(self, values: list[Value]) -> Hashable:
        """The action without its values, as part of the key of a cached plan; appends the values to `values`."""
        return type(self), self.path, self.owner


@dataclass(frozen=True, eq=False)
class SetAction(UpdateAction):
    """SET path = operand."""

    operand: Operand[Any] = None  # type: ignore[assignment]
    #: whether a state was set with `.force`, without checking transitions
    forced: bool = False

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.forced, self.operand.cache_key(values)


class RemoveAction(UpdateAction):
    """REMOVE path."""


@dataclass(frozen=True, eq=False)
class AddAction(UpdateAction):
    """ADD path value: add to a number or set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class DeleteAction(UpdateAction):
    """DELETE path value: delete elements from a set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class Transition(SetAction):
    """SET path = state, allowed only from one of the state's predecessors."""

    target: States = None  # type: ignore[assignment]
    sources: tuple[Constant[Any], ...] = ()

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the state, which determines the predecessors."""
        return type(self), self.path, self.owner, self.target, self.operand.cache_key(values)


def render_actions(actions: Iterable[UpdateAction], out: Placeholders) -> str:
    """The update expression of the actions. Raises `EmptyUpdate` without actions, and `OverlappingPaths` if two write the same path."""
    sections: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
    seen: list[DocumentPath] = []
    for action in actions:
        _check_overlap(action, seen)
        seen.append(action.path)
        path = out.path(action.path)
        if isinstance(action, SetAction):
            sections["SET"].append(f"{path} = {action.operand.render(out)}")
        elif isinstance(action, RemoveAction):
            sections["REMOVE"].append(path)
        elif isinstance(action, AddAction):
            sections["ADD"].append(f"{path} {action.operand.render(out)}")
        elif isinstance(action, DeleteAction):
            sections["DELETE"].append(f"{path} {action.operand.render(out)}")
    if not seen:
        raise EmptyUpdate("The update changes nothing.")
    return " ".join(f"{word} {', '.join(texts)}" for word, texts in sections.items() if texts)


def _check_overlap(action: UpdateAction, seen: list[DocumentPath]) -> None:
    for other in seen:
        length = min(len(other), len(action.path))
        if other[:length] == action.path[:length]:
            raise OverlappingPaths(f"The update writes {'.'.join(map(str, action.path))} twice.")
