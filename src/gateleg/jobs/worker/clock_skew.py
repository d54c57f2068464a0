"""How far the clocks of workers are apart, measured by the reports that they write."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

#: Seconds that a report may take to be seen: less than that cannot be told from clocks that agree.
_TOLERANCE = 1.0
#: How many of the last reports of a worker are taken together.
_REPORTS = 6


class Skew:
    """What one worker knows of the clocks of others.

    A report that was written since the last look was written at a time that this worker knows within the seconds between its looks. So
    each bounds the difference of the two clocks, and several bound it closely.
    """

    def __init__(self) -> None:
        self._seen: dict[str, datetime] = {}
        self._bounds: defaultdict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=_REPORTS))
        self._last: tuple[datetime, float] | None = None

    def observe(self, reports: Mapping[str, datetime], now: datetime, tick: float) -> float:
        """Take in when others have reported last, by their clocks; the seconds by which the own clock has jumped since the last look."""
        last, self._last = self._last, (now, tick)
        before, self._seen = self._seen, dict(reports)
        self._bounds = defaultdict(self._bounds.default_factory, {name: self._bounds[name] for name in reports})
        if last is None:
            return 0.0
        jumped = (now - last[0]).total_seconds() - (tick - last[1])
        if abs(jumped) > _TOLERANCE:
            self._bounds.clear()
            return jumped
        for name, seen_at in reports.items():
            if name in before and before[name] != seen_at:
                offset = (seen_at - now).total_seconds()
                self._bounds[name].append((offset, offset + tick - last[1]))
        return 0.0

    def ahead(self) -> float:
        """By how many seconds this worker's clock is ahead of the others', as most of them show it; negative when it is behind."""
        apart = sorted([0.0, *(_apart(bounds) for bounds in self._bounds.values() if bounds)], key=abs)
        return -apart[len(apart) // 2]


def _apart(bounds: deque[tuple[float, float]]) -> float:
    """The least number of seconds by which another clock must be ahead of this one; negative when it must be behind."""
    low, high = bounds[-1]
    for earlier in reversed(bounds):
        if max(low, earlier[0]) > min(high, earlier[1]) + _TOLERANCE:
            # Before that the other clock was set.
            break
        low, high = max(low, earlier[0]), min(high, earlier[1])
    if low > _TOLERANCE:
        return low
    return high if high < -_TOLERANCE else 0.0
