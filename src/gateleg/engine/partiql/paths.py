"""Document paths of a statement, and the columns that a SELECT makes of them."""

from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.expressions import Item, Path
from gateleg.engine.expressions.paths import MAX_INDEX, Keys, descend
from gateleg.engine.partiql.faults import Place, Refusal
from gateleg.engine.partiql.literals import kind_of, number
from gateleg.engine.partiql.trees import Constant, Name, Trail, Tree

_COMPONENT: Final = "Unexpected path component"


@dataclass(frozen=True, slots=True)
class Column:
    """What a SELECT takes out of an item, and what it calls it."""

    name: str
    keys: Keys

    def value(self, item: Item) -> dict[str, Any] | None:
        """What the item has there."""
        return descend(item.get(str(self.keys[0])), self.keys[1:])


def keys_of(tree: Tree) -> Keys:
    """A tree that must be a document path, as its names and positions."""
    if isinstance(tree, Name):
        return (_named(tree.name),)
    if not isinstance(tree, Trail) or not isinstance(tree.root, Name):
        raise Refusal(_COMPONENT, tree.place)
    keys: list[str | int] = [_named(tree.root.name)]
    for step in tree.steps:
        if isinstance(step, str):
            keys.append(_named(step))
        elif isinstance(step, Constant) and step.kind == "N":
            keys.append(_position(step.text, step.place))
        elif isinstance(step, Constant) and step.kind == "S":
            keys.append(_named(step.text))
        else:
            raise Refusal(_COMPONENT, tree.place if step is None else step.place)
    return tuple(keys)


def path_of(tree: Tree) -> Path:
    """A tree that must be a document path, as a node of an expression."""
    return Path(keys_of(tree))


def is_path(tree: object) -> bool:
    """Whether a tree is a path."""
    return isinstance(tree, Name | Trail)


def column(tree: Tree) -> Column:
    """A column of a SELECT: it is called by its last name and the positions after that."""
    keys = keys_of(tree)
    last = max(index for index, key in enumerate(keys) if isinstance(key, str))
    positions = "".join(f"[{key}]" for key in keys[last + 1 :])
    return Column(f"{keys[last]}{positions}", keys)


def columns(trees: tuple[Tree, ...]) -> tuple[Column, ...]:
    """The columns of a SELECT, no two of which may have one name."""
    found: dict[str, Column] = {}
    for tree in trees:
        made = column(tree)
        if made.name in found:
            raise Refusal(f"Duplicate identifiers in select clause: {made.name}")
        found[made.name] = made
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement is about, the index of it if one is named, and where the table's name stands."""

    table: str
    index: str | None
    place: Place


def target(tree: Tree) -> Target:
    """What stands after FROM, INTO or UPDATE."""
    names: list[object] = [tree.name] if isinstance(tree, Name) else []
    if isinstance(tree, Trail) and isinstance(tree.root, Name):
        names = [tree.root.name, *tree.steps]
    if not names:
        raise Refusal(f"Unexpected from source: {kind_of(tree)}", tree.place)
    if "" in names:
        raise Refusal("Path component cannot be an empty string")
    if len(names) > 2:
        raise Refusal("A path may contain at most 2 components in the FROM clause")
    if not all(isinstance(name, str) for name in names):
        raise Refusal(_COMPONENT, tree.place)
    return Target(str(names[0]), str(names[1]) if len(names) > 1 else None, tree.place)


def _named(name: str) -> str:
    if not name:
        raise Refusal("Path component cannot be an empty string")
    return name


def _position(text: str, place: Place) -> int:
    canonical = number(text)
    if not canonical.lstrip("-").isdigit():
        raise Refusal(_COMPONENT, place)
    if not 0 <= int(canonical) <= MAX_INDEX:
        raise Refusal(f"List index is not within the allowable range; index: [{canonical}]", place)
    return int(canonical)
