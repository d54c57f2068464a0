"""Operating jobs (cancel, retry, change the priority), queues (pause, drain, limit) and workers (their records and leader leases).

`settle` updates the dependents of a job that has ended.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from gateleg.errors import problem_message
from gateleg.jobs.adoption import find_valid_job, get_job, get_or_archived, is_claimed_elsewhere, job_to_change
from gateleg.jobs.errors import BadSubmission, JobMissing, JobUnreadable, WrongState
from gateleg.jobs.finish import (
    attempt_end_actions,
    change_status,
    current_after,
    finish_actions,
    is_retryable,
    release,
    waits_for,
)
from gateleg.jobs.queue_context import collect_stream, read_jobs
from gateleg.jobs.rules import Decision, is_name, readiness_at
from gateleg.jobs.tables.job import FINISHED, Job, JobStatus, Readiness, Results
from gateleg.jobs.tables.records import ArchivedJob, LeaderLease, QueueState, WorkerRecord, branch_of, moved_to, restored
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, check, create, delete, patch, put, upsert
from gateleg.store.operations import batch_get, find, query, transact
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.leases import LeaseObserver
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Condition, UpdateAction
    from gateleg.store.flow import Flow


_REFUSED = (ConditionFailed, TransactionCanceled, NotFound, ServiceError, Unreachable)


def cancel(context: QueueContext, job_id: UUID, *, reason: str | None = None, force: bool = False) -> Flow[Job]:
    """Cancel a job and return its current state; a finished job stays as it is. Raises `JobMissing` if the queue does not have the job.

    A pending job is cancelled at once. A running job is asked to stop; with `force`, its worker loses the lease and the job is cancelled at
    once, whatever its handler does. So is a job that another program's worker runs, because that would not see the request.
    """

    def decide(job: Job, now: datetime) -> tuple[JobStatus, list[UpdateAction]] | None:
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


def cancel_actions(context: QueueContext, reason: str | None, because: UUID | None, now: datetime) -> list[UpdateAction]:
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
    try:
        job = restored(archived, context.tables.job)
    except ValidationError as error:
        problems = "; ".join(f"{problem['loc'][0]}: {problem_message(problem)}" for problem in error.errors())
        raise JobUnreadable(
            f"The item of job {archived.job_id} in the archive is not a valid job: {problems}.",
            fix="Correct these attributes of the item in the archive, or submit the job again.",
        ) from None
    writes = [create(job), delete(archived), *([] if branch is None else [delete(branch)])]
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


def restart_actions(job: Job, unfinished: Sequence[UUID], now: datetime) -> list[UpdateAction]:
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
    context: QueueContext, job_id: UUID, decide: Callable[[Job, datetime], tuple[JobStatus, list[UpdateAction]] | None]
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

    def decide(job: Job, now: datetime) -> tuple[JobStatus, list[UpdateAction]] | None:
        if job.status != JobStatus.PENDING:
            raise WrongState(f"Job {job_id} is {job.status}; only pending jobs have a priority to change.")
        return None if job.priority == priority else (JobStatus.PENDING, [Job.priority.set(priority)])

    return (yield from _decide_and_write(context, job_id, decide))


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
    failures: list[tuple[datetime, UUID, QueueContext]] = []
    for member in context.members:
        kind = member.tables.job
        question = kind.in_status(status=JobStatus.FAILED)
        for attribute, value in ((kind.job_type, job_type), (kind.queue, queue), (kind.subject, subject)):
            if value is not None:
                question = question.filter(attribute == value)
        failed = yield from collect_stream(query(question, limit=limit, project=[Job.job_id, Job.created_at]), context)
        failures += [(values["created_at"], values["job_id"], member) for values in failed]
    for _, job_id, member in sorted(failures, key=lambda each: each[:2])[:limit]:
        try:
            retried.append((yield from retry(member, job_id)))
        except (WrongState, JobMissing, JobUnreadable):
            # It was retried already, was just archived, or is not a valid job, which is noted.
            continue
    return retried


#: A worker without a report for this long counts as lost.
ALIVE = timedelta(seconds=60)


def _change(context: QueueContext, queue: str, by: str | None, **changes: Any) -> Flow[QueueState]:
    """Change the state of a queue in every ledger, so that programs that use only further tables of the queue follow it too."""
    if not is_name(queue):
        raise BadSubmission(f"{queue!r} is not a valid queue name.", fix="Use 1 to 100 letters, digits and _ . : / -")
    own, *others = context.ledgers
    if others:
        known = yield from state_of(context, queue)
        if known is not None and type(known) is not own.queue_state:
            changes = {name: getattr(known, name) for name in ("mode", "rate", "rate_seconds")} | changes
    changes |= {"changed_at": context.now(), "changed_by": by}
    actions = [getattr(QueueState, name).set(value) for name, value in changes.items()]
    for tables in others:
        yield from upsert(tables.queue_state.key(name=queue), *actions).flow(context.setup)
    changed: QueueState = yield from upsert(own.queue_state.key(name=queue), *actions).flow(context.setup)
    return changed


def _mode(context: QueueContext, queue: str, mode: Literal["running", "paused", "draining"], by: str | None) -> Flow[QueueState]:
    state = yield from _change(context, queue, by, mode=mode)
    context.draining_cache.forget(queue)
    return state


def pause(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Stop starting jobs of a queue; running jobs continue. Workers follow within a few seconds. Returns the queue's state.

    `by` records who did it. Raises `BadSubmission` for an invalid queue name.
    """
    return (yield from _mode(context, queue, "paused", by))


