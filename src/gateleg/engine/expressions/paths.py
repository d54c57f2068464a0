"""Document paths: resolving, printing, checking and reading them."""

from collections.abc import Iterable
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


def check_disjoint(paths: list[Keys]) -> None:
    """Refuses paths of which one holds the other, or which cannot exist in one document. Overlaps are reported before conflicts."""
    conflict: str | None = None
    seen: list[Keys] = []
    for later in paths:
        for earlier in seen:
            relation = _relation(earlier, later)
            if relation is None:
                continue
            message = (
                f"Two document paths {relation} with each other; must remove or rewrite one of these paths; "
                f"path one: {spell(earlier)}, path two: {spell(later)}"
            )
            if relation == "overlap":
                raise Fault(message)
            conflict = conflict or message
        seen.append(later)
    if conflict:
        raise Fault(conflict)


def _relation(one: Keys, two: Keys) -> str | None:
    for left, right in zip(one, two, strict=False):
        if type(left) is not type(right):
            return "conflict"
        if left != right:
            return None
    return "overlap"


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
