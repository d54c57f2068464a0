"""Which leases are stale, measured by this process's monotonic clock only.

Workers write times of their own clocks, which may differ by hours, so these times are never compared with another clock: a lease has
expired when this process has seen it unchanged for its duration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

N = TypeVar("N")


class Staleness(Generic[N]):
    """How long each of several named values has been observed unchanged."""

    def __init__(self) -> None:
        self._observed: dict[N, tuple[object, float]] = {}

    def observe(self, values: Mapping[N, object], tick: float) -> dict[N, float]:
        """Record the current values, and return for each name how many seconds ago its value was first observed.

        `tick` is the monotonic time. Names that are missing from the values are forgotten.
        """
        current = {name: (value, tick) for name, value in values.items()}
        unchanged = {name: seen for name, seen in self._observed.items() if name in current and current[name][0] == seen[0]}
        self._observed = current | unchanged
        return {name: tick - since for name, (_, since) in self._observed.items()}
