"""The counters of a worker, kept in memory and written minute by minute, so that statistics cost few writes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateleg.store.operations import batch_write

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.tables.records import MinuteCounts
    from gateleg.store.flow import Flow

__all__ = ["quantile"]


#: Buckets per doubling of a duration: the bounds of a bucket are 19 % apart.
_BUCKETS_PER_DOUBLING = 4
_MINUTE = timedelta(minutes=1)
#: The counter of an outcome, if it has another name; empty if the outcome is not counted.
_COUNTER_OF_OUTCOME = {"lost": "retried", "snoozed": "", "released": ""}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def bucket_of(seconds: float) -> str:
    """The histogram bucket of a duration: its binary logarithm in milliseconds, times four, rounded up. The minimum is a microsecond."""
    return str(math.ceil(_BUCKETS_PER_DOUBLING * math.log2(max(seconds * 1000, 0.001)) - 1e-9))


def bound_of(bucket: str) -> float:
    """The upper bound of a bucket, in seconds."""
    return float(2 ** (int(bucket) / _BUCKETS_PER_DOUBLING) / 1000)


def quantile(buckets: dict[str, int], part: float) -> float | None:
    """A quantile of recorded durations in seconds (`part=0.95` is p95), at most 19 % too high; None if none were recorded."""
    total = sum(buckets.values())
    if total == 0:
        return None
    seen, last = 0, ""
    for bucket in sorted(buckets, key=int):
        seen, last = seen + buckets[bucket], bucket
        if seen >= part * total:
            break
    return bound_of(last)


@dataclass
class _Counts:
    counts: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    dirty: bool = True


@dataclass
class WorkerCounters:
    """The counts of one worker by queue, job type and minute. Each written item replaces the previous one of the same minute."""

    worker_id: str
    _known: dict[tuple[str, str, datetime], _Counts] = field(default_factory=dict)
    #: the current minute
    _minute: datetime = _LONG_AGO

    def count(self, queue: str, job_type: str, now: datetime, name: str, number: int = 1) -> None:
        """Add to one counter."""
        self._at(queue, job_type, now).counts[name] += number

    def claimed(self, job: Job, now: datetime) -> None:
        """Count a claim and how long the job waited."""
        counts = self._at(job.queue, job.job_type, now)
        counts.counts["claimed"] += 1
        ready = max(job.created_at, job.run_at or job.created_at)
        counts.waits[bucket_of((now - ready).total_seconds())] += 1

    def ended(self, job: Job) -> None:
        """Count the end of an attempt and how long it took."""
        last = job.attempts[-1]
        name = _COUNTER_OF_OUTCOME.get(last.outcome, last.outcome)
        counts = self._at(job.queue, job.job_type, last.ended_at)
        if name:
            counts.counts[name] += 1
        counts.runs[bucket_of((last.ended_at - (job.started_at or last.started_at)).total_seconds())] += 1

    def _at(self, queue: str, job_type: str, now: datetime) -> _Counts:
        if not self._minute <= now < self._minute + _MINUTE:
            self._minute = now.replace(second=0, microsecond=0)
        place = (queue, job_type, self._minute)
        counts = self._known.get(place)
        if counts is None:
            counts = self._known[place] = _Counts()
        counts.dirty = True
        return counts

    def due(self, context: QueueContext) -> list[MinuteCounts]:
        """The items of all minutes that have changed since they were written."""
        items = []
        for (queue, job_type, minute), counts in self._known.items():
            if counts.dirty:
                values = {name: counts.counts[name] for name in ("claimed", "lost_claims", "completed", "failed", "retried", "cancelled")}
                items.append(
                    context.tables.minute_counts(
                        queue=queue,
                        minute=minute,
                        job_type=job_type,
                        worker_id=self.worker_id,
                        run_times=dict(counts.runs),
                        wait_times=dict(counts.waits),
                        expires_at=minute + context.settings.counts,
                        **values,
                    )
                )
        return items

    def written(self, items: list[MinuteCounts], now: datetime) -> None:
        """Record that these items were written, and forget past minutes. A minute that was counted in meanwhile is written again."""
        minute = now.replace(second=0, microsecond=0)
        for item in items:
            place = (item.queue, item.job_type, item.minute)
            counts = self._known[place]
            if counts.counts["claimed"] + sum(counts.runs.values()) == item.claimed + sum(item.run_times.values()):
                counts.dirty = False
                if item.minute < minute:
                    del self._known[place]


def write_counts(context: QueueContext, counters: WorkerCounters) -> Flow[int]:
    """Write a worker's counts that have changed, and return the number of items written. Workers call it."""
    items = counters.due(context)
    if items:
        yield from batch_write(items).flow(context.setup)
        counters.written(items, context.now())
    return len(items)
