"""Stored items that cannot be decoded, and how a store handles them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gateleg.model import Item, ModelError, Ref

__all__ = ["OnUnreadable", "Unreadable"]


@dataclass(frozen=True)
class Unreadable:
    """A stored item that cannot be decoded. Repair it with `store.patch(bad.ref, ...)`, or delete it with `store.delete(bad.ref)`."""

    ref: Ref[Any]
    #: the wire item
    item: Item
    #: the problem
    error: ModelError = field(compare=False)


#: What to do with an item that cannot be decoded: log a warning, raise its error, or call a function.
OnUnreadable = Literal["warn", "raise"] | Callable[[Unreadable], None]
