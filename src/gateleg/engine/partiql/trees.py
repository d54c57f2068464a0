"""A statement as its text has it: a tree of parts, each with the place of the word that stands for it."""

from dataclasses import dataclass

from gateleg.engine.partiql.faults import Place


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Trail:
    """A path: a name, then names of members and trees of positions; None stands for a wildcard."""

    root: "Tree"
    steps: "tuple[str | Tree | None, ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class Constant:
    """A string (`S`), number (`N`), truth value (`BOOL`), `NULL` or `MISSING`; numbers are kept as they are written."""

    kind: str
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Parameter:
    """The `?` of this position, from 0."""

    position: int
    place: Place


@dataclass(frozen=True, slots=True)
class Collection:
    """A list (`[...]` or several things in parentheses) or a bag (`<<...>>`)."""

    kind: str
    members: "tuple[Tree, ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class Struct:
    """`{'name': value, ...}`."""

    members: "tuple[tuple[Tree, Tree], ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class Application:
    """A function, by its name in lower case, and its arguments; `*` and a statement count as arguments."""

    name: str
    arguments: "tuple[Tree | Statement | None, ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator in lower case (`and`, `=`, `between`, `+`, ...) and its operands."""

    operator: str
    operands: "tuple[Tree, ...]"
    place: Place


@dataclass(frozen=True, slots=True)
class TypeTest:
    """`operand IS type`."""

    operand: "Tree"
    type: str
    place: Place


Tree = Name | Trail | Constant | Parameter | Collection | Struct | Application | Operation | TypeTest


@dataclass(frozen=True, slots=True)
class Order:
    """One term of ORDER BY."""

    key: Tree
    ascending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """`SELECT columns FROM source ...`; no columns means all of them. `unsupported` is the first clause that DynamoDB does not have."""

    columns: tuple[Tree, ...]
    source: Tree
    where: Tree | None
    order: tuple[Order, ...]
    aliased: bool
    unsupported: tuple[str, Place] | None
    place: Place


@dataclass(frozen=True, slots=True)
class Insert:
    """`INSERT INTO target VALUE item`."""

    target: Tree
    item: Tree
    returning: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Assign:
    """`SET path = value`."""

    path: Tree
    value: Tree


@dataclass(frozen=True, slots=True)
class Drop:
    """`REMOVE path`."""

    path: Tree


@dataclass(frozen=True, slots=True)
class Update:
    """`UPDATE target SET ... REMOVE ... WHERE ...`, or `FROM target WHERE ... SET ...`."""

    target: Tree
    actions: tuple[Assign | Drop, ...]
    where: Tree | None
    returning: str | None
    aliased: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Delete:
    """`DELETE FROM target WHERE ...`."""

    target: Tree
    where: Tree | None
    returning: str | None
    aliased: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Bare:
    """An expression that stands alone: `EXISTS(SELECT ...)` is the only one with a meaning."""

    tree: Tree


Statement = Select | Insert | Update | Delete | Bare
