"""When to try again: exponential backoff with full jitter, a retry budget, which errors are transient, deadlines. Nothing here waits.

AWS reports throttling by an error code, other services by the HTTP status. `ServiceClock` corrects the time of signatures.
"""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: AWS error codes for throttled requests: nothing was executed, and the same request may succeed soon. DynamoDB, S3 and Bedrock use
#: different codes, and none has another meaning in another service.
THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_LONGEST_WAIT = 86_400
#: Seconds. A smaller difference of clocks does not make a service reject a signature.
_NOTICEABLE = 60.0


@dataclass(frozen=True)
class Backoff:
    """Up to `tries` retries. Each waits a random time up to a maximum that doubles from `first` to `longest`; `budget` limits the sum."""

    tries: int = 10
    first: float = 0.025
    longest: float = 5.0
    budget: float = 30.0

    def delays(self, random: Callable[[], float], deadline: Deadline | None = None) -> Iterator[float]:
        """The seconds to wait before each retry; ends when a retry would begin after the deadline. `random` returns numbers from 0 to 1."""
        spent = 0.0
        for number in range(1, self.tries + 1):
            delay = random() * span(number, self.first, self.longest)
            spent += delay
            if spent > self.budget or (deadline is not None and delay >= deadline.left()):
                return
            yield delay


@dataclass(frozen=True)
class Retries:
    """The retry policy of a client: attempts per request and the waits between them.

    All calls of a client share a budget of `burst` retries, which refills by `rate` a second. So when a service is down, calls fail quickly
    instead of multiplying its load.
    """

    #: the maximum number of attempts, including the first
    attempts: int = 6
    first: float = 0.05
    longest: float = 5.0
    burst: int = 100
    rate: float = 10.0
    random: Callable[[], float] = random.SystemRandom().random
    ticks: Callable[[], float] = time.monotonic

    def delays(self, deadline: Deadline | None = None) -> Iterator[float]:
        """The seconds to wait before each further attempt of one call."""
        return Backoff(self.attempts - 1, self.first, self.longest, math.inf).delays(self.random, deadline)


class RetryBudget:
    """The remaining retries of a client."""

    def __init__(self, policy: Retries) -> None:
        self._policy = policy
        self._left = float(policy.burst)
        self._seen = policy.ticks()
        self._lock = threading.Lock()

    def spend(self) -> bool:
        """Use one retry; return False if none is left."""
        with self._lock:
            now = self._policy.ticks()
            self._left = min(self._policy.burst, self._left + (now - self._seen) * self._policy.rate)
            self._seen = now
            if self._left < 1:
                return False
            self._left -= 1
            return True


def span(number: int, first: float, longest: float, factor: float = 2.0) -> float:
    """The maximum wait before retry `number`, counted from 1: it grows by `factor` from `first` to `longest` seconds."""
    # The exponent is limited so that the power does not overflow.
    return min(longest, first * factor ** min(number - 1, 64))


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
            offset = _read_date(date) - self._now()
        except ValueError:
            return False
        changed = abs(offset - self._offset) >= _NOTICEABLE
        if changed:
            self._offset = offset
        # If the offset is large but unchanged, another thread has corrected the clock during this request.
        return changed or abs(offset) >= _NOTICEABLE


def is_throttled(code: str, status: int = 400) -> bool:
    """Whether an error with this AWS code and HTTP status means that the request was throttled."""
    return code in THROTTLED or status == 429


def may_pass(status: int) -> bool:
    """Whether a request that failed with this HTTP status may succeed later."""
    return status in (408, 429) or status >= 500


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds to wait from `retry-after-ms` or `retry-after` headers (seconds or a date), or None. Names are in lower case."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            seconds = _until(text, time.time() if now is None else now)
        if 0 <= seconds < _LONGEST_WAIT:
            return seconds
    return None


def _until(date: str, now: float) -> float:
    try:
        return max(0.0, _read_date(date) - now)
    except ValueError:
        return -1.0


def _read_date(date: str) -> float:
    """The time of an HTTP date, in seconds since 1970. Raises `ValueError` for any other text."""
    # Imported here because dates are rare, and the standard library's package for mail takes long to import.
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(date).timestamp()
