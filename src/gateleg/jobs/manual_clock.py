"""A clock that only moves when a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

#: The default start: late enough that the engine, which has its own clock, does not consider items expired.
_DEFAULT_START = datetime(2100, 1, 1, tzinfo=UTC)


class ManualClock:
    """A clock for tests: `Store.embedded(clock=clock, ticks=clock)`, then `clock.advance(seconds=30)`.

    The store and its queues then use this clock. But `stamp(on="create")` takes the machine's time, because the object is constructed
    before a store is involved; pass the time yourself (`created_at=clock.now`) where a test depends on it.
    """

    def __init__(self, start: datetime = _DEFAULT_START) -> None:
        self.now = start

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now.timestamp()

    def advance(self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0) -> datetime:
        """Move the clock forward and return the new time."""
        self.now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self.now

    def reach(self, time: datetime) -> datetime:
        """Move the clock forward to a time, and return the new time. A time in the past changes nothing."""
        self.now = max(self.now, time)
        return self.now
