"""Delayed jobs: waking those whose time has come, and counting a delay anew that was written by a clock which is ahead.

The time at which a delayed job is due comes from the clock of whoever has put it off. A delay that began in the future, as the clock of the
worker says that watches the queue, was written by a clock that is ahead of it, so it is counted from now on. Times that people have chosen
have no such beginning, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import UUID

from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.store import ConditionFailed, NotFound, patch, query
from gateleg.store.flow import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Item
    from gateleg.store.flow import Flow

#: By how much clocks may differ before a delay is counted anew.
_TOLERANCE = timedelta(seconds=5)


def promote(context: QueueContext, queue: str, limit: int = 25) -> Flow[int]:
    """Make delayed jobs whose time has come claimable; how many there were."""
    wanted = (Job.job_id, Job.version, Job.queue, Job.priority, Job.created_at, Job.run_at)
    due = context.tables.job.due(queue=queue).where(Job.run_at <= context.now())
    found = yield from collect_stream(query(due, limit=limit, project=wanted), context)
    promoted = 0
    for values in found:
        known = {"status": JobStatus.PENDING} | {name: values[name] for name in ("queue", "priority", "created_at", "run_at")}
        ready = Job.readiness.set(Readiness.READY)
        ref = context.tables.job.key(job_id=values["job_id"])
        operation = patch(ref, ready, known=known, condition=Job.version == values["version"], returning="none")
        try:
            yield from operation.flow(context.setup)
            promoted += 1
        except (ConditionFailed, NotFound):
            # Another worker was faster, or the job was cancelled.
            continue
    return promoted


class Delayed(NamedTuple):
    """A delayed job as the index shows it."""

    job_id: UUID
    version: int
    run_at: datetime
    #: None when its time was chosen, and when the index was made before it projected this
    delayed_at: datetime | None

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """A delayed job from what the index holds, as it is on the wire."""
        began = item.get("delayed_at")
        return cls(
            job_id=UUID(item["job_id"]["S"]),
            version=int(item["version"]["N"]),
            run_at=datetime.fromisoformat(item["run_at"]["S"]),
            delayed_at=None if began is None else datetime.fromisoformat(began["S"]),
        )


def recounted(delayed: Delayed, now: datetime) -> datetime | None:
    """When a job is due by the clock that says `now`, if the delay that it waits for began in that clock's future; else None."""
    if delayed.delayed_at is None or delayed.delayed_at <= now + _TOLERANCE:
        return None
    return now + (delayed.run_at - delayed.delayed_at)


@dataclass(frozen=True)
class Recount:
    """How many delays were counted anew, and where the next look goes on; None once all were examined."""

    number: int
    next: Item | None = None


def recount_delays(context: QueueContext, queue: str, start: Item | None = None, *, examine: int = 500) -> Flow[Recount]:
    """Count delays anew that a clock which is ahead has written, among the next `examine` jobs of a queue that are not due yet."""
    now = context.now()
    question = context.tables.job.due(queue=queue)
    if start is None:
        question = question.where(Job.run_at > now)
    # Without a list of attributes: an index that was made before it projected all of them would refuse it.
    (payload,) = question.requests(table_name=context.queue_table_name, limit=examine, start=start)
    reply = yield Request("Query", payload, "Job.due")
    number = 0
    for delayed in map(Delayed.read, reply["Items"]):
        run_at = recounted(delayed, now)
        if run_at is not None:
            number += yield from _put_off(context, queue, delayed, run_at, now)
    return Recount(number, reply.get("LastEvaluatedKey"))


def _put_off(context: QueueContext, queue: str, delayed: Delayed, run_at: datetime, now: datetime) -> Flow[int]:
    """Put a job off until a time that was counted anew; 0 when somebody else has written the job meanwhile."""
    known = {"status": JobStatus.PENDING, "readiness": Readiness.DELAYED, "queue": queue}
    actions = (Job.run_at.set(run_at), Job.delayed_at.set(now))
    ref, unchanged = context.tables.job.key(job_id=delayed.job_id), Job.version == delayed.version
    try:
        yield from patch(ref, *actions, known=known, condition=unchanged, returning="none").flow(context.setup)
    except (ConditionFailed, NotFound):
        return 0
    return 1
