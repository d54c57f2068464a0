"""Metrics for Prometheus: requests, the store and the jobs, attempts of workers, and what applications register themselves.

    plays = Counter("songs_plays", "Songs played.", ["genre"], registry=resources.metrics)

`/metrics` of a host and `--metrics-port` of a worker show them. Counters and histograms of a handler that runs in a process of its own are
added to those of its worker when the process ends; its gauges end with it.

prometheus_client is loaded when a metric is registered or shown.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gateleg.extras import explained
from gateleg.host.errors import Refusal
from gateleg.jobs.monitor import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prometheus_client.core import Metric as Family
    from prometheus_client.registry import CollectorRegistry

    from gateleg.jobs import Job, Jobs
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.tables import WorkerRecord
    from gateleg.store.observing import Tally

__all__ = ["BadMetric", "HostMetrics", "Traffic", "exposed", "host_families", "serving_metrics"]

_log = logging.getLogger("gateleg.web")
#: Upper bounds of the histograms of seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Upper bounds of the histogram of attempts, which may take hours.
ATTEMPT_BOUNDS = (0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
#: Unknown methods share one label.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
#: The maximum number of series of one metric. More would cost whoever collects them more than they tell.
MAX_SERIES = 1000
#: Names with this prefix are the host's own.
_OWN_PREFIX = "gateleg_"
#: Labels that make several samples of one series.
_SAMPLE_LABELS = frozenset({"le", "quantile"})
#: The types of metrics whose samples add up.
_ADDING = frozenset({"counter", "histogram", "summary"})


class BadMetric(Refusal):
    """An application registered a metric that the host cannot show."""

    code = "bad-metric"
    fix = "Choose another name, such as the application's followed by what is counted: shop_orders."


@dataclass
class Durations:
    """A histogram of seconds for each value of a label."""

    bounds: tuple[float, ...] = BOUNDS
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    #: the number of durations, by label, and by the first bound that they stayed under
    buckets: Counter[tuple[str, float]] = field(default_factory=Counter)

    def add(self, label: str, seconds: float) -> None:
        """Add a duration."""
        self.seconds[label] += seconds
        self.buckets[label, next((bound for bound in self.bounds if seconds <= bound), float("inf"))] += 1

    def family(self, name: str, about: str, label: str) -> Family:
        """The histogram for Prometheus, whose buckets include all smaller ones."""
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(name, about, labels=[label])
        for value, total in tuple(self.seconds.items()):
            below, buckets = 0, []
            for bound in (*self.bounds, float("inf")):
                below += self.buckets[value, bound]
                buckets.append(("+Inf" if bound == float("inf") else str(bound), float(below)))
            family.add_metric([value], buckets, total)
        return family


@dataclass
class Traffic:
    """Counts of requests, by method, route template and status."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    durations: Durations = field(default_factory=Durations)
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
            self.durations.add(route, seconds)


#: A sample of a handler's process: its name, its labels and its value.
_Sample = tuple[str, dict[str, str], float]


