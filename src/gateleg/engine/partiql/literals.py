"""Literals of a statement as attribute values."""

from typing import Any, Final

from gateleg.engine import numbers
from gateleg.engine.errors import EngineError
from gateleg.engine.partiql.errors import StatementError
from gateleg.engine.partiql.trees import (
    CollectionLiteral,
    Constant,
    DocumentPath,
    FunctionCall,
    Name,
    OperatorExpression,
    Parameter,
    Struct,
    Tree,
    TypeTest,
)
from gateleg.engine.values import MAX_NESTING

_OVERFLOW: Final = "Number overflow. Attempting to store a number with magnitude larger than supported range"
_UNDERFLOW: Final = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
_MIXED: Final = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"

#: DynamoDB's names for the parts of a statement.
_KINDS: Final = {Name: "Id", DocumentPath: "Path", Parameter: "Parameter", OperatorExpression: "NAry", TypeTest: "IsType", Constant: "Lit"}


def literal(tree: Tree, path: str = "root", depth: int = 0) -> dict[str, Any]:
    """The attribute value of a tree; `path` locates it within the whole literal."""
    if isinstance(tree, Struct):
        members: dict[str, Any] = {}
        for name, value in named_members(tree):
            members[name] = literal(value, f"{path}.{name}", depth + 1)
        _check_depth(depth + 1, path)
        return {"M": members}
    if isinstance(tree, CollectionLiteral) and tree.kind == "list":
        listed = [literal(member, f"{path}[{i}]", depth + 1) for i, member in enumerate(tree.members)]
        _check_depth(depth + 1, path)
        return {"L": listed}
    if isinstance(tree, Constant):
        _check_depth(depth, path)
        return _constant(tree, path)
    if isinstance(tree, CollectionLiteral) and tree.kind == "bag":
        _check_depth(depth, path)
        return _bag(tree, path)
    raise unsupported(tree, path)


def unsupported(tree: Tree, path: str = "root") -> StatementError:
    """The error for a part that is not a value."""
    return StatementError(f"Unsupported data type: {kind_of(tree)} under key {path}", tree.text_range)


def kind_of(tree: Tree) -> str:
    """DynamoDB's name for a part of a statement; functions have their own names."""
    if isinstance(tree, FunctionCall):
        return tree.name
    if isinstance(tree, CollectionLiteral | Struct):
        return "Struct" if isinstance(tree, Struct) else tree.kind.capitalize()
    return _KINDS[type(tree)]


def named_members(tree: Struct) -> list[tuple[str, Tree]]:
    """The members of a struct, whose names must be strings and unique."""
    found: dict[str, Tree] = {}
    for name, value in tree.members:
        if not isinstance(name, Constant) or name.kind != "S":
            raise StatementError(f"Unsupported data type: {kind_of(name)} as the name of a member", name.text_range)
        if name.text in found:
            raise StatementError(f"Duplicate keys in tuple. Key: {name.text}")
        found[name.text] = value
    return list(found.items())


def number(text: str, path: str = "root") -> str:
    """The canonical form of a number literal."""
    mantissa, _, exponent = text.lower().partition("e")
    if not mantissa.strip("-0."):
        return "0"
    if len(exponent) > 8:
        raise StatementError(f"{_UNDERFLOW if '-' in exponent else _OVERFLOW} under {path}")
    try:
        return numbers.canonical(text)
    except EngineError as error:
        raise StatementError(f"{error.message} under {path}") from None


def _constant(tree: Constant, path: str) -> dict[str, Any]:
    if tree.kind == "N":
        return {"N": number(tree.text, path)}
    if tree.kind == "S":
        return {"S": tree.text}
    if tree.kind == "BOOL":
        return {"BOOL": tree.text == "true"}
    if tree.kind == "NULL":
        return {"NULL": True}
    raise StatementError(f"Unsupported data type: Missing under key {path}", tree.text_range)


def _check_depth(depth: int, path: str) -> None:
    """Refuse nesting beyond the limit of an item; DynamoDB finds the innermost value first."""
    if depth > MAX_NESTING:
        raise StatementError(f"Nesting Levels have exceeded supported limits under {path}")


def _bag(tree: CollectionLiteral, path: str) -> dict[str, Any]:
    if not tree.members:
        raise StatementError("Empty bags are not supported")
    texts: list[str] = []
    kinds: set[str] = set()
    for member in tree.members:
        if isinstance(member, Parameter):
            raise unsupported(member, path)
        if not isinstance(member, Constant) or member.kind not in ("S", "N"):
            raise StatementError(_MIXED)
        texts.append(member.text)
        kinds.add(member.kind)
    if len(kinds) > 1:
        raise StatementError(_MIXED)
    if kinds == {"S"}:
        if len(set(texts)) < len(texts):
            raise StatementError(f"One or more parameter values were invalid: Input collection [{', '.join(texts)}] contains duplicates.")
        return {"SS": sorted(texts)}
    clean = [number(text, path) for text in texts]
    if len(set(clean)) < len(clean):
        raise StatementError(
            f"One or more parameter values were invalid: Input collection [{', '.join(texts)}] contains duplicates! under {path}"
        )
    return {"NS": sorted(clean, key=numbers.as_decimal)}
