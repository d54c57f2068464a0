"""Count requests, errors, items and capacity by access pattern."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.store.observing.hooks import Call

__all__ = ["Tally"]


@dataclass(frozen=True)
class Tally:
    """The totals of one pattern and operation."""

    requests: int = 0
    errors: int = 0
    retries: int = 0
    items: int = 0
    units: float = 0.0
    seconds: float = 0.0
    #: the longest request, in seconds
    longest: float = 0.0


class Metrics:
    """A hook that adds up requests, errors, items, capacity and time: `Store.connect(..., hooks=[metrics])`, `metrics.by_pattern()`."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._lock = threading.Lock()

    def before(self, call: Call) -> None:
        """Do nothing."""

    def after(self, call: Call) -> None:
        """Add the request to the totals of its pattern."""
        place = (call.request.pattern, call.request.operation)
        with self._lock:
            tally = self._tallies.get(place, Tally())
            self._tallies[place] = replace(
                tally,
                requests=tally.requests + 1,
                errors=tally.errors + (call.error is not None),
                retries=tally.retries + (call.request.retries > 0),
                items=tally.items + call.items,
                units=tally.units + call.units,
                seconds=tally.seconds + call.seconds,
                longest=max(tally.longest, call.seconds),
            )

    def by_pattern(self) -> dict[tuple[str, str], Tally]:
        """The totals so far, by pattern and operation."""
        with self._lock:
            return dict(self._tallies)

    def reset(self) -> dict[tuple[str, str], Tally]:
        """Return the totals so far, and start again from zero."""
        with self._lock:
            tallies, self._tallies = self._tallies, {}
            return tallies
