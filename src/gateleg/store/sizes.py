"""The sizes of items as DynamoDB counts them, to refuse items that are too large before they are sent."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.model.errors import EncodeError
from gateleg.store.errors import TooLarge

if TYPE_CHECKING:
    from gateleg.model import Item
    from gateleg.model.wire import Value
    from gateleg.store.flow import Request

__all__ = ["ITEM_LIMIT", "is_small", "item_size"]

#: The maximum bytes of an item, and of all items of a transaction together.
ITEM_LIMIT = 400 * 1024
TRANSACTION_LIMIT = 4 * 1024 * 1024
#: More digits than any DynamoDB number.
_EXACT = Context(prec=64)


def check_size(item: Item, about: str, request: Request | None = None) -> int:
    """Raise `TooLarge` for an item that is too large; return its size or an upper bound. The exact size is computed only near the limit."""
    try:
        bound = len(orjson.dumps(item))
    except TypeError as error:
        fix = "Remove lone surrogates from texts: they are not valid Unicode."
        raise EncodeError(f"{about} cannot be written: {error}.", fix=fix) from error
    if bound <= ITEM_LIMIT:
        return bound
    size = item_size(item)
    if size > ITEM_LIMIT:
        raise too_large(item, about, request)
    return size


def too_large(item: Item, about: str, request: Request | None) -> TooLarge:
    """The error for an item that is too large."""
    size = item_size(item)
    message = f"{about} has {size:,} bytes, but an item can have at most {ITEM_LIMIT:,}."
    return TooLarge(message, size=size, limit=ITEM_LIMIT, request=request)


def is_small(item: Item) -> bool:
    """Whether an item is certainly not too large, by the length of its JSON, which is fast to compute and never less than the size."""
    try:
        return len(orjson.dumps(item)) <= ITEM_LIMIT
    except TypeError:
        return False


def item_size(item: Item) -> int:
    """The size of an item in bytes: names and values in UTF-8, numbers by their digits, and overhead for lists and maps."""
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
    """One byte, plus one for each pair of significant digits (counted from the decimal point), plus one for a minus sign."""
    sign, digits, exponent = Decimal(text).normalize(_EXACT).as_tuple()
    if digits == (0,):
        return 1
    odd = (len(digits) + int(exponent)) % 2
    return 1 + (len(digits) + odd + 1) // 2 + sign


def _binary_size(text: str) -> int:
    return len(text) * 3 // 4 - text.endswith("=") - text.endswith("==")
