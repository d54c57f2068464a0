"""Leases of running jobs, and the times of delayed ones, among processes whose clocks differ.

A heartbeat renews a lease, and writes new progress and log lines. Workers write times of their own clocks, which may differ by hours, so
these are never compared with another clock: a lease has expired when a `LeaseObserver` has seen it unchanged for its duration.

The process that delays a job computes its due time with its own clock, too. If the delay starts in the future by the clock of the worker
that maintains the queue, the other clock is ahead, and the delay starts over from now. A due time that the submitter chose (`run_at`) has
no start, and is never changed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar
from uuid import UUID

from gateleg.jobs.adoption import adopt_by_id
from gateleg.jobs.claim import readable_items
from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.finish import is_retryable, reap_one
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import Job, JobStatus, Readiness, Running
from gateleg.jobs.tables.records import moved_to
from gateleg.model import ModelError
from gateleg.model.wire import to_utc
from gateleg.store import ConditionFailed, NotFound, TooLarge, TransactionCanceled, patch, put
from gateleg.store.flow import Request
from gateleg.store.operations import find, query, transact
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Logs, Progress
    from gateleg.jobs.tables.records import EventChunk, LogChunk
    from gateleg.model import Item, UpdateAction
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

_log = logging.getLogger("gateleg.jobs")
N = TypeVar("N")


@dataclass(frozen=True)
class LeaseRenewal:
    """A renewed lease: its new end, and whether the job is to be cancelled."""

    until: datetime
    cancel: bool = False


def renew(
    context: QueueContext,
    claimed: Job,
    *,
    progress: Progress | None = None,
    logs: Logs | None = None,
    chunk: LogChunk | None = None,
    events: EventChunk | None = None,
) -> Flow[LeaseRenewal]:
    """Renew the lease of a claimed job and write its new output: a heartbeat. The job's version stays the same.

    Raises `LeaseLost` if the lease has expired and another worker has the job, or the job was cancelled by force.
    """
    until = context.now() + timedelta(seconds=context.settings.lease_seconds)
    actions: list[UpdateAction] = [Running.lease_until.set(until)]
    if progress is not None:
        actions.append(Running.progress.set(progress))
    if logs is not None:
        actions.append(Running.logs.set(logs))
    if events is not None:
        actions.append(Running.emitted.set(events.first + len(events.events)))
    still_owned = (Running.lease_token == claimed.lease_token) & (Running.status == str(JobStatus.PROCESSING))
    write = patch(context.tables.running.key(job_id=claimed.job_id), *actions, condition=still_owned)
    try:
        chunks = _chunk_writes(context, chunk, events)
        if not chunks:
            running: Running | None = yield from write.flow(context.setup)
        else:
            yield from transact([write, *chunks]).flow(context.setup)
            running = yield from find(context.tables.running, job_id=claimed.job_id, consistent=True).flow(context.setup)
    except (ConditionFailed, NotFound, TransactionCanceled) as refused:
        raise LeaseLost(f"Worker {claimed.worker_id} no longer owns job {claimed.job_id}.") from refused
    return LeaseRenewal(until, running is not None and running.cancel_requested is not None)


def _chunk_writes(context: QueueContext, chunk: LogChunk | None, events: EventChunk | None) -> list[WriteOperation[Any]]:
    """The writes of log lines and events that are stored in their own items."""
    writes: list[WriteOperation[Any]] = []
    if chunk is not None:
        writes.append(put(moved_to(context.tables.log_chunk, chunk)))
    if events is not None:
        writes.append(put(moved_to(context.tables.event_chunk, events)))
    return writes


def reap(context: QueueContext, queue: str, leases: LeaseObserver[UUID], limit: int = 25) -> Flow[list[Job]]:
    """Recover up to `limit` jobs of lost workers: return them to the queue, or fail them if lost too often. Returns the updated jobs.

    A worker is lost if a lease of its jobs stays unchanged for the duration of the lease, across calls with the same `leases`.
    """
    attributes = (Job.job_id, Job.lease_until, Job.worker_id, Job.status)
    leased = yield from collect_stream(query(context.tables.job.leased(queue=queue), project=attributes), context)
    for values in leased:
        if values.get("status") != JobStatus.PROCESSING:
            # Another program has ended it, and left its lease behind.
            yield from adopt_by_id(context, str(values["job_id"]))
    leased = [values for values in leased if values.get("status") == JobStatus.PROCESSING]
    running = {values["job_id"]: values for values in leased}
    ages = leases.observe({job_id: values["lease_until"] for job_id, values in running.items()}, context.setup.ticks())
    stale = [job_id for job_id, age in ages.items() if age >= context.settings.lease_seconds]
    if not stale:
        return []
    workers = yield from collect_stream(query(context.tables.worker_record.every()), context, expired=True)
    lease_seconds = {worker.worker_id: worker.lease_seconds for worker in workers}
    reaped = []
    for job_id in stale[:limit]:
        if ages[job_id] < (lease_seconds.get(running[job_id].get("worker_id", "")) or 0.0):
            # Its worker was started with a longer lease than this one.
            continue
        try:
            job = yield from reap_one(context, job_id, running[job_id]["lease_until"])
        except (ModelError, TooLarge, ServiceError) as error:
            if isinstance(error, ServiceError) and is_retryable(error):
                raise
            # A newer version of the program may have written this job. Continue with the others.
            _log.warning("could not recover job %s of a lost worker: %s", job_id, error)
            continue
        if job is not None:
            reaped.append(job)
    return reaped


class LeaseObserver(Generic[N]):
    """How long each of several named values has been observed unchanged."""

    def __init__(self) -> None:
        self._observed: dict[N, tuple[object, float]] = {}

    def observe(self, values: Mapping[N, object], tick: float) -> dict[N, float]:
        """Record the current values, and return for each name how many seconds ago its value was first observed.

        `tick` is the monotonic time. Names that are missing from the values are forgotten.
        """
        current = {name: (value, tick) for name, value in values.items()}
        unchanged = {name: seen for name, seen in self._observed.items() if name in current and current[name][0] == seen[0]}
        self._observed = current | unchanged
        return {name: tick - since for name, (_, since) in self._observed.items()}


#: The clock difference from which delays are corrected.
_TOLERANCE = timedelta(seconds=5)


def promote(context: QueueContext, queue: str, limit: int = 25) -> Flow[int]:
    """Make up to `limit` delayed jobs of a queue claimable whose time has come, and return how many. Workers call it.

    Items that another program wrote and that cannot be promoted stay in the index; the jobs behind them are promoted nevertheless.
    """
    due = context.tables.job.due(queue=queue).where(Job.run_at <= context.now())
    promoted, start, first = 0, None, True
    while promoted < limit and (first or start is not None):
        (payload,) = due.requests(table_name=context.queue_table_name, limit=limit, start=start)
        response = yield Request("Query", payload, "Job.due")
        jobs, strays = readable_items(response["Items"], Due.read)
        for job in jobs:
            if (yield from _promote(context, queue, job)):
                promoted += 1
            else:
                # Another worker was faster, the job was cancelled, or another program wrote it in another form, or with invalid values.
                strays.append(str(job.job_id))
        for job_id in strays:
            # In further pages, only what is not known to be invalid: a repaired item is forgotten soon.
            if first or not context.notices.knows(job_id):
                yield from adopt_by_id(context, job_id)
        start, first = response.get("LastEvaluatedKey"), False
    return promoted


def _promote(context: QueueContext, queue: str, job: Due) -> Flow[bool]:
    """Make a due job claimable. False if that cannot be done with what the index has of it."""
    known = {"status": JobStatus.PENDING, "queue": queue, **{name: getattr(job, name) for name in ("priority", "created_at", "run_at")}}
    ref, unchanged = context.tables.job.key(job_id=job.job_id), Job.version == job.version
    try:
        yield from patch(ref, Job.readiness.set(Readiness.READY), known=known, condition=unchanged, returning="none").flow(context.setup)
    except (ConditionFailed, NotFound, ModelError):
        return False
    return True


class Due(NamedTuple):
    """A delayed job whose time has come, as read from `DueIndex`."""

    job_id: UUID
    version: int
    priority: int
    created_at: datetime
    run_at: datetime

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Decode an index item."""
        return cls(
            job_id=UUID(item["job_id"]["S"]),
            version=int(item["version"]["N"]),
            priority=int(item["priority"]["N"]),
            created_at=to_utc(datetime.fromisoformat(item["created_at"]["S"])),
            run_at=to_utc(datetime.fromisoformat(item["run_at"]["S"])),
        )


