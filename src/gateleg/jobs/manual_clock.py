"""A clock that stands still until it is moved, for tests of everything that depends on time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

#: When a manual clock begins, unless it is told otherwise: so late that no engine, which has a clock of its own, takes items for expired.
_BEGINNING = datetime(2100, 1, 1, tzinfo=UTC)


class ManualClock:
    """Time in the hands of a test: `Store.embedded(clock=clock, ticks=clock)`, then `clock.advance(seconds=30)`."""

    def __init__(self, start: datetime = _BEGINNING) -> None:
        self.now = start

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now.timestamp()

    def advance(self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0) -> datetime:
        """Move on; the answer is the new time."""
        self.now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self.now

    def reach(self, time: datetime) -> datetime:
        """Move on to a time, unless it has passed already."""
        self.now = max(self.now, time)
        return self.now
