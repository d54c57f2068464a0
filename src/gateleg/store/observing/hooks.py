"""Hooks: called before and after every request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gateleg.store.flow import Request

__all__ = ["item_count"]


@dataclass(slots=True)
class Call:
    """A request as hooks see it. All but `request` and `notes` is set before `after` is called."""

    request: Request
    #: seconds from sending the request to its response
    seconds: float = 0.0
    #: consumed capacity units, as reported in the response
    units: float = 0.0
    #: the number of items in the response
    items: int = 0
    error: Exception | None = None
    #: how often the transport sent the request, if known
    attempts: int = 1
    #: for hooks to keep data between `before` and `after`
    notes: dict[str, Any] = field(default_factory=dict)


class Hook(Protocol):
    """Observes every request of a store: `Store.connect(..., hooks=[hook])`. Called in the thread that sends it; must not raise."""

    def before(self, call: Call) -> None:
        """Called before the request is sent."""
        ...

    def after(self, call: Call) -> None:
        """Called after the response arrived, or after the request failed with `call.error`."""
        ...


def item_count(response: dict[str, Any]) -> int:
    """The number of items that a response contains or counts."""
    if "Count" in response:
        return int(response["Count"])
    if "Responses" in response:
        responses = response["Responses"]
        return sum(map(len, responses.values())) if isinstance(responses, dict) else sum("Item" in response for response in responses)
    return int("Item" in response or "Attributes" in response)
