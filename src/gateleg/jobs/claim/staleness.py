"""Which leases do not move: whether somebody is gone is told by this process's monotonic clock, and by no clock on a wall.

The times that workers write come from their own clocks, which may be hours apart. So nobody compares them with its own: a lease is over
when it has been seen unchanged for as long as it lasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

N = TypeVar("N")


class Staleness(Generic[N]):
    """For how long each of some values has been seen unchanged."""

    def __init__(self) -> None:
        self._seen: dict[N, tuple[object, float]] = {}

    def observe(self, values: Mapping[N, object], tick: float) -> dict[N, float]:
        """Take in the values as they are at a tick of the monotonic clock; the seconds since each was seen first as it is.

        What is not among them is forgotten.
        """
        first = {name: (value, tick) for name, value in values.items()}
        known = {name: seen for name, seen in self._seen.items() if name in first and first[name][0] == seen[0]}
        self._seen = first | known
        return {name: tick - since for name, (_, since) in self._seen.items()}

    def forget(self) -> None:
        """Begin again: whoever was away for long cannot tell who else was."""
        self._seen = {}
