"""How large DynamoDB counts an item, so that what is too large is refused before it is sent."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.model.errors import EncodeError
from gateleg.store.errors import TooLarge

if TYPE_CHECKING:
    from gateleg.model import Item
    from gateleg.model.codec.wire import Value
    from gateleg.store.flow import Request

__all__ = ["ITEM_LIMIT", "is_small", "item_size"]

#: The most bytes that an item may have, and all items of a transaction together.
ITEM_LIMIT = 400 * 1024
TRANSACTION_LIMIT = 4 * 1024 * 1024
#: More digits than any number on the wire has.
_EXACT = Context(prec=64)


def item_size(item: Item) -> int:
    """The bytes that an item counts: its names and values in UTF-8, numbers by their digits, some overhead for lists and maps."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Value) -> int:
    ((tag, content),) = value.items()
    if tag == "S":
        return len(content.encode())
    if tag == "N":
        return _number_size(content)
    if tag == "B":
        return _binary_size(content)
    if tag in ("BOOL", "NULL"):
        return 1
    if tag == "M":
        return 3 + sum(1 + len(key.encode()) + _value_size(element) for key, element in content.items())
    if tag == "L":
        return 3 + sum(1 + _value_size(element) for element in content)
    measure: Any = {"SS": lambda text: len(text.encode()), "NS": _number_size, "BS": _binary_size}[tag]
    return sum(measure(element) for element in content)


def _number_size(text: str) -> int:
    """One byte, one for each pair of significant digits (pairs begin at the decimal point), and one for a minus."""
    sign, digits, exponent = Decimal(text).normalize(_EXACT).as_tuple()
    if digits == (0,):
        return 1
    odd = (len(digits) + int(exponent)) % 2
    return 1 + (len(digits) + odd + 1) // 2 + sign


def _binary_size(text: str) -> int:
    return len(text) * 3 // 4 - text.endswith("=") - text.endswith("==")


def is_small(item: Item) -> bool:
    """Whether an item is certainly not too large: the length of its JSON is never less than its size, and is quickly found."""
    try:
        return len(orjson.dumps(item)) <= ITEM_LIMIT
    except TypeError:
        return False


def check_size(item: Item, about: str, request: Request | None = None) -> int:
    """Refuse an item that is too large; the answer is its size, or an upper bound of it. Only near the limit it is measured exactly."""
    try:
        bound = len(orjson.dumps(item))
    except TypeError as error:
        raise EncodeError(f"{about} cannot be written: {error}.", fix="Texts must be whole characters of Unicode.") from error
    if bound <= ITEM_LIMIT:
        return bound
    size = item_size(item)
    if size > ITEM_LIMIT:
        raise TooLarge(f"{about} has {size:,} bytes; an item has at most {ITEM_LIMIT:,}.", size=size, limit=ITEM_LIMIT, request=request)
    return size
