"""Counting what a worker does, in memory, and writing it down minute by minute: statistics that cost one small write now and then."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateleg.store import batch_write

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.tables.records import MinuteCounts
    from gateleg.store.flow import Flow

__all__ = ["quantile"]


#: How many buckets a doubling of time is divided into: a bucket's bounds are 19 % apart.
_STEPS = 4
_MINUTE = timedelta(minutes=1)
#: What outcomes are counted as, where that is not their own name.
_COUNTED = {"lost": "retried", "snoozed": "", "released": ""}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def bucket_of(seconds: float) -> str:
    """The bucket of a time: the smallest quarter of a power of two of milliseconds that holds it. Shorter times count as a microsecond."""
    return str(math.ceil(_STEPS * math.log2(max(seconds * 1000, 0.001)) - 1e-9))


def bound_of(bucket: str) -> float:
    """The longest time of a bucket, in seconds."""
    return float(2 ** (int(bucket) / _STEPS) / 1000)


def quantile(buckets: dict[str, int], part: float) -> float | None:
    """The time, in seconds, that a part of all runs has stayed under; None without runs. At most 19 % too long."""
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
class Tallies:
    """What one worker has counted and not yet forgotten. Every item that it writes replaces the one before."""

    worker_id: str
    _known: dict[tuple[str, str, datetime], _Counts] = field(default_factory=dict)
    #: the minute that was counted in last
    _minute: datetime = _LONG_AGO

    def count(self, queue: str, job_type: str, now: datetime, name: str, number: int = 1) -> None:
        """Count something that happened to a job of a type."""
        self._at(queue, job_type, now).counts[name] += number

    def claimed(self, job: Job, now: datetime) -> None:
        """Count a claim, and how long the job has waited."""
        counts = self._at(job.queue, job.job_type, now)
        counts.counts["claimed"] += 1
        ready = max(job.created_at, job.run_at or job.created_at)
        counts.waits[bucket_of((now - ready).total_seconds())] += 1

    def ended(self, job: Job) -> None:
        """Count the end of an attempt, and how long it took."""
        last = job.attempts[-1]
        name = _COUNTED.get(last.outcome, last.outcome)
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
        """The items to write: of every minute that has changed."""
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
                        expires_at=minute + context.settings.tallies,
                        **values,
                    )
                )
        return items

    def written(self, items: list[MinuteCounts], now: datetime) -> None:
        """Forget minutes that are over and written; what was counted meanwhile is written with the next ones."""
        minute = now.replace(second=0, microsecond=0)
        for item in items:
            place = (item.queue, item.job_type, item.minute)
            counts = self._known[place]
            if counts.counts["claimed"] + sum(counts.runs.values()) == item.claimed + sum(item.run_times.values()):
                counts.dirty = False
                if item.minute < minute:
                    del self._known[place]


def write_tallies(context: QueueContext, tallies: Tallies) -> Flow[int]:
    """Write down what was counted; how many items that took."""
    items = tallies.due(context)
    if items:
        yield from batch_write(items).flow(context.setup)
        tallies.written(items, context.now())
    return len(items)
