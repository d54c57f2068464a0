"""Document paths: resolving, printing, checking and reading them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from gateleg.engine.expressions.faults import Fault
from gateleg.engine.expressions.nodes import Alias, Getter, Item, Names, Path, Values
from gateleg.engine.expressions.reserved import is_reserved

MAX_DEPTH: Final = 32
MAX_INDEX: Final = 2**31 - 1

#: A path whose aliases are resolved.
Keys = tuple[str | int, ...]


def check_spelling(paths: Iterable[Path]) -> None:
    """What a path's text alone may get wrong: reserved words, positions out of range, too many levels."""
    for path in paths:
        for part in path.parts:
            if isinstance(part, str):
                if is_reserved(part):
                    raise Fault(f"Attribute name is a reserved keyword; reserved keyword: {part}")
            elif isinstance(part, int) and part > MAX_INDEX:
                raise Fault(f"List index is not within the allowable range; index: [{part}]")
        if len(path.parts) > MAX_DEPTH:
            raise Fault(f"The document path has too many nesting levels; nesting levels: {len(path.parts)}")


def aliases(path: Path) -> list[str]:
    """The `#names` of a path."""
    return [part.name for part in path.parts if isinstance(part, Alias)]


def resolve(path: Path, names: Names) -> Keys:
    """A path with its aliases replaced."""
    return tuple(_named(part.name, names) if isinstance(part, Alias) else part for part in path.parts)


def _named(alias: str, names: Names) -> str:
    name = names.get(alias)
    if name is None:
        raise Fault(f"An expression attribute name used in the document path is not defined; attribute name: {alias}")
    return name


def spell(keys: Keys) -> str:
    """A path as DynamoDB's messages have it: `[a, [0], b]`."""
    return f"[{', '.join(f'[{key}]' if isinstance(key, int) else key for key in keys)}]"


@dataclass(slots=True)
class _Branch:
    """A place in the tree of paths: which path ends here, and which was the first to go on by name and by position."""

    end: int | None = None
    first: dict[type, int] = field(default_factory=dict)
    below: "dict[str | int, _Branch]" = field(default_factory=dict)


def check_disjoint(paths: list[Keys]) -> None:
    """Refuses paths of which one holds the other, or which cannot exist in one document. Overlaps are reported before conflicts."""
    root = _Branch()
    conflict: Fault | None = None
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
            branch = branch.below.setdefault(key, _Branch())
        if branch.end is not None or branch.first:
            raise _meeting("overlap", paths[min(branch.first.values()) if branch.end is None else branch.end], keys)
        branch.end = place
        if rival is not None and conflict is None:
            conflict = _meeting("conflict", paths[rival], keys)
    if conflict is not None:
        raise conflict


def _meeting(relation: str, earlier: Keys, later: Keys) -> Fault:
    return Fault(
        f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
        f"path one: {spell(earlier)}, path two: {spell(later)}"
    )


def heads(paths: Iterable[Keys]) -> frozenset[str]:
    """The attributes that paths begin with."""
    return frozenset(str(keys[0]) for keys in paths)


def nested_heads(paths: Iterable[Keys]) -> frozenset[str]:
    """The attributes that paths look into."""
    return frozenset(str(keys[0]) for keys in paths if len(keys) > 1)


def getter(keys: Keys) -> Getter:
    """A function that reads a path out of an item."""
    head, tail = str(keys[0]), keys[1:]
    if not tail:
        return lambda item, values: item.get(head)

    def read(item: Item, values: Values) -> dict[str, Any] | None:
        return descend(item.get(head), tail)

    return read


def descend(value: dict[str, Any] | None, keys: Keys) -> dict[str, Any] | None:
    """What stands at a path inside a value."""
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
