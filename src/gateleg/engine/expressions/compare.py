"""Comparison of canonical attribute values. Values of different types are never equal and have no order."""

from collections.abc import Callable
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, Final

from gateleg.engine.numbers import as_decimal
from gateleg.engine.values import decode_binary

Wire = dict[str, Any]
Relation = Callable[[Wire, Wire], bool]

#: Longer binaries are not cached, because images and the like would fill the memory.
_MAX_CACHED_CHARACTERS: Final = 1024

_cached_decode = lru_cache(maxsize=4096)(decode_binary)


def decoded(text: str) -> bytes:
    """Decode base64, with a cache for short values."""
    return _cached_decode(text) if len(text) <= _MAX_CACHED_CHARACTERS else decode_binary(text)


def type_of(value: Wire) -> str:
    """The type of an attribute value: S, N, B, BOOL, NULL, SS, NS, BS, L or M."""
    return next(iter(value))


def equal(left: Wire, right: Wire) -> bool:
    """Whether two values are equal; the order of set members does not matter."""
    if left == right:
        return True
    deep = _DEEP.get(next(iter(left)))
    return deep is not None and deep(left, right)


def unequal(left: Wire, right: Wire) -> bool:
    """The negation of `equal`."""
    return not equal(left, right)


def _same_binary(left: Wire, right: Wire) -> bool:
    return "B" in right and decoded(left["B"]) == decoded(right["B"])


def _same_members(tag: str) -> Relation:
    return lambda left, right: tag in right and set(left[tag]) == set(right[tag])


def _same_binaries(left: Wire, right: Wire) -> bool:
    return "BS" in right and {decoded(member) for member in left["BS"]} == {decoded(member) for member in right["BS"]}


def _same_list(left: Wire, right: Wire) -> bool:
    mine, other = left["L"], right.get("L")
    return other is not None and len(mine) == len(other) and all(map(equal, mine, other))


def _same_map(left: Wire, right: Wire) -> bool:
    mine, other = left["M"], right.get("M")
    return other is not None and mine.keys() == other.keys() and all(equal(mine[name], other[name]) for name in mine)


#: Types that cannot be compared by their JSON alone.
_DEEP: Final[dict[str, Relation]] = {
    "B": _same_binary,
    "SS": _same_members("SS"),
    "NS": _same_members("NS"),
    "BS": _same_binaries,
    "L": _same_list,
    "M": _same_map,
}


def _ordered(relation: Callable[[Any, Any], bool]) -> Relation:
    def test(left: Wire, right: Wire) -> bool:
        mine = left.get("S")
        if mine is not None:
            other = right.get("S")
            return other is not None and relation(mine, other)
        mine = left.get("N")
        if mine is not None:
            other = right.get("N")
            return other is not None and relation(as_decimal(mine), as_decimal(other))
        mine = left.get("B")
        if mine is not None:
            other = right.get("B")
            return other is not None and relation(decoded(mine), decoded(other))
        return False

    return test


less = _ordered(lt)
at_most = _ordered(le)
greater = _ordered(gt)
at_least = _ordered(ge)

RELATIONS: Final[dict[str, Relation]] = {"=": equal, "<>": unequal, "<": less, "<=": at_most, ">": greater, ">=": at_least}


def begins_with(value: Wire, prefix: Wire) -> bool:
    """Whether a string or binary value begins with another."""
    text = value.get("S")
    if text is not None:
        start = prefix.get("S")
        return start is not None and text.startswith(start)
    if "B" in value and "B" in prefix:
        return decoded(value["B"]).startswith(decoded(prefix["B"]))
    return False


def contains(value: Wire, sought: Wire) -> bool:
    """Whether a string or binary value contains another, or a set or list has it as a member."""
    (tag,) = value
    if tag == "L":
        return any(equal(member, sought) for member in value["L"])
    if tag == "B":
        return "B" in sought and decoded(sought["B"]) in decoded(value["B"])
    if tag == "BS":
        return "B" in sought and decoded(sought["B"]) in {decoded(member) for member in value["BS"]}
    if tag in ("S", "SS"):
        return "S" in sought and sought["S"] in value[tag]
    return tag == "NS" and "N" in sought and sought["N"] in value["NS"]


def size(value: Wire) -> Wire | None:
    """The result of `size`: length of a string, bytes of a binary value, number of members of the others; None for N, BOOL and NULL."""
    ((tag, content),) = value.items()
    if tag in ("SS", "NS", "BS", "L", "M", "S"):
        return {"N": str(len(content))}
    if tag == "B":
        return {"N": str(len(decoded(content)))}
    return None
