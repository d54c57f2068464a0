"""Delayed jobs: promoting jobs that are due, and correcting delays that were written by a clock that is ahead.

The process that delays a job computes its due time with its own clock. If the delay starts in the future by the clock of the worker that
maintains the queue, the other clock is ahead, and the delay starts over from now. A due time that the submitter chose (`run_at`) has no
start, and is never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import UUID

from gateleg.jobs.adoption import adopt_by_id
from gateleg.jobs.claim.selection import readable_items
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.model import ModelError
from gateleg.model.codec.wire import to_utc
from gateleg.store import ConditionFailed, NotFound, patch
from gateleg.store.flow import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Item
    from gateleg.store.flow import Flow

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
