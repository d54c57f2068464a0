"""Conditions and operands as values, and their rendering as expression text.

Every node is a frozen dataclass. `render` writes it with placeholders, numbered in the order of writing, so that equal expressions render
to equal requests. `cache_key` is the node without its values: nodes with equal cache keys render to equal texts. It appends the values to
a list, in the order in which `render` writes them.

Update actions as values, created by `attr.set(...)`, `.add(...)`, `.remove()`, `.to(...)` and others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn

from typing_extensions import TypeVar

from gateleg.model.errors import ConditionTruth, EmptyUpdate, ExpressionError, OverlappingPaths

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from gateleg.model.fields import States
    from gateleg.model.wire import Value

T_co = TypeVar("T_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True, default=Any)

#: the entity whose items a condition is about, for type checkers; Any if unknown
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
Path = tuple[str | int, ...]
_PLAIN = re.compile(r"[A-Za-z0-9_]+")


@lru_cache(4096)
def _is_plain(attribute: str) -> bool:
    return _PLAIN.fullmatch(attribute) is not None


@dataclass
class Placeholders:
    """Collects the names and values of all expressions in one request."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    #: for values that the model computed, the function that computes them
    recipes: dict[str, Callable[[Any], Value]] = field(default_factory=dict)

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

    def path(self, path: Path) -> str:
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

    def paths(self) -> Iterator[Path]:
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
class Reference(Operand[T_co]):
    """The value at a path."""

    path: Path

    def render(self, out: Placeholders) -> str:
        return out.path(self.path)

    def cache_key(self, values: list[Value]) -> Hashable:
        return self.path

    def paths(self) -> Iterator[Path]:
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

    def paths(self) -> Iterator[Path]:
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

    def paths(self) -> Iterator[Path]:
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

    def paths(self) -> Iterator[Path]:
        """The document paths it reads."""
        raise NotImplementedError

    def __and__(self, other: Condition[E_contra] | None) -> Condition[E_contra]:
        return self if other is None else Both("AND", (*_terms(self, "AND"), *_terms(other, "AND")))

    def __rand__(self, other: Condition[E_contra] | None) -> Condition[E_contra]:
        return self  # only called for None; the annotation also allows a condition of a base class on the left of one of a subclass

    def __or__(self, other: Condition[E_contra]) -> Condition[E_contra]:
        return Both("OR", (*_terms(self, "OR"), *_terms(other, "OR")))

    if TYPE_CHECKING:

        def __ror__(self, other: Condition[E_contra]) -> Condition[E_contra]: ...

    def __invert__(self) -> Condition[E_contra]:
        return self.condition if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        raise ConditionTruth("A condition has no truth value in Python.")

    def attributes(self) -> frozenset[str]:
        """The wire names of the top-level attributes in the condition."""
        return frozenset(str(path[0]) for path in self.paths())


def _terms(condition: Condition, word: str) -> tuple[Condition, ...]:
    return condition.terms if isinstance(condition, Both) and condition.word == word else (condition,)


def all_of(*conditions: Condition | None) -> Condition | None:
    """Combine the conditions that are not None with AND; None if there are none."""
    result: Condition | None = None
    for condition in conditions:
        if condition is not None:
            result = condition if result is None else result & condition
    return result


@dataclass(frozen=True, eq=False)
class Both(Condition):
    """Several conditions joined by AND or OR."""

    word: Literal["AND", "OR"]
    terms: tuple[Condition, ...]

    def render(self, out: Placeholders) -> str:
        """The terms joined by AND or OR, with nested combinations in parentheses."""
        texts = [f"({term.render(out)})" if isinstance(term, Both) else term.render(out) for term in self.terms]
        return f" {self.word} ".join(texts)

    def cache_key(self, values: list[Value]) -> Hashable:
        """The word and the terms."""
        return self.word, tuple([term.cache_key(values) for term in self.terms])

    def paths(self) -> Iterator[Path]:
        """The paths of the terms."""
        for term in self.terms:
            yield from term.paths()


