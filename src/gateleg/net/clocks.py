"""Clocks: deadlines of calls, and the time of a service."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds. A smaller difference of clocks does not make a service reject a signature.
_NOTICEABLE = 60.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time by which a call must end, on a monotonic clock."""

    end: float
    ticks: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, ticks: Callable[[], float] = time.monotonic) -> Deadline:
        """The deadline of a call that begins now."""
        return cls(ticks() + seconds, ticks)

    def left(self) -> float:
        """The remaining seconds; 0 or less after the deadline."""
        return self.end - self.ticks()


class ServiceClock:
    """The time of a service: the machine's clock, corrected after the service rejects a signature because of its time."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._offset = 0.0

    def now(self) -> float:
        """The time in seconds since 1970."""
        return self._now() + self._offset

    def repair(self, date: str | None) -> bool:
        """Correct the clock by a `Date` header. Returns False if the machine's time is about the same, so the error has another reason."""
        if date is None:
            return False
        try:
            offset = parsedate_to_datetime(date).timestamp() - self._now()
        except ValueError:
            return False
        changed = abs(offset - self._offset) >= _NOTICEABLE
        if changed:
            self._offset = offset
        # If the offset is large but unchanged, another thread has corrected the clock during this request.
        return changed or abs(offset) >= _NOTICEABLE
