"""What `/metrics` says, in the text format of Prometheus: requests, the store, and the jobs."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

#: Upper bounds of the histogram of answers, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass
class Traffic:
    """Counts of requests, by method, route template and status."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begun(self) -> None:
        """A request came in."""
        with self._lock:
            self.under_way += 1

    def ended(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        with self._lock:
            self.under_way -= 1
            self.requests[method, route, status] += 1
            self.seconds[route] += seconds  # type: ignore[assignment]
            self.buckets[route, next((bound for bound in BOUNDS if seconds <= bound), float("inf"))] += 1
