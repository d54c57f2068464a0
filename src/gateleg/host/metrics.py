"""`/metrics` in the text format of Prometheus: requests, the store, and jobs.

Not prometheus_client: values are read on request, so there is nothing to register, and the format takes ten lines.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from gateleg.jobs.monitor import metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.tables import WorkerRecord
    from gateleg.store.observing import Tally

__all__ = ["Traffic", "exposition"]

#: Upper bounds of the response time histogram, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Unknown methods share one label.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
Sample = tuple[dict[str, str], float]


@dataclass
class Traffic:
    """Counts of requests, by method, route template and status."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: responses by route, and by the first bound that they stayed under
    buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    #: the requests that have no response yet, by their ids, each as it was sent
    requests_under_way: dict[int, str] = field(default_factory=dict)
    _arrived: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def under_way(self) -> int:
        """The number of requests that have no response yet."""
        return len(self.requests_under_way)

    def begun(self, request: str) -> int:
        """Count a request that arrived, and return its number."""
        with self._lock:
            self._arrived += 1
            self.requests_under_way[self._arrived] = request
            return self._arrived

    def ended(self, number: int, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self.requests_under_way.pop(number, None)
            self.requests[method if method in _METHODS else "OTHER", route, status] += 1
            self.seconds[route] += seconds
            self.buckets[route, next((bound for bound in BOUNDS if seconds <= bound), float("inf"))] += 1


def exposition(
    traffic: Traffic,
    costs: Mapping[tuple[str, str], Tally],
    queues: Iterable[QueueStats],
    workers: Sequence[WorkerRecord],
    *,
    unreadable: int = 0,
) -> str:
    """All metrics as text."""
    families = [
        *_traffic(traffic),
        *_store(costs),
        *_jobs(queues),
        ("gateleg_workers", "gauge", "Workers alive.", [({}, len(workers))]),
        ("gateleg_jobs_unreadable", "gauge", "Items of the job table that are not valid jobs, up to 100.", [({}, unreadable)]),
    ]
    return "".join(_family(*family) for family in families)


Family = tuple[str, str, str, "Sequence[Sample]"]


def _traffic(traffic: Traffic) -> Iterator[Family]:
    counts = [
        ({"method": method, "route": route, "status": str(status)}, float(number))
        for (method, route, status), number in traffic.requests.items()
    ]
    yield "gateleg_http_requests_total", "counter", "Answered requests.", counts
    yield "gateleg_http_requests_under_way", "gauge", "Requests in progress.", [({}, traffic.under_way)]
    yield "gateleg_http_request_seconds", "histogram", "Seconds from a request to the end of its response.", list(_histogram(traffic))


def _histogram(traffic: Traffic) -> Iterator[Sample]:
    for route, total in traffic.seconds.items():
        below = 0
        for bound in (*BOUNDS, float("inf")):
            below += traffic.buckets[route, bound]
            yield {"": "_bucket", "route": route, "le": "+Inf" if bound == float("inf") else str(bound)}, below
        yield {"": "_sum", "route": route}, total
        yield {"": "_count", "route": route}, below


def _store(costs: Mapping[tuple[str, str], Tally]) -> Iterator[Family]:
    descriptions = {
        "requests": "Requests to the store.",
        "errors": "Requests to the store that failed.",
        "items": "Items returned by the store.",
        "units": "Capacity units consumed, as reported by the store.",
        "seconds": "Seconds taken by requests to the store.",
    }
    for name, about in descriptions.items():
        samples = [
            ({"pattern": pattern, "operation": operation}, float(getattr(tally, name))) for (pattern, operation), tally in costs.items()
        ]
        yield f"gateleg_store_{name}_total", "counter", about, samples


def _jobs(queues: Iterable[QueueStats]) -> Iterator[Family]:
    for name, group in groupby(metrics(queues), key=lambda figure: figure.name):
        found = list(group)
        yield f"gateleg_{name}", "gauge", f"{found[0].about}.", [(dict(figure.labels), figure.value) for figure in found]


def _family(name: str, kind: str, about: str, samples: Sequence[Sample]) -> str:
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        suffix = labels.get("", "")
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items() if label)
        lines.append(f"{name}{suffix}{f'{{{inner}}}' if inner else ''} {_number(value)}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