@dataclass(frozen=True, eq=False)
class Not(Condition):
    """The negation of a condition."""

    condition: Condition

    def render(self, out: Placeholders) -> str:
        return f"NOT ({self.condition.render(out)})"

    def cache_key(self, values: list[Value]) -> Hashable:
        """NOT and the condition."""
        return "NOT", self.condition.cache_key(values)

    def paths(self) -> Iterator[Path]:
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

    def paths(self) -> Iterator[Path]:
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

    def paths(self) -> Iterator[Path]:
        """The paths of the three operands."""
        for operand in (self.operand, self.low, self.high):
            yield from operand.paths()


@dataclass(frozen=True, eq=False)
class Membership(Condition):
    """An operand is equal to one of several others."""

    operand: Operand[Any]
    choices: tuple[Operand[Any], ...]

    def render(self, out: Placeholders) -> str:
        return f"{self.operand.render(out)} IN ({', '.join(choice.render(out) for choice in self.choices)})"

    def cache_key(self, values: list[Value]) -> Hashable:
        """The operand and its choices."""
        return "IN", self.operand.cache_key(values), tuple([choice.cache_key(values) for choice in self.choices])

    def paths(self) -> Iterator[Path]:
        """The paths of all operands."""
        for operand in (self.operand, *self.choices):
            yield from operand.paths()


class BooleanCall(_FunctionCall, Condition):
    """A function call whose result is a boolean: attribute_exists, begins_with, contains, ..."""


def exists(attribute: str) -> Condition:
    """A condition: the item has a top-level attribute, given its wire name."""
    return BooleanCall("attribute_exists", (Reference((attribute,)),))


def missing(attribute: str) -> Condition:
    """A condition: the item lacks a top-level attribute, given its wire name."""
    return BooleanCall("attribute_not_exists", (Reference((attribute,)),))


def equals(attribute: str, value: Value) -> Condition:
    """A condition: a top-level attribute, given its wire name, has a wire value."""
    return Comparison(Reference((attribute,)), "=", Constant(None, value))


#: the entity whose items the action changes, for type checkers; Any if unknown


@dataclass(frozen=True, eq=False)
class Action(Generic[E_contra]):
    """One clause of an update, such as the result of `Job.priority.set(5)`. Pass it to `patch`, `upsert` and similar calls of a store."""

    path: Path
    #: the class and Python name of the attribute that created the action; None and empty for actions that the model adds
    owner: type[Any] | None = None
    attribute: str = ""
    #: the attribute itself, if its bounds or those of the list around it must be checked
    attr: Any = None

    def cache_key(self, values: list[Value]) -> Hashable:
        """The action without its values, as part of the key of a cached plan; appends the values to `values`."""
        return type(self), self.path, self.owner


@dataclass(frozen=True, eq=False)
class SetAction(Action):
    """SET path = operand."""

    operand: Operand[Any] = None  # type: ignore[assignment]
    #: whether a state was set with `.force`, without checking transitions
    forced: bool = False

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.forced, self.operand.cache_key(values)


class RemoveAction(Action):
    """REMOVE path."""


@dataclass(frozen=True, eq=False)
class AddAction(Action):
    """ADD path value: add to a number or set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class DeleteAction(Action):
    """DELETE path value: delete elements from a set."""

    operand: Operand[Any] = None  # type: ignore[assignment]

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the operand, without values."""
        return type(self), self.path, self.owner, self.operand.cache_key(values)


@dataclass(frozen=True, eq=False)
class Transition(SetAction):
    """SET path = state, allowed only from one of the state's predecessors."""

    target: States = None  # type: ignore[assignment]
    sources: tuple[Operand[Any], ...] = ()

    def cache_key(self, values: list[Value]) -> Hashable:
        """The path and the number of predecessors, which become values of a condition."""
        return super().cache_key(values), len(self.sources)


def render_actions(actions: Iterable[Action], out: Placeholders) -> str:
    """The update expression of the actions. Raises `EmptyUpdate` without actions, and `OverlappingPaths` if two write the same path."""
    sections: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
    seen: list[Path] = []
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


def _check_overlap(action: Action, seen: list[Path]) -> None:
    for other in seen:
        length = min(len(other), len(action.path))
        if other[:length] == action.path[:length]:
            raise OverlappingPaths(f"The update writes {'.'.join(map(str, action.path))} twice.")