class HostMetrics:
    """The metrics of one process: those of its applications, and the attempts of its workers."""

    def __init__(self, costs: Callable[[], Mapping[tuple[str, str], Tally]] = dict) -> None:
        self._costs = costs
        self._registry: CollectorRegistry | None = None
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, str, str]] = Counter()
        self._attempt_seconds = Durations(ATTEMPT_BOUNDS)
        #: what handlers' processes have measured: the type and the words of each metric, and its values by sample and labels
        self._described: dict[str, tuple[str, str]] = {}
        self._measured: defaultdict[str, Counter[tuple[str, tuple[tuple[str, str], ...]]]] = defaultdict(Counter)
        self._cut: set[str] = set()

    @property
    def registry(self) -> CollectorRegistry:
        """The registry of prometheus_client in which applications register their metrics."""
        with self._lock:
            if self._registry is None:
                self._registry = _make_registry()
            return self._registry

    def observe(self, jobs: Jobs) -> None:
        """Count the attempts of these handlers in this process, and what those that run in processes of their own measure."""
        jobs.attempt_listeners.append(self.attempt_ended)
        jobs.measurements, jobs.on_measurements = self.measurements, self.add_measurements

    def attempt_ended(self, job: Job) -> None:
        """Count an attempt of a worker of this process."""
        last = job.attempts[-1]
        with self._lock:
            self._attempts[job.job_type, job.queue, last.outcome] += 1
            self._attempt_seconds.add(job.job_type, (last.ended_at - last.started_at).total_seconds())

    def measurements(self) -> list[tuple[str, str, str, list[_Sample]]]:
        """What was registered and counted in this process, as JSON values: what a handler's process sends to its worker."""
        if self._registry is None:
            return []
        return [
            (family.name, family.type, family.documentation, [(one.name, one.labels, one.value) for one in family.samples if one.value])
            for family in self._registry.collect()
            if family.type in _ADDING
        ]

    def add_measurements(self, measured: Iterable[tuple[str, str, str, list[_Sample]]]) -> None:
        """Add what a handler's process has measured."""
        with self._lock:
            for name, kind, about, samples in measured:
                self._described[name] = kind, about
                for sample, labels, value in samples:
                    # When a series began is not a number to add.
                    if not sample.endswith("_created"):
                        self._measured[name][sample, tuple(sorted(labels.items()))] += value  # type: ignore[assignment]

    def families(self) -> Iterator[Family]:
        """The metrics of the applications, with those of handlers' processes added."""
        from prometheus_client.core import Metric

        with self._lock:
            described, measured = dict(self._described), {name: Counter(values) for name, values in self._measured.items()}
        for family in () if self._registry is None else self._registry.collect():
            values = measured.pop(family.name, Counter())
            added = Metric(family.name, family.documentation, family.type)
            for sample in family.samples:
                added.add_sample(
                    sample.name, sample.labels, sample.value + values.pop((sample.name, tuple(sorted(sample.labels.items()))), 0)
                )
            for (name, labels), value in values.items():
                added.add_sample(name, dict(labels), value)
            yield added
        for name, values in measured.items():
            kind, about = described[name]
            alone = Metric(name, about, kind)
            for (sample_name, labels), value in values.items():
                alone.add_sample(sample_name, dict(labels), value)
            yield alone

    def process_families(self) -> Iterator[Family]:
        """The metrics of this process: its requests to the store, its attempts of jobs, and those of its applications."""
        from prometheus_client.core import CounterMetricFamily

        yield from _store(self._costs())
        with self._lock:
            attempts = CounterMetricFamily(
                "gateleg_worker_attempts", "Ended attempts of the workers of this process.", labels=["job_type", "queue", "outcome"]
            )
            for labels, number in self._attempts.items():
                attempts.add_metric(labels, number)
            yield attempts
            about = "Seconds of the attempts of the workers of this process."
            yield self._attempt_seconds.family("gateleg_worker_attempt_seconds", about, "job_type")
        yield from self.families()

    def bounded(self, families: Iterable[Family]) -> Iterator[Family]:
        """The metrics with at most `MAX_SERIES` series each. What is left out is logged once."""
        for family in families:
            series: dict[tuple[tuple[str, str], ...], None] = {}
            kept = []
            for sample in family.samples:
                key = tuple(sorted((name, value) for name, value in sample.labels.items() if name not in _SAMPLE_LABELS))
                if key in series or len(series) < MAX_SERIES:
                    series[key] = None
                    kept.append(sample)
            if len(kept) < len(family.samples) and family.name not in self._cut:
                self._cut.add(family.name)
                _log.warning(
                    "the metric %s has more than %s series: only the first are shown. Use labels with few values", family.name, MAX_SERIES
                )
            family.samples = kept
            yield family


def _make_registry() -> CollectorRegistry:
    try:
        from prometheus_client.metrics import MetricWrapperBase
        from prometheus_client.registry import CollectorRegistry
    except ModuleNotFoundError as error:
        raise explained(error) from None

    class ApplicationRegistry(CollectorRegistry):
        """A registry whose errors say what to do."""

        def register(self, collector: Any) -> None:
            """Register a metric of an application."""
            name = collector._name if isinstance(collector, MetricWrapperBase) else ""
            if name.startswith(_OWN_PREFIX):
                raise BadMetric(f"The metric {name} cannot be registered: names that begin with {_OWN_PREFIX} are the host's own.")
            try:
                super().register(collector)
            except ValueError as error:
                raise BadMetric(
                    f"The metric {name} cannot be registered: {error}.",
                    fix="Register each metric once for a host, and keep it in `resources.state`; give metrics the application's name.",
                ) from None

    return ApplicationRegistry()


