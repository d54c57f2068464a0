"""While a job runs: renewing its lease, noting progress and lines of log, and taking jobs from workers that are gone."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.finish.complete import again, reap_one
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import Job, JobStatus, Running
from gateleg.jobs.tables.queue_tables import moved_to
from gateleg.model import ModelError
from gateleg.store import ConditionFailed, NotFound, TooLarge, TransactionCanceled, find, patch, put, query, transact
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.claim.staleness import Staleness
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Logs, Progress
    from gateleg.jobs.tables.records import EventChunk, LogChunk
    from gateleg.model import Action
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow


_log = logging.getLogger("gateleg.jobs")


@dataclass(frozen=True)
class Beat:
    """What a worker learns when it renews a lease."""

    until: datetime
    #: that somebody wants the job to stop
    cancel: bool = False


def renew(
    context: QueueContext,
    claimed: Job,
    *,
    progress: Progress | None = None,
    logs: Logs | None = None,
    chunk: LogChunk | None = None,
    events: EventChunk | None = None,
) -> Flow[Beat]:
    """Renew a lease, and write what has happened since; `LeaseLost` when the job is no longer this worker's. The version stays."""
    until = context.now() + timedelta(seconds=context.settings.lease_seconds)
    actions: list[Action] = [Running.lease_until.set(until)]
    if progress is not None:
        actions.append(Running.progress.set(progress))
    if logs is not None:
        actions.append(Running.logs.set(logs))
    if events is not None:
        actions.append(Running.emitted.set(events.first + len(events.events)))
    held = (Running.lease_token == claimed.lease_token) & (Running.status == str(JobStatus.PROCESSING))
    write = patch(context.tables.running.key(job_id=claimed.job_id), *actions, condition=held)
    try:
        along = _along(context, chunk, events)
        if not along:
            running: Running | None = yield from write.flow(context.setup)
        else:
            yield from transact([write, *along]).flow(context.setup)
            running = yield from find(context.tables.running, job_id=claimed.job_id, consistent=True).flow(context.setup)
    except (ConditionFailed, NotFound, TransactionCanceled) as refused:
        raise LeaseLost(f"The job {claimed.job_id} is no longer run by {claimed.worker_id}.") from refused
    return Beat(until, running is not None and running.cancel_requested is not None)


def _along(context: QueueContext, chunk: LogChunk | None, events: EventChunk | None) -> list[WriteOperation[Any]]:
    """The writes of the chunks that leave the job, in the queue's own table."""
    writes: list[WriteOperation[Any]] = []
    if chunk is not None:
        writes.append(put(moved_to(context.tables.log_chunk, chunk)))
    if events is not None:
        writes.append(put(moved_to(context.tables.event_chunk, events)))
    return writes


def reap(context: QueueContext, queue: str, leases: Staleness[UUID], limit: int = 25) -> Flow[list[Job]]:
    """Give the jobs of workers that are gone to others, or fail those that were lost too often; the jobs as they are then.

    A worker is gone when its lease has not moved, between looks with the same `leases`, for as long as the lease lasts.
    """
    shown = (Job.job_id, Job.lease_until, Job.worker_id)
    found = yield from collect_stream(query(context.tables.job.leased(queue=queue), project=shown), context)
    running = {values["job_id"]: values for values in found}
    ages = leases.observe({job_id: values["lease_until"] for job_id, values in running.items()}, context.setup.ticks())
    stale = [job_id for job_id, age in ages.items() if age >= context.settings.lease_seconds]
    if not stale:
        return []
    workers = yield from collect_stream(query(context.tables.worker_record.every()), context, expired=True)
    terms = {one.worker_id: one.lease_seconds for one in workers}
    reaped = []
    for job_id in stale[:limit]:
        if ages[job_id] < (terms.get(running[job_id]["worker_id"]) or 0.0):
            # Its worker was started with a longer lease.
            continue
        try:
            job = yield from reap_one(context, job_id, running[job_id]["lease_until"])
        except (ModelError, TooLarge, ServiceError) as error:
            if isinstance(error, ServiceError) and again(error):
                raise
            # Another version may have written it, and can read it. The jobs after it need not wait for that.
            _log.warning("the job %s, whose worker is gone, cannot be given to others: %s", job_id, error)
            continue
        if job is not None:
            reaped.append(job)
    return reaped
