"""Statistics of a queue: the jobs that wait and run now, the counts of the last minutes, and their history for charts.

Finished jobs are not read. Workers count in memory (`WorkerCounters`) and write minute by minute, so that statistics cost few writes. The
worker that maintains a queue adds the counts up to its history: one item for each queue and hour, all read by one query. Each sum is
computed from all counts, so recording a minute again, or by another worker, does no harm.

`metrics` gives the statistics to Prometheus, CloudWatch or a test. `labels` distinguishes jobs of the same type in a list: by the subject,
or by the part of the config that differs.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from gateleg.jobs.admin import state_of, states, workers
from gateleg.jobs.queue_context import collect_stream, count_jobs, jobs_where
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tables.records import Hour, Minute, MinuteCounts
from gateleg.store import put
from gateleg.store.operations import batch_write, find, query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs.monitor.listing import Branch
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow

__all__ = ["Count", "Metric", "distinct_stage", "labels", "lookalikes", "metrics", "moments", "quantile", "series"]

#: How many waiting jobs are read to count their types.
_MAX_TYPED_JOBS = 2000
#: The type of a job that another program has written without a type.
_UNKNOWN = "unknown"
_MAX_PRIORITY = 100
_COUNTED = ("claimed", "lost_claims", "completed", "failed", "retried", "cancelled")


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


#: how many jobs are read to find the queues that nobody serves
_SAMPLE = 200


def queue_names(context: QueueContext) -> Flow[list[str]]:
    """The known queues by name: those of job types, of workers, with a stored state, of the jobs that wait longest, and of the newest.

    A queue that no worker serves is known by its jobs only, and is the one to be found when jobs do not start.
    """
    names = {handler.queue for handler in context.jobs} | set((yield from states(context)))
    for worker in (yield from workers(context)):
        names |= set(worker.queues)
    longest = yield from jobs_where(context, lambda job: job.in_status(status=JobStatus.PENDING), limit=_SAMPLE)
    newest = yield from jobs_where(context, lambda job: job.in_status(status=JobStatus.PENDING).reversed(), limit=_SAMPLE)
    names |= {job.queue for job in (*longest, *newest)}
    return sorted(names) or ["default"]


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
        jobs = yield from collect_stream(query(question, limit=1, project=(Job.priority, Job.created_at)), context)
        if not jobs:
            break
        (first,) = jobs
        created: datetime = first.get("created_at", context.now())
        oldest = created if oldest is None else min(oldest, created)
        # Another program may have changed the priority without the key, so the bound falls in any case.
        below = min(below - 1, first.get("priority", below))
        question = waiting.where(Job.priority < below)
    return None if oldest is None else (context.now() - oldest).total_seconds()


def summed(recorded: Sequence[MinuteCounts], minutes: int) -> Work:
    """The sum of the counts of many minutes and workers."""
    counts = {name: sum(getattr(minute, name) for minute in recorded) for name in _COUNTED}
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


Count = Literal["claimed", "completed", "failed", "retried", "cancelled", "lost_claims", "waiting", "running"]
_COUNTS = ("claimed", "completed", "failed", "retried", "cancelled", "lost_claims")
#: How many minutes are added up each time: workers write their counts up to 15 seconds late, or later if the store is busy.
_MINUTES = 3
#: Waiting and running jobs are counted up to this number, which is enough for a chart.
_MAX_DEPTH = 1000
_RETENTION = timedelta(hours=49)


def minute_of(time: datetime) -> datetime:
    """The time without seconds."""
    return time.replace(second=0, microsecond=0)


def record_history(context: QueueContext, queue: str) -> Flow[int]:
    """Add the last minutes of a queue to its history, and return how many hours have changed. Workers call it."""
    now = context.now()
    since = minute_of(now) - timedelta(minutes=_MINUTES - 1)
    recent = context.tables.minute_counts.of_queue(queue=queue).where(MinuteCounts.minute >= since)
    counted = yield from collect_stream(query(recent), context)
    waiting = running = 0
    for member in context.members:
        waiting += yield from count_jobs(member.tables.job.ready(queue=queue), context, limit=_MAX_DEPTH)
        running += yield from count_jobs(member.tables.job.leased(queue=queue), context, limit=_MAX_DEPTH)
    minutes = minutes_of(counted)
    current = minutes.get(minute_of(now), Minute())
    minutes[minute_of(now)] = current.model_copy(update={"waiting": waiting, "running": running})
    changed = 0
    for hour in sorted({time.replace(minute=0) for time in minutes}):
        fresh = {str(time.minute): minute for time, minute in minutes.items() if time.replace(minute=0) == hour}
        changed += yield from _update_hour(context, queue, hour, fresh)
    return changed


def minutes_of(counted: Iterable[MinuteCounts]) -> dict[datetime, Minute]:
    """The counts of all types and workers, added up by minute."""
    sums: dict[datetime, dict[str, int]] = {}
    for minute in counted:
        counts = sums.setdefault(minute.minute, dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            counts[name] += getattr(minute, name)
    return {time: Minute(**counts) for time, counts in sums.items()}


def _update_hour(context: QueueContext, queue: str, hour: datetime, fresh: dict[str, Minute]) -> Flow[int]:
    known = yield from find(context.tables.hour, queue=queue, hour=hour, consistent=True).flow(context.setup)
    before = known.minutes if known is not None else {}
    after = dict(before)
    for number, minute in fresh.items():
        seen = before.get(number, Minute())
        # The depth of the queue is known only for the minute in which it was counted.
        kept = {name: getattr(seen, name) for name in ("waiting", "running") if getattr(minute, name) is None}
        after[number] = minute.model_copy(update=kept)
    if after == before:
        return 0
    hour_item = context.tables.hour(queue=queue, hour=hour, minutes=after, expires_at=hour + _RETENTION)
    yield from put(hour_item, returning="none").flow(context.setup)
    return 1


def history(context: QueueContext, *, hours: int = 24) -> Flow[list[Hour]]:
    """The history of all queues during the last `hours`: an item for each queue and hour, for `series`."""
    since = context.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours - 1)
    stored: list[Hour] = []
    for tables in context.ledgers:
        stored += yield from collect_stream(query(tables.hour.since().where(Hour.hour >= since)), context)
    return stored


def series(
    hours: Sequence[Hour], name: Count, until: datetime, *, queue: str | None = None, step: int = 60, points: int = 24
) -> list[int | None]:
    """One count of a history as the points of a chart, oldest first. Each point covers `step` minutes, and the last one includes `until`.

    Each point is a sum; for `waiting` and `running` it is the maximum, or None where nothing was recorded. Without a `queue`, all queues
    are added up.
    """
    ends = int(until.timestamp()) // (60 * step)
    depth = name in ("waiting", "running")
    seen: dict[int, dict[int, int]] = {}
    for hour in hours:
        if queue is not None and hour.queue != queue:
            continue
        for number, minute in hour.minutes.items():
            value = getattr(minute, name)
            if value is not None:
                at = int(hour.hour.timestamp()) // 60 + int(number)
                values = seen.setdefault(at // step, {})
                values[at] = values.get(at, 0) + value
    blank = None if depth else 0
    steps = (seen.get(place) for place in range(ends - points + 1, ends + 1))
    return [blank if not values else (max if depth else sum)(values.values()) for values in steps]


def moments(until: datetime, *, step: int = 60, points: int = 24) -> list[datetime]:
    """The start times of the points of a series."""
    ends = int(until.timestamp()) // (60 * step)
    return [datetime.fromtimestamp(place * 60 * step, UTC) for place in range(ends - points + 1, ends + 1)]


_EXPORTED_COUNTS = {
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
    unordered = [metric for stats in queues for metric in _of_queue(stats)]
    order = {name: place for place, name in enumerate(dict.fromkeys(metric.name for metric in unordered))}
    return sorted(unordered, key=lambda metric: order[metric.name])


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
    for name, about in _EXPORTED_COUNTS.items():
        yield Metric(f"jobs_{name}{suffix}", getattr(work, name), labels, about + window)
    yield Metric(f"jobs_throughput_per_minute{suffix}", work.throughput, labels, "Completed jobs a minute" + window)
    for name, (about, parts) in _TIMES.items():
        for part, attribute in parts.items():
            seconds = getattr(work, attribute)
            if seconds is not None:
                yield Metric(f"jobs_{name}_seconds{suffix}", seconds, {**labels, "quantile": part}, about + window)


#: The maximum length of a label, and the maximum number of values in it.
_MAX_LABEL_CHARACTERS, _MAX_VALUES = 48, 2


def distinct_stage(job_type: str, stage: str | None) -> str | None:
    """The stage, unless it only repeats the type: `report` adds nothing to `demo.report`."""
    if not stage or stage.lower() in (job_type.lower(), job_type.lower().rpartition(".")[2]):
        return None
    return stage


def labels(jobs: Iterable[Job]) -> dict[UUID, str]:
    """Labels for jobs with the same parent, type and stage, which would otherwise look alike.

    Other jobs have none. Jobs without any difference are labelled with the beginning of their id.
    """
    alike: dict[tuple[Any, ...], list[Job]] = {}
    for job in jobs:
        alike.setdefault((job.parent_job_id, job.job_type, distinct_stage(job.job_type, job.job_stage)), []).append(job)
    return {job_id: label for group in alike.values() if len(group) > 1 for job_id, label in _distinguish(group).items()}


def lookalikes(branch: Branch, order: Callable[[Sequence[Branch]], Sequence[Branch]] = tuple) -> list[UUID]:
    """The jobs of a tree that share type and stage with a sibling; siblings in the order that `order` gives them."""
    job_ids: list[UUID] = []
    for parent in branch:
        names = Counter((child.job_type, child.stage) for child in parent.children)
        job_ids += [child.job_id for child in order(parent.children) if names[child.job_type, child.stage] > 1]
    return job_ids


def _distinguish(group: Sequence[Job]) -> dict[UUID, str]:
    subjects = [job.subject or "" for job in group]
    if len(set(subjects)) == len(group):
        return {job.job_id: _shortened(job.subject or str(job.job_id)[:8]) for job in group}
    differing = _differing([_flat(job.job_config) for job in group])
    several = len(set(subjects)) > 1
    return {
        job.job_id: _shortened(", ".join([*([job.subject] if several and job.subject else []), *words]) or str(job.job_id)[:8])
        for job, words in zip(group, differing, strict=True)
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL_CHARACTERS else f"{text[: _MAX_LABEL_CHARACTERS - 1]}…"


def _differing(configs: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """The values of each config that the others do not have: of one field if that is enough, or of the first few that differ."""
    names = list(dict.fromkeys(name for config in configs for name in config))
    differing = [name for name in names if len({config.get(name) for config in configs}) > 1]
    enough = next(([name] for name in differing if len({config.get(name) for config in configs}) == len(configs)), differing[:_MAX_VALUES])
    return [[f"{name} {config[name]}" for name in enough if name in config] for config in configs]


def _flat(config: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """A config as texts by name; names in nested objects are joined with dots."""
    texts: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            texts |= _flat(value, f"{above}{name}.")
        else:
            texts[f"{above}{name}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return texts
