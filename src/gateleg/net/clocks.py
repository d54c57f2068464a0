"""Time: when a call must be over, and what time a service has."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Clocks that differ by less are not the reason for a refusal.
_NOTICEABLE = 60.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a call must be over, on a clock that only grows."""

    end: float
    ticks: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, ticks: Callable[[], float] = time.monotonic) -> Deadline:
        """The deadline of a call that begins now."""
        return cls(ticks() + seconds, ticks)

    def left(self) -> float:
        """The seconds that are left; 0 or less when the time is over."""
        return self.end - self.ticks()


class ServiceClock:
    """The service's time: the machine's, corrected when the service refuses a signature because of it."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._offset = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self._now() + self._offset

    def repair(self, date: str | None) -> bool:
        """Take over the time of a `Date` header. False when the machine's time is near enough to it: then it explains nothing."""
        if date is None:
            return False
        try:
            offset = parsedate_to_datetime(date).timestamp() - self._now()
        except ValueError:
            return False
        changed = abs(offset - self._offset) >= _NOTICEABLE
        if changed:
            self._offset = offset
        # Unchanged and still far off: another thread has put it right while this request was under way.
        return changed or abs(offset) >= _NOTICEABLE
