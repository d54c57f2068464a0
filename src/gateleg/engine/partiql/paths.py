"""The document paths of a statement, and the columns of a SELECT."""

from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.expressions import Item, Path
from gateleg.engine.expressions.paths import MAX_INDEX, ResolvedPath, descend
from gateleg.engine.partiql.errors import StatementError, TextRange
from gateleg.engine.partiql.literals import kind_of, number
from gateleg.engine.partiql.trees import Constant, DocumentPath, Name, Tree

_COMPONENT: Final = "Unexpected path component"


@dataclass(frozen=True, slots=True)
class SelectedColumn:
    """A column of a SELECT: its path and its name in the result."""

    name: str
    keys: ResolvedPath

    def value(self, item: Item) -> dict[str, Any] | None:
        """The item's value at the path."""
        return descend(item.get(str(self.keys[0])), self.keys[1:])


def keys_of(tree: Tree) -> ResolvedPath:
    """The names and indexes of a tree that must be a document path."""
    if isinstance(tree, Name):
        return (_named(tree.name),)
    if not isinstance(tree, DocumentPath) or not isinstance(tree.root, Name):
        raise StatementError(_COMPONENT, tree.text_range)
    keys: list[str | int] = [_named(tree.root.name)]
    for step in tree.steps:
        if isinstance(step, str):
            keys.append(_named(step))
        elif isinstance(step, Constant) and step.kind == "N":
            keys.append(_position(step.text, step.text_range))
        elif isinstance(step, Constant) and step.kind == "S":
            keys.append(_named(step.text))
        else:
            raise StatementError(_COMPONENT, tree.text_range if step is None else step.text_range)
    return tuple(keys)


def path_of(tree: Tree) -> Path:
    """The path expression of a tree that must be a document path."""
    return Path(keys_of(tree))


def is_path(tree: object) -> bool:
    """Whether a tree is a path."""
    return isinstance(tree, Name | DocumentPath)


def column(tree: Tree) -> SelectedColumn:
    """A column of a SELECT, named after its last name and the indexes that follow it."""
    keys = keys_of(tree)
    last = max(index for index, key in enumerate(keys) if isinstance(key, str))
    positions = "".join(f"[{key}]" for key in keys[last + 1 :])
    return SelectedColumn(f"{keys[last]}{positions}", keys)


def columns(trees: tuple[Tree, ...]) -> tuple[SelectedColumn, ...]:
    """The columns of a SELECT, whose names must be unique."""
    found: dict[str, SelectedColumn] = {}
    for tree in trees:
        made = column(tree)
        if made.name in found:
            raise StatementError(f"Duplicate identifiers in select clause: {made.name}")
        found[made.name] = made
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Target:
    """The table of a statement, its index if one is named, and the position of the table's name."""

    table: str
    index: str | None
    text_range: TextRange


def target(tree: Tree) -> Target:
    """The target after FROM, INTO or UPDATE."""
    names: list[object] = [tree.name] if isinstance(tree, Name) else []
    if isinstance(tree, DocumentPath) and isinstance(tree.root, Name):
        names = [tree.root.name, *tree.steps]
    if not names:
        raise StatementError(f"Unexpected from source: {kind_of(tree)}", tree.text_range)
    if "" in names:
        raise StatementError("Path component cannot be an empty string")
    if len(names) > 2:
        raise StatementError("A path may contain at most 2 components in the FROM clause")
    if not all(isinstance(name, str) for name in names):
        raise StatementError(_COMPONENT, tree.text_range)
    return Target(str(names[0]), str(names[1]) if len(names) > 1 else None, tree.text_range)


def _named(name: str) -> str:
    if not name:
        raise StatementError("Path component cannot be an empty string")
    return name


def _position(text: str, text_range: TextRange) -> int:
    canonical = number(text)
    if not canonical.lstrip("-").isdigit():
        raise StatementError(_COMPONENT, text_range)
    if not 0 <= int(canonical) <= MAX_INDEX:
        raise StatementError(f"List index is not within the allowable range; index: [{canonical}]", text_range)
    return int(canonical)
