"""Clock skew between workers, estimated from the times in their reports."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

#: The maximum seconds until a report is seen. A smaller clock difference cannot be detected.
_TOLERANCE_SECONDS = 1.0
#: How many of the last reports of a worker are combined.
_MAX_REPORTS = 6


class ClockSkew:
    """Estimates the difference between one worker's clock and the others'.

    A report that is new since the previous observation was written between the two observations. So each report bounds the difference of
    the two clocks, and several reports bound it closely.
    """

    def __init__(self) -> None:
        self._reports: dict[str, datetime] = {}
        self._bounds: defaultdict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=_MAX_REPORTS))
        self._last: tuple[datetime, float] | None = None

    def observe(self, reports: Mapping[str, datetime], now: datetime, tick: float) -> float:
        """Record the time of each worker's last report, by its own clock.

        Returns by how many seconds this machine's clock was set since the previous call.
        """
        last, self._last = self._last, (now, tick)
        before, self._reports = self._reports, dict(reports)
        self._bounds = defaultdict(self._bounds.default_factory, {name: self._bounds[name] for name in reports})
        if last is None:
            return 0.0
        jumped = (now - last[0]).total_seconds() - (tick - last[1])
        if abs(jumped) > _TOLERANCE_SECONDS:
            self._bounds.clear()
            return jumped
        for name, seen_at in reports.items():
            if name in before and before[name] != seen_at:
                offset = (seen_at - now).total_seconds()
                self._bounds[name].append((offset, offset + tick - last[1]))
        return 0.0

    def ahead(self) -> float:
        """The median number of seconds by which this worker's clock is ahead of the others'; negative if it is behind."""
        differences = sorted([0.0, *(_difference(bounds) for bounds in self._bounds.values() if bounds)], key=abs)
        return -differences[len(differences) // 2]


def _difference(bounds: deque[tuple[float, float]]) -> float:
    """The smallest number of seconds by which another clock must be ahead of this one; negative if it must be behind."""
    low, high = bounds[-1]
    for earlier in reversed(bounds):
        if max(low, earlier[0]) > min(high, earlier[1]) + _TOLERANCE_SECONDS:
            # The other clock was set after this report.
            break
        low, high = max(low, earlier[0]), min(high, earlier[1])
    if low > _TOLERANCE_SECONDS:
        return low
    return high if high < -_TOLERANCE_SECONDS else 0.0
