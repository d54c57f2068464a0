"""Stored items that their entity cannot read, and what a store does with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gateleg.model import Item, ModelError, Ref

__all__ = ["OnUnreadable", "Unreadable"]


@dataclass(frozen=True)
class Unreadable:
    """A stored item that its entity cannot read. `store.patch(bad.ref, ...)` repairs it, `store.delete(bad.ref)` removes it."""

    ref: Ref[Any]
    #: the item on the wire
    item: Item
    #: what is wrong with it
    error: ModelError = field(compare=False)


#: What is done with an item that cannot be read: a warning in the log, an error, or a call.
OnUnreadable = Literal["warn", "raise"] | Callable[[Unreadable], None]