def drain(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Refuse new jobs in a queue, while its pending jobs still run. Returns the queue's state.

    Other processes may submit jobs for up to a second more. After that, submissions raise `QueueDraining`.
    """
    return (yield from _mode(context, queue, "draining", by))


def resume(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Resume a paused or draining queue, and return its state."""
    state = yield from _mode(context, queue, "running", by)
    context.jobs.ready.notify(queue)
    return state


def set_rate(context: QueueContext, queue: str, starts: int, *, seconds: int = 60, by: str | None = None) -> Flow[QueueState]:
    """Limit a queue to `starts` starts of jobs in each window of `seconds`; 0 removes the limit. Returns the queue's state.

    The windows are fixed, so up to twice as many jobs may start in a short time around the end of a window.
    """
    return (yield from _change(context, queue, by, rate=starts, rate_seconds=seconds))


def state_of(context: QueueContext, queue: str) -> Flow[QueueState | None]:
    """The state of one queue. What only the ledger of a further table has, such as a pause by an earlier release, holds for the queue."""
    for tables in context.ledgers:
        state: QueueState | None = yield from find(tables.queue_state, name=queue).flow(context.setup)
        if state is not None:
            return state
    return None


def states(context: QueueContext, queues: Sequence[str] | None = None) -> Flow[dict[str, QueueState]]:
    """The states of the given queues, or of all, by name. A queue that was never paused, drained or limited has no state."""
    stored: list[QueueState | None] = []
    # The queue's own ledger is last, so that its states are kept.
    if queues is None:
        for tables in reversed(context.ledgers):
            stored += yield from collect_stream(query(tables.queue_state.every()), context)
    else:
        refs = [tables.queue_state.key(name=name) for tables in reversed(context.ledgers) for name in queues]
        stored += yield from batch_get(refs).flow(context.setup)
    return {state.name: state for state in stored if state is not None}


def report_worker(context: QueueContext, record: WorkerRecord) -> Flow[None]:
    """Write the record of a live worker. Workers call it."""
    now = context.now()
    # Correct the clock difference: otherwise the record of a worker whose clock is hours behind would expire at once.
    expires_at = now - timedelta(seconds=record.clock_ahead) + 10 * ALIVE
    current = record.model_copy(update={"seen_at": now, "expires_at": expires_at})
    yield from put(moved_to(context.tables.worker_record, current), returning="none").flow(context.setup)


def forget_worker(context: QueueContext, worker_id: str) -> Flow[None]:
    """Delete the record of a worker that has ended. Workers call it."""
    yield from delete(context.tables.worker_record, worker_id=worker_id).flow(context.setup)


def workers(context: QueueContext) -> Flow[list[WorkerRecord]]:
    """The live workers: those that reported during the last minute, after correcting for their clocks."""
    known = yield from every_worker(context)
    return [record for record in known if record.seen_at - timedelta(seconds=record.clock_ahead) > context.now() - ALIVE]


def every_worker(context: QueueContext) -> Flow[list[WorkerRecord]]:
    """The records of all workers that have not deregistered, including workers that have not reported for minutes."""
    records: dict[str, WorkerRecord] = {}
    for tables in context.ledgers:
        for record in (yield from collect_stream(query(tables.worker_record.every()), context, expired=True)):
            records.setdefault(record.worker_id, record)
    return list(records.values())


def acquire_leader_lease(context: QueueContext, name: str, holder: str, seconds: float, others: LeaseObserver[str]) -> Flow[bool]:
    """Acquire or renew the leader lease of a maintenance task. Returns False if another worker has it.

    Another worker's lease ends when it is released, or has stayed unchanged for its duration across calls with the same `others`.
    """
    is_free = LeaderLease.holder.missing() | LeaderLease.holder.is_in([holder, ""])
    try:
        yield from _write_lease(context, name, holder, seconds, is_free)
    except ConditionFailed as refused:
        current: LeaderLease | None = refused.current
        if current is None:
            return False
        age = others.observe({name: (current.holder, current.until)}, context.setup.ticks())[name]
        if age < max(seconds, current.seconds or 0.0):
            return False
    else:
        return True
    try:
        yield from _write_lease(
            context, name, holder, seconds, (LeaderLease.holder == current.holder) & (LeaderLease.until == current.until)
        )
    except ConditionFailed:
        return False
    return True


def _write_lease(context: QueueContext, name: str, holder: str, seconds: float, free: Condition) -> Flow[None]:
    actions = (
        LeaderLease.holder.set(holder),
        LeaderLease.until.set(context.now() + timedelta(seconds=seconds)),
        LeaderLease.seconds.set(seconds),
    )
    yield from upsert(context.tables.leader_lease.key(name=name), *actions, condition=free).flow(context.setup)


def release_leader_lease(context: QueueContext, name: str, holder: str) -> Flow[None]:
    """Release the leader lease of a maintenance task, so that another worker can acquire it at once."""
    released = (LeaderLease.holder.set(""), LeaderLease.until.set(context.now()))
    try:
        yield from upsert(context.tables.leader_lease.key(name=name), *released, condition=LeaderLease.holder == holder).flow(context.setup)
    except ConditionFailed:
        return
