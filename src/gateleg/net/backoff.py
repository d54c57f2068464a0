"""Exponential backoff with full jitter and a retry budget. Computes delays, but does not wait."""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.net.clocks import Deadline


def span(number: int, first: float, longest: float, factor: float = 2.0) -> float:
    """The maximum wait before retry `number`, counted from 1: it grows by `factor` from `first` to `longest` seconds."""
    # The exponent is limited so that the power does not overflow.
    return min(longest, first * factor ** min(number - 1, 64))


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
