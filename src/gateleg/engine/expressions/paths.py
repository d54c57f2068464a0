"""Document paths: resolving, formatting, checking and reading them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from gateleg.engine.expressions.errors import InvalidExpression
from gateleg.engine.expressions.nodes import Alias, Getter, Item, Names, Path, Values
from gateleg.engine.expressions.reserved import is_reserved

MAX_DEPTH: Final = 32
MAX_INDEX: Final = 2**31 - 1

#: A path with resolved aliases.
ResolvedPath = tuple[str | int, ...]


def check_spelling(paths: Iterable[Path]) -> None:
    """Refuse reserved words, list indexes out of range, and too many levels."""
    for path in paths:
        for part in path.parts:
            if isinstance(part, str):
                if is_reserved(part):
                    raise InvalidExpression(f"Attribute name is a reserved keyword; reserved keyword: {part}")
            elif isinstance(part, int) and part > MAX_INDEX:
                raise InvalidExpression(f"List index is not within the allowable range; index: [{part}]")
        if len(path.parts) > MAX_DEPTH:
            raise InvalidExpression(f"The document path has too many nesting levels; nesting levels: {len(path.parts)}")


def aliases(path: Path) -> list[str]:
    """The `#names` of a path."""
    return [part.name for part in path.parts if isinstance(part, Alias)]


def resolve(path: Path, names: Names) -> ResolvedPath:
    """Replace the aliases of a path."""
    return tuple(_named(part.name, names) if isinstance(part, Alias) else part for part in path.parts)


def _named(alias: str, names: Names) -> str:
    name = names.get(alias)
    if name is None:
        raise InvalidExpression(f"An expression attribute name used in the document path is not defined; attribute name: {alias}")
    return name


def spell(keys: ResolvedPath) -> str:
    """A path as in DynamoDB's messages: `[a, [0], b]`."""
    return f"[{', '.join(f'[{key}]' if isinstance(key, int) else key for key in keys)}]"


@dataclass(slots=True)
class _PathNode:
    """A node in the tree of paths: which path ends here, and which was the first to continue by name and by index."""

    end: int | None = None
    first: dict[type, int] = field(default_factory=dict)
    below: "dict[str | int, _PathNode]" = field(default_factory=dict)


def check_disjoint(paths: list[ResolvedPath]) -> None:
    """Refuse paths that overlap, or that cannot exist in one document. Overlaps are reported before conflicts."""
    root = _PathNode()
    conflict: InvalidExpression | None = None
    for place, keys in enumerate(paths):
        branch = root
        rival: int | None = None
        for key in keys:
            if branch.end is not None:
                raise _meeting("overlap", paths[branch.end], keys)
            other = branch.first.get(str if isinstance(key, int) else int)
            if other is not None:
                rival = other if rival is None else min(rival, other)
            branch.first.setdefault(type(key), place)
            branch = branch.below.setdefault(key, _PathNode())
        if branch.end is not None or branch.first:
            raise _meeting("overlap", paths[min(branch.first.values()) if branch.end is None else branch.end], keys)
        branch.end = place
        if rival is not None and conflict is None:
            conflict = _meeting("conflict", paths[rival], keys)
    if conflict is not None:
        raise conflict


def _meeting(relation: str, earlier: ResolvedPath, later: ResolvedPath) -> InvalidExpression:
    return InvalidExpression(
        f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
        f"path one: {spell(earlier)}, path two: {spell(later)}"
    )


def root_attributes(paths: Iterable[ResolvedPath]) -> frozenset[str]:
    """The attributes that paths start with."""
    return frozenset(str(keys[0]) for keys in paths)


def nested_attributes(paths: Iterable[ResolvedPath]) -> frozenset[str]:
    """The attributes that paths reach into."""
    return frozenset(str(keys[0]) for keys in paths if len(keys) > 1)


def getter(keys: ResolvedPath) -> Getter:
    """A function that reads a path from an item."""
    head, tail = str(keys[0]), keys[1:]
    if not tail:
        return lambda item, values: item.get(head)

    def read(item: Item, values: Values) -> dict[str, Any] | None:
        return descend(item.get(head), tail)

    return read


def descend(value: dict[str, Any] | None, keys: ResolvedPath) -> dict[str, Any] | None:
    """The value at a path inside another value, or None."""
    for key in keys:
        if value is None:
            return None
        if type(key) is int:
            members = value.get("L")
            value = members[key] if members is not None and key < len(members) else None
        else:
            members = value.get("M")
            value = members.get(key) if members is not None else None
    return value
