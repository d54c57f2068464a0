"""How DynamoDB compares attribute values, all in canonical form. Values of different types are never equal and have no order."""

from collections.abc import Callable
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, Final

from gateleg.engine.numbers import as_decimal
from gateleg.engine.values import decode_binary

Wire = dict[str, Any]
Relation = Callable[[Wire, Wire], bool]

#: Characters of binaries that are kept decoded: those of images and the like would fill the memory.
_SHORT: Final = 1024

_kept = lru_cache(maxsize=4096)(decode_binary)


def decoded(text: str) -> bytes:
    """The bytes of a base64 text."""
    return _kept(text) if len(text) <= _SHORT else decode_binary(text)


def type_of(value: Wire) -> str:
    """The type of an attribute value: S, N, B, BOOL, NULL, SS, NS, BS, L or M."""
    return next(iter(value))


def equal(one: Wire, two: Wire) -> bool:
    """Whether two values are the same; sets are, in any order of their members."""
    if one == two:
        return True
    deep = _DEEP.get(next(iter(one)))
    return deep is not None and deep(one, two)


def unequal(one: Wire, two: Wire) -> bool:
    """The opposite of `equal`."""
    return not equal(one, two)


def _same_binary(one: Wire, two: Wire) -> bool:
    return "B" in two and decoded(one["B"]) == decoded(two["B"])


def _same_members(tag: str) -> Relation:
    return lambda one, two: tag in two and set(one[tag]) == set(two[tag])


def _same_binaries(one: Wire, two: Wire) -> bool:
    return "BS" in two and {decoded(member) for member in one["BS"]} == {decoded(member) for member in two["BS"]}


def _same_list(one: Wire, two: Wire) -> bool:
    mine, other = one["L"], two.get("L")
    return other is not None and len(mine) == len(other) and all(map(equal, mine, other))


def _same_map(one: Wire, two: Wire) -> bool:
    mine, other = one["M"], two.get("M")
    return other is not None and mine.keys() == other.keys() and all(equal(mine[name], other[name]) for name in mine)


#: Types whose equality is more than that of their JSON.
_DEEP: Final[dict[str, Relation]] = {
    "B": _same_binary,
    "SS": _same_members("SS"),
    "NS": _same_members("NS"),
    "BS": _same_binaries,
    "L": _same_list,
    "M": _same_map,
}


def _ordered(relation: Callable[[Any, Any], bool]) -> Relation:
    def test(one: Wire, two: Wire) -> bool:
        mine = one.get("S")
        if mine is not None:
            other = two.get("S")
            return other is not None and relation(mine, other)
        mine = one.get("N")
        if mine is not None:
            other = two.get("N")
            return other is not None and relation(as_decimal(mine), as_decimal(other))
        mine = one.get("B")
        if mine is not None:
            other = two.get("B")
            return other is not None and relation(decoded(mine), decoded(other))
        return False

    return test


less = _ordered(lt)
at_most = _ordered(le)
greater = _ordered(gt)
at_least = _ordered(ge)

RELATIONS: Final[dict[str, Relation]] = {"=": equal, "<>": unequal, "<": less, "<=": at_most, ">": greater, ">=": at_least}


def begins_with(value: Wire, prefix: Wire) -> bool:
    """Whether a text or binary value begins with another."""
    text = value.get("S")
    if text is not None:
        start = prefix.get("S")
        return start is not None and text.startswith(start)
    if "B" in value and "B" in prefix:
        return decoded(value["B"]).startswith(decoded(prefix["B"]))
    return False


def contains(value: Wire, sought: Wire) -> bool:
    """Whether a text or binary value holds another as a part, or a set or list holds it as a member."""
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
    """What `size` gives: length of a text, bytes of a binary value, number of members of the others; nothing for N, BOOL and NULL."""
    ((tag, content),) = value.items()
    if tag in ("SS", "NS", "BS", "L", "M", "S"):
        return {"N": str(len(content))}
    if tag == "B":
        return {"N": str(len(decoded(content)))}
    return None
