"""Ending an attempt: what becomes of the job, and of those that wait for it, in one write.

A worker ends its attempt with the job as it claimed it. When somebody else has written the job meanwhile (an edit, a new dependent),
the decision is made again on the item that won, as long as the worker's token still holds: a result is never dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import NAMESPACE_OID, UUID, uuid5

from gateleg.jobs.errors import JobMissing, LeaseLost
from gateleg.jobs.finish.job_changes import completion, ending_actions, finish_actions, is_usual
from gateleg.jobs.rules import (
    WAITED_TOO_LONG,
    Ending,
    Retry,
    Verdict,
    attempt_of,
    failure_results,
    history_with,
    judge,
    lease_expired,
    readiness_at,
)
from gateleg.jobs.tables.job import FINISHED, Failure, Job, JobStatus, Logs, Progress, Readiness
from gateleg.jobs.tables.queue_tables import moved_to
from gateleg.jobs.tables.records import LogChunk, Slots
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, batch_get, create, find, get, patch, put, transact, upsert
from gateleg.store.flow import Pause
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action, Condition, Ref
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

#: The job type that brings dependents in line with a job that has many, or that has failed.
SETTLE = "gateleg.settle"


def slots_ref(context: QueueContext, key: str) -> Ref[Slots]:
    """The item that counts the running jobs of a concurrency key."""
    return context.tables.slots.key(concurrency_key=quote(key, safe=""))


def finish(
    context: QueueContext,
    claimed: Job,
    ending: Ending,
    *,
    logs: Logs | None = None,
    chunk: LogChunk | None = None,
    progress: Progress | None = None,
    whole: bool = False,
) -> Flow[Job]:
    """End the attempt of a claimed job; `LeaseLost` when it is no longer this worker's. The result is the job as it is then.

    `whole` says that this worker has written nothing to the job since its claim, no lines and no heartbeat, so that less needs to be read.
    """
    extra: list[Action] = []
    if logs is not None:
        extra.append(Job.logs.set(logs))
    along: list[WriteOperation[Any]] = [] if chunk is None else [put(moved_to(context.tables.log_chunk, chunk))]
    current = claimed
    delays = context.setup.delays()
    while True:
        if current.lease_token != claimed.lease_token:
            raise LeaseLost(f"The job {claimed.job_id} is no longer run by {claimed.worker_id}.")
        if current.status != JobStatus.PROCESSING:
            # Only the holder of the token leaves it in place: this is the write whose answer was lost.
            return current
        now = context.now()
        verdict = judge(current, ending, retry_of(context, current), now, context.setup.random)
        try:
            # Another attempt begins from nothing; otherwise it stays to be seen how far the last one came.
            reached = [Job.progress.set(progress)] if progress is not None and verdict.status != JobStatus.PENDING else []
            return (yield from _end(context, current, verdict, now, [*extra, *reached], along, whole))
        except (ConditionFailed, TransactionCanceled, NotFound, ServiceError, Unreachable) as error:
            if not again(error):
                raise
            delay = next(delays, None)
            if delay is None:
                raise
            current = yield from winner(context, claimed, error, delay)


def again(error: Exception) -> bool:
    """Whether a write may succeed on the item as it is by now."""
    if isinstance(error, ServiceError):
        return error.status >= 500 or "hrottl" in error.code or "ThroughputExceeded" in error.code
    return True


def winner(context: QueueContext, job: Job, error: Exception, delay: float) -> Flow[Job]:
    """The job as it is after a write that was refused, or whose answer was lost."""
    current = getattr(error, "current", None)
    if isinstance(error, TransactionCanceled) and error.reasons:
        current = getattr(error.reasons[0], "current", None)
    if isinstance(current, Job):
        return current
    yield Pause(delay)
    found = yield from find(context.tables.job, job_id=job.job_id, consistent=True).flow(context.setup)
    if found is None:
        raise LeaseLost(f"The job {job.job_id} is gone.") from error
    return found


def retry_of(context: QueueContext, job: Job) -> Retry:
    """The rules for retries of a job; those of an unknown type are the usual ones."""
    handler = context.jobs.find(job.job_type)
    return handler.retry if handler is not None else Retry()


def _end(
    context: QueueContext,
    job: Job,
    verdict: Verdict,
    now: datetime,
    extra: Sequence[Action],
    along: Sequence[WriteOperation[Any]],
    whole: bool,
) -> Flow[Job]:
    """Write the end of an attempt, with all that goes along."""
    if not (extra or along or job.dependent_jobs or job.concurrency_key) and is_usual(job, verdict):
        return (yield from completion(context, job, verdict, now, whole=whole).flow(context.setup))
    actions = [*ending_actions(context, job, verdict, now), *extra]
    return (yield from moved(context, job, verdict.status, actions, along))


def moved(
    context: QueueContext,
    job: Job,
    status: JobStatus,
    actions: Sequence[Action],
    along: Sequence[WriteOperation[Any]] = (),
    condition: Condition | None = None,
) -> Flow[Job]:
    """Move a job to a state: it gives back its place among the running, and its dependents follow."""
    write = patch(job, *actions, condition=condition)
    others = [*along]
    if job.status == JobStatus.PROCESSING and status != JobStatus.PROCESSING and job.concurrency_key is not None:
        others.append(upsert(slots_ref(context, job.concurrency_key), Slots.holders.delete({str(job.job_id)})))
    if job.dependent_jobs and (status in FINISHED or job.status in FINISHED):
        others += yield from _followers(context, job, status)
    if not others:
        result: Job = yield from write.flow(context.setup)
    else:
        yield from transact([write, *others]).flow(context.setup)
        result = yield from get(context.tables.job, job_id=job.job_id, consistent=True).flow(context.setup)
    if status == JobStatus.PENDING and result.readiness is Readiness.READY:
        context.jobs.ready.notify(job.queue)
    return result


def _followers(context: QueueContext, job: Job, status: JobStatus) -> Flow[list[WriteOperation[Any]]]:
    """What becomes of the jobs that wait for one that is completed: they are released along with it, or by a job of their own."""
    if status != JobStatus.COMPLETED or len(job.dependent_jobs) > context.settings.inline_dependents:
        return [create(settlement_of(context, job))]
    refs = [context.tables.job.key(job_id=other) for other in job.dependent_jobs]
    found = yield from batch_get(refs, consistent=True).flow(context.setup)
    return [
        release(dependent, job.job_id, context.now()) for dependent in found if dependent is not None and waits_for(dependent, job.job_id)
    ]


def waits_for(dependent: Job, job_id: UUID) -> bool:
    """Whether a job is held up by another."""
    return dependent.status == JobStatus.PENDING and str(job_id) in (dependent.waiting_for or ())


def release(dependent: Job, job_id: UUID, now: datetime) -> WriteOperation[Job]:
    """Tell a waiting job that one of its dependencies is completed."""
    rest = set(dependent.waiting_for or ()) - {str(job_id)}
    readiness = Readiness.BLOCKED if rest else readiness_at(dependent.run_at, now)
    return patch(dependent, Job.waiting_for.set(rest or None), Job.readiness.set(readiness))


def settlement_of(context: QueueContext, job: Job) -> Job:
    """The job that brings the dependents of another in line with it. Its id follows from the change, which happens once."""
    return context.tables.job(
        job_id=uuid5(NAMESPACE_OID, f"{SETTLE}:{job.job_id}:{job.version}"),
        job_type=SETTLE,
        job_config={"job_id": str(job.job_id)},
        queue=job.queue,
        priority=100,
        subject=job.subject,
        max_retries=20,
        created_by="gateleg",
    )


def expire(context: QueueContext, job_id: UUID) -> Flow[Job | None]:
    """Fail a job that has waited longer than it may; None when it has been started or ended meanwhile."""
    job = yield from find(context.tables.job, job_id=job_id, consistent=True).flow(context.setup)
    now = context.now()
    if job is None or job.status != JobStatus.PENDING or job.start_by is None or job.start_by >= now:
        return None
    failure = Failure(kind=WAITED_TOO_LONG, message=f"The job was to be started by {job.start_by.isoformat()}.")
    verdict = Verdict(JobStatus.FAILED, "failed", failure)
    actions = [
        Job.status.to(JobStatus.FAILED),
        Job.attempts.set(history_with(job, attempt_of(job, verdict, now))),
        *finish_actions(context, JobStatus.FAILED, failure_results(failure), now),
    ]
    try:
        return (yield from moved(context, job, JobStatus.FAILED, actions))
    except (ConditionFailed, TransactionCanceled, NotFound):
        return None


def reap_one(context: QueueContext, job_id: UUID, until: datetime) -> Flow[Job | None]:
    """Take a job from a worker whose lease has not moved from `until`; None when it has been renewed or ended meanwhile."""
    job = yield from find(context.tables.job, job_id=job_id, consistent=True).flow(context.setup)
    now = context.now()
    if job is None or job.status != JobStatus.PROCESSING or job.lease_until is None or job.lease_until != until:
        return None
    ending = lease_expired(job.worker_id, job.lease_until.isoformat())
    verdict = judge(job, ending, retry_of(context, job), now, context.setup.random)
    actions = [*ending_actions(context, job, verdict, now), Job.lease_token.remove()]
    # Heartbeats do not move the version, so the lease itself must still be the one that was seen.
    unchanged = (Job.lease_until == job.lease_until) & (Job.lease_token == job.lease_token)
    try:
        return (yield from moved(context, job, verdict.status, actions, condition=unchanged))
    except (ConditionFailed, TransactionCanceled, NotFound):
        return None


def present(context: QueueContext, job_id: UUID) -> Flow[Job]:
    """A job as it is now; `JobMissing` when there is none."""
    job = yield from find(context.tables.job, job_id=job_id, consistent=True).flow(context.setup)
    if job is None:
        raise JobMissing(f"There is no job {job_id} in the queue.")
    return job
