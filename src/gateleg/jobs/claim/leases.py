"""Leases of running jobs: renewing them with progress and log lines, and recovering the jobs of lost workers."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.adoption import adopt_by_id
from gateleg.jobs.errors import LeaseLost
from gateleg.jobs.finish.complete import is_retryable, reap_one
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import Job, JobStatus, Running
from gateleg.jobs.tables.queue_tables import moved_to
from gateleg.model import ModelError
from gateleg.store import ConditionFailed, NotFound, TooLarge, TransactionCanceled, patch, put
from gateleg.store.operations import find, query, transact
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
    actions: list[Action] = [Running.lease_until.set(until)]
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


def reap(context: QueueContext, queue: str, leases: Staleness[UUID], limit: int = 25) -> Flow[list[Job]]:
    """Recover up to `limit` jobs of lost workers: return them to the queue, or fail them if lost too often. Returns the updated jobs.

    A worker is lost if a lease of its jobs stays unchanged for the duration of the lease, across calls with the same `leases`.
    """
    attributes = (Job.job_id, Job.lease_until, Job.worker_id, Job.status)
    found = yield from collect_stream(query(context.tables.job.leased(queue=queue), project=attributes), context)
    for values in found:
        if values.get("status") != JobStatus.PROCESSING:
            # Another program has ended it, and left its lease behind.
            yield from adopt_by_id(context, str(values["job_id"]))
    found = [values for values in found if values.get("status") == JobStatus.PROCESSING]
    running = {values["job_id"]: values for values in found}
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
