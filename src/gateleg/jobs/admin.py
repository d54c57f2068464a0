"""Operating jobs: cancel, retry, change the priority; and updating dependents after a job has ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gateleg.jobs.adoption import find_valid_job, is_claimed_elsewhere, job_to_change
from gateleg.jobs.errors import JobMissing, JobUnreadable, WrongState
from gateleg.jobs.finish.complete import change_status, current_after, get_job, get_or_archived, is_retryable, release, waits_for
from gateleg.jobs.finish.job_changes import attempt_end_actions, finish_actions
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.routing import read_jobs
from gateleg.jobs.rules import Decision, readiness_at
from gateleg.jobs.tables.archive import ArchivedJob, branch_of, restored
from gateleg.jobs.tables.job import FINISHED, Job, JobStatus, Readiness, Results
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, check, create, delete, patch
from gateleg.store.operations import query, retrying, transact
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action
    from gateleg.store.flow import Flow

_REFUSED = (ConditionFailed, TransactionCanceled, NotFound, ServiceError, Unreachable)


def cancel(context: QueueContext, job_id: UUID, *, reason: str | None = None, force: bool = False) -> Flow[Job]:
    """Cancel a job and return its current state; a finished job stays as it is. Raises `JobMissing` if the queue does not have the job.

    A pending job is cancelled at once. A running job is asked to stop; with `force`, its worker loses the lease and the job is cancelled at
    once, whatever its handler does. So is a job that another program's worker runs, because that would not see the request.
    """

    def decide(job: Job, now: datetime) -> tuple[JobStatus, list[Action]] | None:
        if job.finished:
            return None
        if job.status == JobStatus.PENDING:
            return JobStatus.CANCELLED, cancel_actions(context, reason, None, now)
        if not force and not is_claimed_elsewhere(job):
            if job.cancel_requested is not None:
                return None
            return JobStatus.PROCESSING, [Job.cancel_requested.set(now), Job.cancel_reason.set(reason)]
        decision = Decision(JobStatus.CANCELLED, "cancelled", None, Results(result_type="CANCELLED"), job.retry_count)
        return JobStatus.CANCELLED, [
            *attempt_end_actions(context, job, decision, now),
            Job.lease_token.remove(),
            Job.cancel_requested.set(now),
            Job.cancel_reason.set(reason),
        ]

    return (yield from _decide_and_write(context, job_id, decide))


def cancel_actions(context: QueueContext, reason: str | None, because: UUID | None, now: datetime) -> list[Action]:
    """The actions that cancel a pending job. `because` is the dependency that failed."""
    return [
        Job.status.to(JobStatus.CANCELLED),
        Job.cancel_reason.set(reason),
        Job.cancelled_by.set(because),
        *finish_actions(context, JobStatus.CANCELLED, Results(result_type="CANCELLED"), now),
    ]


def retry(context: QueueContext, job_id: UUID) -> Flow[Job]:
    """Make a failed or cancelled job pending again, with all its retries, and return it. One in the archive comes back to the queue.

    Dependents that were cancelled because of it wait for it again. Raises `WrongState` for a job in another status, and `JobMissing` if
    neither the queue nor the archive has it.
    """
    job = yield from get_or_archived(context, job_id)
    if job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
        raise WrongState(f"Job {job_id} is {job.status}; only failed and cancelled jobs can be retried.")
    if isinstance(job, ArchivedJob):
        job = yield from _bring_back(context, job)
    else:
        job = yield from job_to_change(context, job_id)
    delays = context.setup.delays()
    current = job
    while current.status in (JobStatus.FAILED, JobStatus.CANCELLED):
        try:
            return (yield from _restart(context, current))
        except _REFUSED as error:
            delay = next(delays, None)
            if delay is None or not is_retryable(error):
                raise
            current = yield from current_after(context, current, error, delay)
    return current


def _bring_back(context: QueueContext, archived: ArchivedJob) -> Flow[Job]:
    """Move an archived job back to the queue, as it was. Its log and its place in its tree come with it."""
    branch = branch_of(archived, context.tables.archived_branch)
    writes = [create(restored(archived, context.tables.job)), delete(archived), *([] if branch is None else [delete(branch)])]
    with suppress(TransactionCanceled):
        # If another caller was faster, the job is in the queue, too.
        yield from transact(writes).flow(context.setup)
    return (yield from get_job(context, archived.job_id))


def _restart(context: QueueContext, job: Job) -> Flow[Job]:
    """Make a job pending again. The write also touches its open dependencies, so it conflicts with the completion of one at this moment."""
    dependencies = yield from read_jobs(context, job.dependencies)
    unfinished = [other for other in dependencies if other.status != JobStatus.COMPLETED]
    now = context.now()
    touched = [patch(other, Job.updated_at.set(now)) for other in unfinished]
    return (
        yield from change_status(
            context, job, JobStatus.PENDING, restart_actions(job, [other.job_id for other in unfinished], now), touched
        )
    )


def restart_actions(job: Job, unfinished: Sequence[UUID], now: datetime) -> list[Action]:
    """The actions that make a finished job pending again."""
    return [
        Job.status.to(JobStatus.PENDING),
        Job.readiness.set(Readiness.BLOCKED if unfinished else readiness_at(job.run_at, now)),
        Job.waiting_for.set({str(other) for other in unfinished} or None),
        Job.retry_count.set(0),
        Job.start_by.remove(),
        *(
            attribute.remove()
            for attribute in (
                Job.started_at,
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


def _decide_and_write(
    context: QueueContext, job_id: UUID, decide: Callable[[Job, datetime], tuple[JobStatus, list[Action]] | None]
) -> Flow[Job]:
    """Write what `decide` returns for the current job, and repeat both when another writer was faster. None leaves the job unchanged."""
    current = yield from job_to_change(context, job_id)
    delays = context.setup.delays()
    while True:
        decision = decide(current, context.now())
        if decision is None:
            return current
        status, actions = decision
        try:
            return (yield from change_status(context, current, status, actions))
        except _REFUSED as error:
            delay = next(delays, None)
            if delay is None or not is_retryable(error):
                raise
            current = yield from current_after(context, current, error, delay)


def set_priority(context: QueueContext, job_id: UUID, priority: int) -> Flow[Job]:
    """Change the priority of a pending job (0 to 100, higher first) and return the job. Raises `WrongState` if it is not pending."""

    def decide(job: Job) -> list[Action]:
        if job.status != JobStatus.PENDING:
            raise WrongState(f"Job {job_id} is {job.status}; only pending jobs have a priority to change.")
        return [] if job.priority == priority else [Job.priority.set(priority)]

    yield from job_to_change(context, job_id)
    return (yield from retrying(context.tables.job.key(job_id=job_id), decide).flow(context.setup))


def settle(context: QueueContext, job_id: UUID) -> Flow[int]:
    """Update the dependents of a job to match its status, and return how many were changed. Idempotent; workers call it.

    Dependents of a completed job are released, and dependents of a failed or cancelled job are cancelled. When that job is restarted, the
    dependents that it cancelled wait for it again. A job is archived only after its dependents are up to date.
    """
    job = yield from find_valid_job(context, job_id)
    if job is None:
        return 0
    changed = 0
    for start in range(0, len(job.dependent_jobs), 25):
        for dependent in (yield from read_jobs(context, job.dependent_jobs[start : start + 25])):
            changed += yield from update_dependent(context, job, dependent)
    return changed


def update_dependent(context: QueueContext, job: Job, dependent: Job) -> Flow[int]:
    """Update one dependent, again each time another writer changes it or the job."""
    delays = context.setup.delays()
    current: Job | None = job
    while current is not None:
        try:
            return (yield from _try_update_dependent(context, current, dependent))
        except _REFUSED as error:
            delay = next(delays, None)
            if delay is None or not is_retryable(error):
                raise
            dependent = yield from current_after(context, dependent, error, delay)
            current = yield from find_valid_job(context, job.job_id)
    return 0


def _try_update_dependent(context: QueueContext, job: Job, dependent: Job) -> Flow[int]:
    now, unchanged = context.now(), check(context.tables.job.key(job_id=job.job_id), Job.status == job.status)
    if waits_for(dependent, job.job_id) and job.status == JobStatus.COMPLETED:
        operation = release(dependent, job.job_id, now)
        yield from transact([operation, unchanged]).flow(context.setup)
        context.jobs.ready.notify(dependent.queue)
        return 1
    if waits_for(dependent, job.job_id) and job.status in FINISHED:
        reason = f"Its dependency {job.job_id} is {job.status}."
        yield from change_status(context, dependent, JobStatus.CANCELLED, cancel_actions(context, reason, job.job_id, now), [unchanged])
        return 1
    if dependent.cancelled_by == job.job_id and job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
        yield from _restart(context, dependent)
        return 1
    return 0


def retry_failed(
    context: QueueContext, *, job_type: str | None = None, queue: str | None = None, subject: str | None = None, limit: int = 1000
) -> Flow[list[Job]]:
    """Retry up to `limit` failed jobs, oldest first, optionally of one type, queue or subject. Returns the jobs that are pending again."""
    retried: list[Job] = []
    found: list[tuple[datetime, UUID, QueueContext]] = []
    for member in context.members:
        kind = member.tables.job
        question = kind.in_status(status=JobStatus.FAILED)
        for attribute, wanted in ((kind.job_type, job_type), (kind.queue, queue), (kind.subject, subject)):
            if wanted is not None:
                question = question.filter(attribute == wanted)
        failed = yield from collect_stream(query(question, limit=limit, project=[Job.job_id, Job.created_at]), context)
        found += [(values["created_at"], values["job_id"], member) for values in failed]
    for _, job_id, member in sorted(found, key=lambda each: each[:2])[:limit]:
        try:
            retried.append((yield from retry(member, job_id)))
        except (WrongState, JobMissing, JobUnreadable):
            # It was retried already, was just archived, or is not a valid job, which is noted.
            continue
    return retried
