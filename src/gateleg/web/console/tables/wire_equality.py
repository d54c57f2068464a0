"""Equality of wire values: numbers by value, sets regardless of order."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def same(one: Any, other: Any) -> bool:
    """Whether two values, or two items, are equal."""
    return bool(canonical(one) == canonical(other))


def canonical(value: Any) -> Any:
    """A value, or an item, in canonical form."""
    if isinstance(value, list):
        return [canonical(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag == "N" and isinstance(content, str):
            return {"N": _number(content)}
        if tag == "NS" and isinstance(content, list):
            return {"NS": sorted(map(_number, content))}
        if tag in ("SS", "BS") and isinstance(content, list):
            return {tag: sorted(content)}
    return {name: canonical(entry) for name, entry in value.items()}


def _number(text: str) -> str:
    number = Decimal(text).normalize()
    return format(number, "f") if -40 < number.adjusted() < 40 else str(number)