class Delayed(NamedTuple):
    """A delayed job as read from `DueIndex`."""

    job_id: UUID
    version: int
    run_at: datetime
    #: None when the submitter chose the due time, and in an index that was created before it projected this attribute
    delayed_at: datetime | None

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Decode an index item."""
        began = item.get("delayed_at")
        return cls(
            job_id=UUID(item["job_id"]["S"]),
            version=int(item["version"]["N"]),
            run_at=to_utc(datetime.fromisoformat(item["run_at"]["S"])),
            delayed_at=None if began is None else to_utc(datetime.fromisoformat(began["S"])),
        )


def corrected_run_at(delayed: Delayed, now: datetime) -> datetime | None:
    """The due time if the delay starts over at `now`; None if the delay needs no correction."""
    if delayed.delayed_at is None or delayed.delayed_at <= now + _TOLERANCE:
        return None
    return now + (delayed.run_at - delayed.delayed_at)


@dataclass(frozen=True)
class DelayCorrections:
    """How many delays were corrected, and the key at which the next check continues (None once all jobs were checked)."""

    number: int
    next: Item | None = None


def correct_delays(context: QueueContext, queue: str, start: Item | None = None, *, examine: int = 500) -> Flow[DelayCorrections]:
    """Restart the delays that a clock that is ahead has written, among the next `examine` delayed jobs of a queue. Workers call it.

    `start` continues where the previous call ended (`DelayCorrections.next`).
    """
    now = context.now()
    due = context.tables.job.due(queue=queue)
    if start is None:
        due = due.where(Job.run_at > now)
    # Without a projection: an index that was created before it projected `delayed_at` would reject it.
    (payload,) = due.requests(table_name=context.queue_table_name, limit=examine, start=start)
    response = yield Request("Query", payload, "Job.due")
    number = 0
    # Strays are adopted when they are due.
    for delayed in readable_items(response["Items"], Delayed.read)[0]:
        run_at = corrected_run_at(delayed, now)
        if run_at is not None:
            number += yield from _write_corrected_run_at(context, queue, delayed, run_at, now)
    return DelayCorrections(number, response.get("LastEvaluatedKey"))


def _write_corrected_run_at(context: QueueContext, queue: str, delayed: Delayed, run_at: datetime, now: datetime) -> Flow[int]:
    """Write the corrected due time. Returns 1, or 0 if the job has changed since it was read."""
    known = {"status": JobStatus.PENDING, "readiness": Readiness.DELAYED, "queue": queue}
    actions = (Job.run_at.set(run_at), Job.delayed_at.set(now))
    ref, unchanged = context.tables.job.key(job_id=delayed.job_id), Job.version == delayed.version
    try:
        yield from patch(ref, *actions, known=known, condition=unchanged, returning="none").flow(context.setup)
    except (ConditionFailed, NotFound, ModelError):
        return 0
    return 1
