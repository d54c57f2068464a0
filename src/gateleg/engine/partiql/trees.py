"""The syntax tree of a statement; each node has the text range of its token."""

from dataclasses import dataclass

from gateleg.engine.partiql.errors import TextRange


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier."""

    name: str
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class DocumentPath:
    """A path: a name, then member names and index expressions; None is a wildcard."""

    root: "Tree"
    steps: "tuple[str | Tree | None, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Constant:
    """A string (`S`), number (`N`), boolean (`BOOL`), `NULL` or `MISSING`; numbers are kept as written."""

    kind: str
    text: str
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Parameter:
    """The `?` at this position, from 0."""

    position: int
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class CollectionLiteral:
    """A list (`[...]`, or several items in parentheses) or a bag (`<<...>>`)."""

    kind: str
    members: "tuple[Tree, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Struct:
    """`{'name': value, ...}`."""

    members: "tuple[tuple[Tree, Tree], ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call, with the name in lower case; `*` and a SELECT may be arguments."""

    name: str
    arguments: "tuple[Tree | Statement | None, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class OperatorExpression:
    """An operator in lower case (`and`, `=`, `between`, `+`, ...) and its operands."""

    operator: str
    operands: "tuple[Tree, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class TypeTest:
    """`operand IS type`."""

    operand: "Tree"
    type: str
    text_range: TextRange


Tree = Name | DocumentPath | Constant | Parameter | CollectionLiteral | Struct | FunctionCall | OperatorExpression | TypeTest


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """One term of ORDER BY."""

    key: Tree
    ascending: bool


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """`SELECT columns FROM source ...`; no columns means `*`. `unsupported` is the first clause that DynamoDB does not support."""

    columns: tuple[Tree, ...]
    source: Tree
    where: Tree | None
    order: tuple[OrderTerm, ...]
    aliased: bool
    unsupported: tuple[str, TextRange] | None
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """`INSERT INTO target VALUE item`."""

    target: Tree
    item: Tree
    returning: str | None
    text_range: TextRange


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
class UpdateStatement:
    """`UPDATE target SET ... REMOVE ... WHERE ...`, or `FROM target WHERE ... SET ...`."""

    target: Tree
    actions: tuple[Assign | Drop, ...]
    where: Tree | None
    returning: str | None
    aliased: bool
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """`DELETE FROM target WHERE ...`."""

    target: Tree
    where: Tree | None
    returning: str | None
    aliased: bool
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class ExpressionStatement:
    """An expression as a statement; `EXISTS(SELECT ...)` is the only valid one."""

    tree: Tree


Statement = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement | ExpressionStatement
