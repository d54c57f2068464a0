"""Identities: a hashable form of a table and key."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateleg.model import Item

__all__ = ["Identity", "identity"]

Identity = tuple[str, tuple[tuple[str, str, Any], ...]]


def identity(table: str, key: Item) -> Identity:
    """A hashable value that is equal for two keys if they address the same item; numbers are compared by value."""
    parts = []
    for name in sorted(key):
        ((tag, content),) = key[name].items()
        parts.append((name, tag, Decimal(content).normalize() if tag == "N" else content))
    return table, tuple(parts)
