"""The statistics of queues as metrics, for Prometheus, CloudWatch or a test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateleg.jobs.monitor.stats import QueueStats, Work

__all__ = ["Metric", "metrics"]

_COUNTS = {
    "claimed": "Attempts that were started",
    "completed": "Jobs that were completed",
    "failed": "Jobs that have failed, after any retries",
    "retried": "Attempts that failed or were lost and are retried",
    "cancelled": "Running jobs that were cancelled",
    "lost_claims": "Claims that were lost to another worker",
}
_TIMES = {
    "run": ("Seconds that attempts took", {"0.5": "run_p50", "0.95": "run_p95"}),
    "wait": ("Seconds that jobs waited between becoming claimable and starting", {"0.5": "wait_p50", "0.95": "wait_p95"}),
}


@dataclass(frozen=True)
class Metric:
    """A named number with labels. All metrics are gauges: they describe the present or the last minutes."""

    #: such as `jobs_waiting`, without a prefix
    name: str
    value: float
    #: such as the queue and the job type
    labels: Mapping[str, str] = field(default_factory=dict)
    #: a description for people
    about: str = ""


def metrics(queues: Iterable[QueueStats]) -> list[Metric]:
    """The metrics of some queues, grouped by name as Prometheus requires."""
    found = [metric for stats in queues for metric in _of_queue(stats)]
    order = {name: place for place, name in enumerate(dict.fromkeys(metric.name for metric in found))}
    return sorted(found, key=lambda metric: order[metric.name])


def _of_queue(stats: QueueStats) -> Iterator[Metric]:
    labels = {"queue": stats.queue}
    yield Metric("jobs_waiting", stats.waiting, labels, "Jobs that can be claimed")
    yield Metric("jobs_delayed", stats.delayed, labels, "Jobs that are delayed until a later time")
    yield Metric("jobs_running", stats.running, labels, "Jobs that are running")
    yield Metric("jobs_oldest_waiting_seconds", stats.oldest_waiting or 0.0, labels, "Seconds that the oldest claimable job has waited")
    yield Metric("jobs_paused", float(stats.mode == "paused"), labels, "Whether the queue starts nothing")
    for state, counts in (("waiting", stats.waiting_by_type), ("running", stats.running_by_type)):
        for kind, number in sorted(counts.items()):
            yield Metric(f"jobs_{state}_by_type", number, {**labels, "type": kind}, f"Jobs that are {state}, by their type")
    yield from _of_work(stats.work, labels, stats.minutes)
    for kind, work in sorted(stats.by_type.items()):
        yield from _of_work(work, {**labels, "type": kind}, stats.minutes)


def _of_work(work: Work, labels: dict[str, str], minutes: int) -> Iterator[Metric]:
    """The counts and times of the last minutes: of a whole queue, or of one job type."""
    suffix = "_by_type" if "type" in labels else ""
    window = f", in the last {minutes} minutes"
    for name, about in _COUNTS.items():
        yield Metric(f"jobs_{name}{suffix}", getattr(work, name), labels, about + window)
    yield Metric(f"jobs_throughput_per_minute{suffix}", work.throughput, labels, "Completed jobs a minute" + window)
    for name, (about, parts) in _TIMES.items():
        for part, attribute in parts.items():
            seconds = getattr(work, attribute)
            if seconds is not None:
                yield Metric(f"jobs_{name}_seconds{suffix}", seconds, {**labels, "quantile": part}, about + window)