@dataclass(frozen=True)
class _Collected:
    """Families that are made when they are asked for, as prometheus_client wants them."""

    collect: Callable[[], Iterable[Family]]


def exposed(accept: str | None, families: Callable[[], Iterable[Family]]) -> tuple[bytes, str]:
    """Metrics as text, and its content type: OpenMetrics for those who accept it, otherwise the text format of Prometheus."""
    from prometheus_client.exposition import choose_encoder

    encode, content_type = choose_encoder(accept or "")
    return encode(_Collected(families)), content_type


def host_families(
    measured: HostMetrics, traffic: Traffic, queues: Iterable[QueueStats], workers: Sequence[WorkerRecord], *, unreadable: int = 0
) -> Iterator[Family]:
    """All metrics of a host."""
    from prometheus_client.core import GaugeMetricFamily

    yield from _traffic(traffic)
    yield from _jobs(queues)
    yield GaugeMetricFamily("gateleg_workers", "Workers alive.", value=len(workers))
    yield GaugeMetricFamily("gateleg_jobs_unreadable", "Items of the job table that are not valid jobs, up to 100.", value=unreadable)
    yield from measured.process_families()


@contextmanager
def serving_metrics(measured: HostMetrics, address: str, port: int, running: Callable[[], int]) -> Iterator[int]:
    """Serve the metrics of a worker on a port, for the length of the block; 0 is a free one. Yields the port.

    Whoever reaches the port reads them, so the address should be this machine's own, or in a network of one's own.
    """
    try:
        from prometheus_client.core import GaugeMetricFamily
        from prometheus_client.exposition import start_http_server
    except ModuleNotFoundError as error:
        raise explained(error) from None

    def families() -> Iterator[Family]:
        yield GaugeMetricFamily("gateleg_worker_running", "Jobs that run in this process.", value=running())
        yield from measured.process_families()

    collected = _Collected(lambda: measured.bounded(families()))
    try:
        server, thread = start_http_server(port, address, collected)
    except OSError as error:
        raise BadMetric(
            f"The metrics cannot be served on {address}:{port}: {error.strerror or error}.", fix="Choose another port with --metrics-port."
        ) from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _traffic(traffic: Traffic) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    counts = CounterMetricFamily("gateleg_http_requests", "Answered requests.", labels=["method", "route", "status"])
    for (method, route, status), number in tuple(traffic.requests.items()):
        counts.add_metric([method, route, str(status)], number)
    yield counts
    yield GaugeMetricFamily("gateleg_http_requests_under_way", "Requests in progress.", value=traffic.under_way)
    yield traffic.durations.family("gateleg_http_request_seconds", "Seconds from a request to the end of its response.", "route")


def _store(costs: Mapping[tuple[str, str], Tally]) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily

    descriptions = {
        "requests": "Requests to the store.",
        "errors": "Requests to the store that failed.",
        "items": "Items returned by the store.",
        "units": "Capacity units consumed, as reported by the store.",
        "seconds": "Seconds taken by requests to the store.",
    }
    for name, about in descriptions.items():
        family = CounterMetricFamily(f"gateleg_store_{name}", about, labels=["pattern", "operation"])
        for labels, tally in costs.items():
            family.add_metric(labels, float(getattr(tally, name)))
        yield family


def _jobs(queues: Iterable[QueueStats]) -> Iterator[Family]:
    from prometheus_client.core import Metric

    for name, group in groupby(metrics(queues), key=lambda figure: figure.name):
        figures = list(group)
        family = Metric(f"gateleg_{name}", f"{figures[0].about}.", "gauge")
        for figure in figures:
            family.add_sample(family.name, dict(figure.labels), figure.value)
        yield family
