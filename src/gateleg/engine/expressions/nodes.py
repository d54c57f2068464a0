"""The parts of an expression, as values.

The grammars build them from text; other languages (PartiQL, the legacy parameters) may build them directly. A path from text may
hold an `Alias` where the text has a `#name`; every compiler takes the mapping that resolves them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Item = dict[str, Any]
#: Values by placeholder (`:v`).
Values = Mapping[str, Any]
#: Attribute names by placeholder (`#n`).
Names = Mapping[str, str]
Test = Callable[[Item, Values], bool]
#: Reads a value of an item or of the request, or None.
Getter = Callable[[Item, Values], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Alias:
    """An unresolved `#name` in a path."""

    name: str


Part = str | int | Alias


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: an attribute name, then names of map members and list indexes."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A `:value` placeholder."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A canonical attribute value, known when the expression is built."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A function call: an operand (`size`, `if_not_exists`, `list_append`) or a condition (the others)."""

    name: str
    args: "tuple[Operand, ...]"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The sum (`+`) or difference (`-`) of two operands in SET."""

    operator: str
    left: "Operand"
    right: "Operand"


Operand = Path | Value | Literal | Call


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison; the operator is one of `= <> < <= > >=`."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """`operand BETWEEN low AND high`, inclusive."""

    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (choices)`."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of conditions."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of conditions."""

    parts: "tuple[Node, ...]"


Node = Compare | Between | In | Call | Not | And | Or


@dataclass(frozen=True, slots=True)
class Set:
    """`SET path = value`."""

    path: Path
    value: Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class Remove:
    """`REMOVE path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Add:
    """`ADD path value`: adds to a number, or members to a set."""

    path: Path
    value: Value | Literal


@dataclass(frozen=True, slots=True)
class Delete:
    """`DELETE path value`: removes members from a set."""

    path: Path
    value: Value | Literal


Action = Set | Remove | Add | Delete
