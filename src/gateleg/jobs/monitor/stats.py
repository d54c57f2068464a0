"""Statistics of a queue: the jobs that wait and run now, and counts of the last minutes. Finished jobs are not read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.monitor.counts import quantile
from gateleg.jobs.queue_admin import state_of
from gateleg.jobs.queue_context import collect_stream, count_jobs
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tables.records import MinuteCounts
from gateleg.store.operations import query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow

#: How many waiting jobs are read to count their types.
_MAX_TYPED_JOBS = 2000
#: The type of a job that another program has written without a type.
_UNKNOWN = "unknown"
_MAX_PRIORITY = 100
_COUNTS = ("claimed", "lost_claims", "completed", "failed", "retried", "cancelled")


@dataclass(frozen=True)
class Work:
    """Counts and times of the last minutes, for one job type or for all."""

    #: attempts that were started
    claimed: int = 0
    #: claims that were lost to another worker
    lost_claims: int = 0
    completed: int = 0
    #: jobs that have failed, after any retries
    failed: int = 0
    #: attempts that failed or were lost and are retried
    retried: int = 0
    #: running jobs that were cancelled
    cancelled: int = 0
    #: completed jobs per minute
    throughput: float = 0.0
    #: the median run time of attempts in seconds; these four times are at most 19 % too high
    run_p50: float | None = None
    #: the 95th percentile of run times
    run_p95: float | None = None
    #: the median wait, from when a job became claimable to its start
    wait_p50: float | None = None
    #: the 95th percentile of waits
    wait_p95: float | None = None


@dataclass(frozen=True)
class QueueStats:
    """Statistics of a queue."""

    queue: str
    #: `running`, `paused` or `draining`
    mode: str
    #: the number of claimable jobs
    waiting: int
    #: the number of jobs whose time has not come
    delayed: int
    running: int
    #: how many seconds the oldest claimable job has waited
    oldest_waiting: float | None
    #: the number of minutes that `work` and `by_type` cover
    minutes: int
    #: counts and times of all job types together
    work: Work = field(default_factory=Work)
    #: counts and times of each job type
    by_type: dict[str, Work] = field(default_factory=dict)
    #: the number of waiting jobs of each type, among the first 2,000
    waiting_by_type: dict[str, int] = field(default_factory=dict)
    #: the number of running jobs of each type
    running_by_type: dict[str, int] = field(default_factory=dict)


def stats(context: QueueContext, queue: str, *, minutes: int = 15) -> Flow[QueueStats]:
    """The statistics of a queue: its waiting and running jobs now, and counts of the last `minutes`. Does not read finished jobs."""
    state = yield from state_of(context, queue)
    waiting = delayed = 0
    first: list[dict[str, Any]] = []
    leased: list[dict[str, Any]] = []
    ages: list[float | None] = []
    for member in context.members:
        kind = member.tables.job
        ready = yield from collect_stream(query(kind.ready(queue=queue), limit=_MAX_TYPED_JOBS, project=[Job.job_type]), context)
        number = len(ready) if len(ready) < _MAX_TYPED_JOBS else (yield from count_jobs(kind.ready(queue=queue), context))
        waiting += number
        first += ready
        delayed += yield from count_jobs(kind.due(queue=queue), context)
        leased += yield from collect_stream(query(kind.leased(queue=queue), project=[Job.job_type]), context)
        ages.append((yield from _oldest(member, queue)) if number else None)
    oldest = max((age for age in ages if age is not None), default=None)
    since = context.now() - timedelta(minutes=minutes)
    counted: list[MinuteCounts] = []
    for tables in context.ledgers:
        recent = tables.minute_counts.of_queue(queue=queue).where(MinuteCounts.minute >= since)
        counted += yield from collect_stream(query(recent), context)
    types = sorted({minute.job_type for minute in counted} - {"-"})
    return QueueStats(
        queue=queue,
        mode=state.mode if state is not None else "running",
        waiting=waiting,
        delayed=delayed,
        running=len(leased),
        oldest_waiting=oldest,
        minutes=minutes,
        work=summed(counted, minutes),
        by_type={name: summed([minute for minute in counted if minute.job_type == name], minutes) for name in types},
        waiting_by_type=dict(Counter(values.get("job_type", _UNKNOWN) for values in first)),
        running_by_type=dict(Counter(values.get("job_type", _UNKNOWN) for values in leased)),
    )


def _oldest(context: QueueContext, queue: str) -> Flow[float | None]:
    """The seconds that the oldest claimable job has waited. Reads the first job of each priority."""
    oldest: datetime | None = None
    waiting = context.tables.job.ready(queue=queue)
    question, below = waiting, _MAX_PRIORITY + 1
    while below > 0:
        found = yield from collect_stream(query(question, limit=1, project=(Job.priority, Job.created_at)), context)
        if not found:
            break
        (first,) = found
        created: datetime = first.get("created_at", context.now())
        oldest = created if oldest is None else min(oldest, created)
        # Another program may have changed the priority without the key, so the bound falls in any case.
        below = min(below - 1, first.get("priority", below))
        question = waiting.where(Job.priority < below)
    return None if oldest is None else (context.now() - oldest).total_seconds()


def summed(recorded: Sequence[MinuteCounts], minutes: int) -> Work:
    """The sum of the counts of many minutes and workers."""
    counts = {name: sum(getattr(minute, name) for minute in recorded) for name in _COUNTS}
    runs, waits = Counter[str](), Counter[str]()
    for minute in recorded:
        runs.update(minute.run_times)
        waits.update(minute.wait_times)
    return Work(
        **counts,
        throughput=counts["completed"] / minutes,
        run_p50=quantile(runs, 0.5),
        run_p95=quantile(runs, 0.95),
        wait_p50=quantile(waits, 0.5),
        wait_p95=quantile(waits, 0.95),
    )
