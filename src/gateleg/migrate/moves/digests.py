"""Digests of items: equal for equal items, regardless of the order of attributes and set members and of number formats."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateleg.model import Item


def canonical(value: Any) -> Any:
    """A wire value in canonical form."""
    ((tag, content),) = value.items()
    if tag == "N":
        return ["N", _number(content)]
    if tag == "NS":
        return ["NS", sorted(map(_number, content))]
    if tag in ("SS", "BS"):
        return [tag, sorted(map(str, content))]
    if tag == "M":
        return ["M", {name: canonical(content[name]) for name in sorted(content)}]
    if tag == "L":
        return ["L", [canonical(one) for one in content]]
    return [tag, content if isinstance(content, bool | str | type(None)) else str(content)]


def digest(item: Item, without: frozenset[str] = frozenset()) -> int:
    """A 128-bit digest of an item; sums of digests do not depend on the order."""
    text = json.dumps({name: canonical(item[name]) for name in sorted(item) if name not in without}, sort_keys=True)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


def key_digest(key: Item) -> str:
    """A short digest of a key."""
    return f"{digest(key):032x}"


def _number(text: str) -> str:
    number = Decimal(text)
    return "0" if number == 0 else str(number.normalize())
