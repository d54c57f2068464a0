"""What `/metrics` says, in the text format of Prometheus: requests, the store, and the jobs."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gateleg.jobs import QueueStats, WorkerRecord
    from gateleg.store import Tally

#: Upper bounds of the histogram of answers, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Sample = tuple[dict[str, str], float]


@dataclass
class Traffic:
    """Counts of requests, by method, route template and status."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: answers by route, and by the first bound that they have stayed under
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
            self.seconds[route] += seconds
            self.buckets[route, next((bound for bound in BOUNDS if seconds <= bound), float("inf"))] += 1


def exposition(
    traffic: Traffic, costs: Mapping[tuple[str, str], Tally], queues: Iterable[QueueStats], workers: Sequence[WorkerRecord]
) -> str:
    """Everything as text."""
    families = [
        *_traffic(traffic),
        *_store(costs),
        *_jobs(list(queues)),
        ("gateleg_workers", "gauge", "Workers alive.", [({}, len(workers))]),
    ]
    return "".join(_family(*family) for family in families)


Family = tuple[str, str, str, "Sequence[Sample]"]


def _traffic(traffic: Traffic) -> Iterator[Family]:
    counts = [
        ({"method": method, "route": route, "status": str(status)}, float(number))
        for (method, route, status), number in traffic.requests.items()
    ]
    yield "gateleg_http_requests_total", "counter", "Requests that were answered.", counts
    yield "gateleg_http_requests_under_way", "gauge", "Requests under way.", [({}, traffic.under_way)]
    yield "gateleg_http_request_seconds", "histogram", "Seconds from a request to the end of its answer.", list(_histogram(traffic))


def _histogram(traffic: Traffic) -> Iterator[Sample]:
    for route, total in traffic.seconds.items():
        below = 0
        for bound in (*BOUNDS, float("inf")):
            below += traffic.buckets[route, bound]
            yield {"": "_bucket", "route": route, "le": "+Inf" if bound == float("inf") else str(bound)}, below
        yield {"": "_sum", "route": route}, total
        yield {"": "_count", "route": route}, below


def _store(costs: Mapping[tuple[str, str], Tally]) -> Iterator[Family]:
    told = {
        "requests": "Requests to the store.",
        "errors": "Requests that the store refused.",
        "items": "Items in the store's answers.",
        "units": "Capacity units that the store reports.",
        "seconds": "Seconds that requests to the store took.",
    }
    for name, about in told.items():
        samples = [
            ({"pattern": pattern, "operation": operation}, float(getattr(tally, name))) for (pattern, operation), tally in costs.items()
        ]
        yield f"gateleg_store_{name}_total", "counter", about, samples


def _jobs(queues: list[QueueStats]) -> Iterator[Family]:
    def of(name: str) -> list[Sample]:
        return [({"queue": one.queue}, float(value)) for one in queues if (value := getattr(one, name)) is not None]

    yield "gateleg_jobs_waiting", "gauge", "Jobs that can be claimed.", of("waiting")
    yield "gateleg_jobs_delayed", "gauge", "Jobs that wait for their time.", of("delayed")
    yield "gateleg_jobs_running", "gauge", "Jobs that run.", of("running")
    yield "gateleg_jobs_oldest_waiting_seconds", "gauge", "Seconds that the oldest claimable job has waited.", of("oldest_waiting")
    yield (
        "gateleg_queue_paused",
        "gauge",
        "Whether a queue starts nothing.",
        [({"queue": one.queue}, one.mode == "paused") for one in queues],
    )
    for name, about in _WORK.items():
        samples = [
            ({"queue": one.queue, "type": kind}, float(value))
            for one in queues
            for kind, work in one.by_type.items()
            if (value := getattr(work, name)) is not None
        ]
        yield f"gateleg_jobs_window_{name}", "gauge", f"{about} Of the last 15 minutes.", samples


_WORK = {
    "claimed": "Jobs that were started.",
    "lost_claims": "Claims that another worker won.",
    "completed": "Jobs that were completed.",
    "failed": "Jobs that have failed.",
    "retried": "Attempts that were repeated.",
    "cancelled": "Running jobs that were cancelled.",
    "throughput": "Completed jobs a minute.",
    "run_half": "Seconds that half of the runs have stayed under.",
    "run_most": "Seconds that 95 of 100 runs have stayed under.",
    "wait_half": "Seconds that half of the waits have stayed under.",
    "wait_most": "Seconds that 95 of 100 waits have stayed under.",
}


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
