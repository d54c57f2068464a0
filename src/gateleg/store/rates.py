"""Limit the capacity units used per second, for work on whole tables while users use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["RateLimiter", "used"]


class RateLimiter:
    """Limits the average number of capacity units used per second, with a pause after each request."""

    def __init__(self, units: float, setup: Setup) -> None:
        self._units = units
        self._ticks = setup.ticks
        #: when the units used so far are within the limit
        self._paid = setup.ticks()

    def charge(self, response: dict[str, Any]) -> Flow[None]:
        """Pause until the units used by a response are within the limit."""
        now = self._ticks()
        self._paid = max(self._paid, now) + used(response) / self._units
        if self._paid > now:
            yield Pause(self._paid - now)


def used(response: dict[str, Any]) -> float:
    """The consumed capacity units that a response reports."""
    capacity = response.get("ConsumedCapacity")
    entries = capacity if isinstance(capacity, list) else [capacity] if capacity else []
    return float(sum(entry.get("CapacityUnits", 0) for entry in entries))
