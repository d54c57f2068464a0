"""Limit the capacity units used per second, for work on whole tables beside users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["Rate", "used"]


class Rate:
    """Limits the average consumption of capacity units per second: after each request, the caller pauses for what it has consumed."""

    def __init__(self, units: float, setup: Setup) -> None:
        self._units = units
        self._ticks = setup.ticks
        #: when everything used so far will have been paid for
        self._paid = setup.ticks()

    def charge(self, reply: dict[str, Any]) -> Flow[None]:
        """Wait as long as the capacity of an answer takes to come back."""
        now = self._ticks()
        self._paid = max(self._paid, now) + used(reply) / self._units
        if self._paid > now:
            yield Pause(self._paid - now)


def used(reply: dict[str, Any]) -> float:
    """The capacity units that an answer says it has used."""
    capacity = reply.get("ConsumedCapacity")
    entries = capacity if isinstance(capacity, list) else [capacity] if capacity else []
    return float(sum(entry.get("CapacityUnits", 0) for entry in entries))
