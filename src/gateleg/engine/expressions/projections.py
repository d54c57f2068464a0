"""Projections: which parts of an item an answer holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateleg.engine.expressions.nodes import Item, Path
from gateleg.engine.expressions.paths import Keys, heads, nested_heads
from gateleg.engine.expressions.tokens import END, SYMBOL, Cursor

#: Paths as a tree: names or positions, and what is wanted below them; None where all of it is wanted.
Tree = dict[Any, "Tree | None"]


def parse_projection(text: str) -> tuple[Path, ...]:
    """The paths of a ProjectionExpression; raises `Fault` at a syntax error."""
    cursor = Cursor(text)
    paths = [cursor.path()]
    while True:
        token = cursor.take()
        if token.kind == END:
            return tuple(paths)
        if token.kind != SYMBOL or token.text != ",":
            raise cursor.unexpected(token)
        paths.append(cursor.path())


@dataclass(frozen=True, slots=True)
class Projection:
    """A ProjectionExpression or AttributesToGet."""

    #: Attributes that it takes or looks into.
    attributes: frozenset[str]
    #: Those of them that it looks into (`a.b`, `a[0]`).
    nested: frozenset[str]
    #: The attributes in the order of the request, each with what is wanted of it.
    tree: Tree

    def apply(self, item: Item) -> Item:
        """The wanted parts that the item has; maps and lists on the way to them are kept, list members close up."""
        if not self.nested:
            return {name: item[name] for name in self.tree if name in item}
        return _members(item, self.tree)


def projection(paths: Iterable[Keys]) -> Projection:
    """The projection on paths, of which none may hold another."""
    paths = list(paths)
    tree: Tree = {}
    for keys in paths:
        branch = tree
        for key in keys[:-1]:
            below = branch.setdefault(key, {})
            assert below is not None, "a path must not go through the end of another"
            branch = below
        branch[keys[-1]] = None
    return Projection(heads(paths), nested_heads(paths), tree)


def _members(members: dict[str, Any], tree: Tree) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, below in tree.items():
        value = members.get(name)
        part = value if value is None or below is None else _part(value, below)
        if part is not None:
            found[name] = part
    return found


def _part(value: dict[str, Any], tree: Tree) -> dict[str, Any] | None:
    """What a tree wants of a map or list; None where there is nothing of it."""
    if type(next(iter(tree))) is str:
        members = _members(value["M"], tree) if "M" in value else None
        return {"M": members} if members else None
    items = value.get("L")
    if items is None:
        return None
    found = []
    for index in sorted(tree):
        below = tree[index]
        if index < len(items):
            part = items[index] if below is None else _part(items[index], below)
            if part is not None:
                found.append(part)
    return {"L": found} if found else None
