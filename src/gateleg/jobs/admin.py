"""What people do with jobs: cancel, retry, change the priority; and keeping dependents in line with what became of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.jobs.errors import JobMissing, WrongState
from gateleg.jobs.finish.complete import again, moved, present, release, waits_for, winner
from gateleg.jobs.finish.job_changes import ending_actions, finish_actions
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.rules import Verdict, readiness_at
from gateleg.jobs.tables.job import FINISHED, Job, JobStatus, Readiness, Results
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, batch_get, check, find, patch, query, retrying, transact
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

_REFUSED = (ConditionFailed, TransactionCanceled, NotFound, ServiceError, Unreachable)


def cancel(context: QueueContext, job_id: UUID, *, reason: str | None = None, force: bool = False) -> Flow[Job]:
    """Cancel a job. One that waits is cancelled at once; a running one is asked to stop, or with `force` taken from its worker.

    A finished job stays as it is. The result is the job as it is then.
    """

    def decide(job: Job, now: datetime) -> tuple[JobStatus, list[Action]] | None:
        if job.finished:
            return None
        if job.status == JobStatus.PENDING:
            return JobStatus.CANCELLED, cancelling(context, reason, None, now)
        if not force:
            if job.cancel_requested is not None:
                return None
            return JobStatus.PROCESSING, [Job.cancel_requested.set(now), Job.cancel_reason.set(reason)]
        verdict = Verdict(JobStatus.CANCELLED, "cancelled", None, Results(result_type="CANCELLED"), job.retry_count)
        return JobStatus.CANCELLED, [
            *ending_actions(context, job, verdict, now),
            Job.lease_token.remove(),
            Job.cancel_requested.set(now),
            Job.cancel_reason.set(reason),
        ]

    return (yield from _directed(context, job_id, decide))


def cancelling(context: QueueContext, reason: str | None, because: UUID | None, now: datetime) -> list[Action]:
    """What cancelling changes in a job that waits."""
    return [
        Job.status.to(JobStatus.CANCELLED),
        Job.cancel_reason.set(reason),
        Job.cancelled_by.set(because),
        *finish_actions(context, JobStatus.CANCELLED, Results(result_type="CANCELLED"), now),
    ]


def retry(context: QueueContext, job_id: UUID) -> Flow[Job]:
    """Let a failed or cancelled job begin again, with all its retries; those that it took down with it wait for it again."""
    job = yield from present(context, job_id)
    if job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
        raise WrongState(f"The job {job_id} is {job.status}; only failed and cancelled jobs are tried again.")
    delays = context.setup.delays()
    current = job
    while current.status in (JobStatus.FAILED, JobStatus.CANCELLED):
        try:
            return (yield from _renewed(context, current))
        except _REFUSED as error:
            delay = next(delays, None)
            if delay is None or not again(error):
                raise
            current = yield from winner(context, current, error, delay)
    return current


def _renewed(context: QueueContext, job: Job) -> Flow[Job]:
    """Let a job begin again. What it waits for is written along, so that an end that is just being written there finds it waiting."""
    refs = [context.tables.job.key(job_id=other) for other in job.dependencies]
    found = yield from batch_get(refs, consistent=True).flow(context.setup)
    unfinished = [other for other in found if other is not None and other.status != JobStatus.COMPLETED]
    now = context.now()
    noted = [patch(other, Job.updated_at.set(now)) for other in unfinished]
    return (yield from moved(context, job, JobStatus.PENDING, renewing(job, [other.job_id for other in unfinished], now), noted))


def renewing(job: Job, unfinished: Sequence[UUID], now: datetime) -> list[Action]:
    """What beginning again changes in a job."""
    return [
        Job.status.to(JobStatus.PENDING),
        Job.readiness.set(Readiness.BLOCKED if unfinished else readiness_at(job.run_at, now)),
        Job.waiting_for.set({str(other) for other in unfinished} or None),
        Job.retry_count.set(0),
        Job.start_by.remove(),
        *(
            attribute.remove()
            for attribute in (
                Job.completed_at,
                Job.job_results,
                Job.expires_at,
                Job.cancelled_by,
                Job.cancel_requested,
                Job.cancel_reason,
                Job.losses,
            )
        ),
    ]


def _directed(context: QueueContext, job_id: UUID, decide: Callable[[Job, datetime], tuple[JobStatus, list[Action]] | None]) -> Flow[Job]:
    """Decide on a job and carry it out; when another writer was faster, decide again on what it has written."""
    current = yield from present(context, job_id)
    delays = context.setup.delays()
    while True:
        decision = decide(current, context.now())
        if decision is None:
            return current
        status, actions = decision
        try:
            return (yield from moved(context, current, status, actions))
        except _REFUSED as error:
            delay = next(delays, None)
            if delay is None or not again(error):
                raise
            current = yield from winner(context, current, error, delay)


def set_priority(context: QueueContext, job_id: UUID, priority: int) -> Flow[Job]:
    """Move a waiting job forwards or backwards."""

    def decide(job: Job) -> list[Action]:
        if job.status != JobStatus.PENDING:
            raise WrongState(f"The job {job_id} is {job.status}; only the priority of waiting jobs matters.")
        return [] if job.priority == priority else [Job.priority.set(priority)]

    return (yield from retrying(context.tables.job.key(job_id=job_id), decide).flow(context.setup))


def settle(context: QueueContext, job_id: UUID) -> Flow[int]:
    """Bring the dependents of a job in line with it, whatever has happened to either; how many were changed.

    Those that wait for a completed job are released, for one that failed or was cancelled they are cancelled, and those that it took
    down with it wait again once it does. Repeating it has no further effect. Of a job that has left the queue there are none: it does not
    leave before.
    """
    job = yield from find(context.tables.job, job_id=job_id, consistent=True).flow(context.setup)
    if job is None:
        return 0
    changed = 0
    for start in range(0, len(job.dependent_jobs), 25):
        refs = [context.tables.job.key(job_id=other) for other in job.dependent_jobs[start : start + 25]]
        for dependent in (yield from batch_get(refs, consistent=True).flow(context.setup)):
            if dependent is not None:
                changed += yield from _aligned(context, job, dependent)
    return changed


def _aligned(context: QueueContext, job: Job, dependent: Job) -> Flow[int]:
    """Bring one dependent in line; repeated while others write it, or the job itself, which may have moved on by itself."""
    delays = context.setup.delays()
    current: Job | None = job
    while current is not None:
        try:
            return (yield from _align(context, current, dependent))
        except _REFUSED as error:
            delay = next(delays, None)
            if delay is None or not again(error):
                raise
            dependent = yield from winner(context, dependent, error, delay)
            current = yield from find(context.tables.job, job_id=job.job_id, consistent=True).flow(context.setup)
    return 0


def _align(context: QueueContext, job: Job, dependent: Job) -> Flow[int]:
    now, unchanged = context.now(), check(context.tables.job.key(job_id=job.job_id), Job.status == job.status)
    if waits_for(dependent, job.job_id) and job.status == JobStatus.COMPLETED:
        operation = release(dependent, job.job_id, now)
        yield from _together(context, operation, unchanged)
        context.jobs.ready.notify(dependent.queue)
        return 1
    if waits_for(dependent, job.job_id) and job.status in FINISHED:
        reason = f"The job {job.job_id}, which it depends on, is {job.status}."
        yield from moved(context, dependent, JobStatus.CANCELLED, cancelling(context, reason, job.job_id, now), [unchanged])
        return 1
    if dependent.cancelled_by == job.job_id and job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
        yield from _renewed(context, dependent)
        return 1
    return 0


def _together(context: QueueContext, operation: WriteOperation[Job], unchanged: WriteOperation[None]) -> Flow[None]:
    yield from transact([operation, unchanged]).flow(context.setup)


def retry_failed(
    context: QueueContext, *, job_type: str | None = None, queue: str | None = None, subject: str | None = None, limit: int = 1000
) -> Flow[list[Job]]:
    """Let failed jobs begin again: all of them, or those of a type, a queue or a subject; oldest first."""
    retried: list[Job] = []
    kind = context.tables.job
    question = kind.in_status(status=JobStatus.FAILED)
    for attribute, wanted in ((kind.job_type, job_type), (kind.queue, queue), (kind.subject, subject)):
        if wanted is not None:
            question = question.filter(attribute == wanted)
    found = yield from collect_stream(query(question, limit=limit, project=[Job.job_id]), context)
    for values in found:
        try:
            retried.append((yield from retry(context, values["job_id"])))
        except (WrongState, JobMissing):
            # Somebody else has done so already, or it has just left for the archive.
            continue
    return retried


def edit(context: QueueContext, job_id: UUID, *actions: Action) -> Flow[Job]:
    """Change attributes of a job that are not about its state: tags, the stage, the subject."""
    return (yield from patch(context.tables.job.key(job_id=job_id), *actions).flow(context.setup))
