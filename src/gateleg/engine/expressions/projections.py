"""Projections: the parts of an item that a response contains."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateleg.engine.expressions.nodes import Item, Path
from gateleg.engine.expressions.paths import ResolvedPath, nested_attributes, root_attributes
from gateleg.engine.expressions.tokens import END, SYMBOL, TokenCursor

#: Paths as a tree of names and indexes; None where everything below is included.
Tree = dict[Any, "Tree | None"]


def parse_projection(text: str) -> tuple[Path, ...]:
    """Parse a ProjectionExpression; raises `InvalidExpression` for a syntax error."""
    cursor = TokenCursor(text)
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

    #: attributes in use
    attributes: frozenset[str]
    #: attributes with document paths into them (`a.b`, `a[0]`)
    nested: frozenset[str]
    #: the attributes in the order of the request, with the requested parts of each
    tree: Tree

    def apply(self, item: Item) -> Item:
        """The requested parts that the item has; enclosing maps and lists are kept, and list members move up."""
        if not self.nested:
            return {name: item[name] for name in self.tree if name in item}
        return _members(item, self.tree)


def projection(paths: Iterable[ResolvedPath]) -> Projection:
    """A projection of paths, which must not overlap."""
    paths = list(paths)
    tree: Tree = {}
    for keys in paths:
        branch = tree
        for key in keys[:-1]:
            below = branch.setdefault(key, {})
            assert below is not None, "a path must not go through the end of another"
            branch = below
        branch[keys[-1]] = None
    return Projection(root_attributes(paths), nested_attributes(paths), tree)


def _members(members: dict[str, Any], tree: Tree) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, below in tree.items():
        value = members.get(name)
        part = value if value is None or below is None else _part(value, below)
        if part is not None:
            found[name] = part
    return found


def _part(value: dict[str, Any], tree: Tree) -> dict[str, Any] | None:
    """The requested parts of a map or list; None if it has none of them."""
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
