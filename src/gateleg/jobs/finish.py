"""Write the outcome of an attempt, with the resulting changes of the job and its dependents, in one write or transaction.

A worker starts from the job as it claimed it. If the job was changed in the meantime (an edit, a new dependent), the decision is made again
on the current item, as long as the worker's token is valid: a result is never lost. The update of most completions is prepared once
(`completion`); all others are planned by the model (`attempt_end_actions`).

`returned`, `raised` and `interrupted` derive the outcome of an attempt from what its handler has returned or raised.
"""

from __future__ import annotations

import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_OID, UUID, uuid5

import orjson
from pydantic import ValidationError

from gateleg.jobs.adoption import find_job, find_valid_job
from gateleg.jobs.errors import BadResult, JobError, LeaseLost, ResultTooLarge
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue_context import QueueContext, read_jobs
from gateleg.jobs.rules import (
    WAITED_TOO_LONG,
    AttemptOutcome,
    Cancelled,
    Completed,
    Decision,
    Failed,
    Released,
    Retry,
    Snoozed,
    attempts_after,
    decide,
    error_message,
    failure_of,
    failure_results,
    lease_expired,
    readiness_at,
    short_failure,
    timed_out,
)
from gateleg.jobs.tables.job import FINISHED, Attempt, Failure, Job, JobStatus, Logs, Progress, Readiness, Results, job_key, slots_text
from gateleg.jobs.tables.records import LogChunk, Slots, moved_to
from gateleg.jobs.tasks import GiveUp, Snooze, Stopped
from gateleg.model import ModelError
from gateleg.model.wire import iso
from gateleg.plain import is_plain
from gateleg.store import ConditionFailed, NotFound, Refused, TooLarge, TransactionCanceled, create, patch, put, upsert
from gateleg.store.flow import Pause
from gateleg.store.operations import get, transact
from gateleg.store.operations.write_operation import PreparedPatch, prepare_patch
from gateleg.store.setup import Setup
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.worker.output import AttemptRecorder
    from gateleg.model import Condition, Ref, UpdateAction
    from gateleg.model.planning import PreparedUpdate
    from gateleg.model.wire import Value
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow


#: The job type that updates the dependents of another job, if they are many or the job has not completed.
SETTLE = "gateleg.settle"
#: Errors of writes that no retry can make succeed.
UNWRITABLE = (ModelError, TooLarge, Refused)
#: Whether the model plans every completion, without the prepared update.
_PLAIN = is_plain("prepared")
#: Looked up once, because each access to an entity's attribute searches its fields.
_attempts, _results = Job.attempts, Job.job_results


def finish(
    context: QueueContext,
    claimed: Job,
    outcome: AttemptOutcome,
    *,
    logs: Logs | None = None,
    chunk: LogChunk | None = None,
    progress: Progress | None = None,
    unchanged: bool = False,
) -> Flow[Job]:
    """Write the outcome of a claimed job's attempt and return the updated job. Raises `LeaseLost` if this worker no longer owns the job.

    `unchanged` states that this worker has not written to the job since its claim, which saves reading it.
    """
    extra: list[UpdateAction] = []
    if logs is not None:
        extra.append(Job.logs.set(logs))
    other_writes: list[WriteOperation[Any]] = [] if chunk is None else [put(moved_to(context.tables.log_chunk, chunk))]
    current = claimed
    delays = context.setup.delays()
    while True:
        if current.lease_token != claimed.lease_token:
            raise LeaseLost(f"Worker {claimed.worker_id} no longer owns job {claimed.job_id}.")
        if current.status != JobStatus.PROCESSING:
            # The token is unchanged, so this worker's earlier write succeeded and its response was lost.
            return current
        now = context.now()
        decision = decide(current, outcome, retry_of(context, current), now, context.setup.random)
        try:
            # A retry starts without progress; a finished or snoozed job keeps the last one.
            keeps = decision.status != JobStatus.PENDING or decision.outcome == "snoozed"
            last_progress = [Job.progress.set(progress)] if progress is not None and keeps else []
            return (yield from _write_outcome(context, current, decision, now, [*extra, *last_progress], other_writes, unchanged))
        except (ConditionFailed, TransactionCanceled, NotFound, ServiceError, Unreachable) as error:
            if not is_retryable(error):
                raise
            delay = next(delays, None)
            if delay is None:
                raise
            current = yield from current_after(context, claimed, error, delay)


def _write_outcome(
    context: QueueContext,
    job: Job,
    decision: Decision,
    now: datetime,
    extra: Sequence[UpdateAction],
    other_writes: Sequence[WriteOperation[Any]],
    unchanged: bool,
) -> Flow[Job]:
    """Write the outcome of an attempt, with the other writes in the same transaction."""
    if decision.outcome == "completed" and not (extra or other_writes or job.dependent_jobs or job.concurrency_key):
        return (yield from completion(context, job, decision, now, unchanged=unchanged).flow(context.setup))
    actions = [*attempt_end_actions(context, job, decision, now), *extra]
    return (yield from change_status(context, job, decision.status, actions, other_writes))


def retry_of(context: QueueContext, job: Job) -> Retry:
    """The retry policy of a job's handler; the default for an unknown job type."""
    handler = context.jobs.find(job.job_type)
    return handler.retry if handler is not None else Retry()


def is_retryable(error: Exception) -> bool:
    """Whether a failed write may succeed when repeated on the current item."""
    if isinstance(error, ServiceError):
        return error.status >= 500 or "hrottl" in error.code or "ThroughputExceeded" in error.code
    return True


def current_after(context: QueueContext, job: Job, error: Exception, delay: float) -> Flow[Job]:
    """The current job after a write that was refused or whose response was lost. Raises `LeaseLost` if it no longer exists."""
    current = getattr(error, "current", None)
    if isinstance(error, TransactionCanceled) and error.reasons:
        current = getattr(error.reasons[0], "current", None)
    if isinstance(current, Job):
        return current
    yield Pause(delay)
    stored = yield from find_job(context.holding(job), job.job_id)
    if stored is None:
        raise LeaseLost(f"Job {job.job_id} no longer exists.") from error
    return stored


def completion(context: QueueContext, job: Job, decision: Decision, now: datetime, *, unchanged: bool = False) -> WriteOperation[Job]:
    """The update of a plain completion.

    `unchanged` states that nothing was written to the job since it was read: the result is then computed instead of read.
    """
    if _PLAIN:
        return planned_completion(context, job, decision, now)
    attempts = attempts_after(job, decision, now)
    values = _completion_values(context, job, decision, attempts, now)
    becomes = (lambda: _completed(context, job, decision, attempts, now)) if unchanged else None
    kind, planned = context.tables.job, lambda: planned_completion(context, job, decision, now)
    return PreparedPatch(kind, _prepared_completion(kind), job_key(job.job_id), values, planned, becomes)


def planned_completion(context: QueueContext, job: Job, decision: Decision, now: datetime) -> WriteOperation[Job]:
    """The same update, planned by the model."""
    return patch(job, *attempt_end_actions(context, job, decision, now))


def _completed(context: QueueContext, job: Job, decision: Decision, attempts: list[Attempt], now: datetime) -> Job:
    changes = {
        "status": JobStatus.COMPLETED,
        "attempts": attempts,
        "lease_until": None,
        "completed_at": now,
        "updated_at": now,
        "job_results": decision.results,
        "version": job.version + 1,
    }
    return job.model_copy(update=changes)


def _completion_values(context: QueueContext, job: Job, decision: Decision, attempts: list[Attempt], now: datetime) -> dict[str, Value]:
    return {
        "attempts": _attempts.packed(attempts),
        "job_results": _results.packed(decision.results),
        "now": {"S": iso(now)},
        "seen": {"N": str(job.version)},
        "version": {"N": str(job.version + 1)},
    }


@cache
def _prepared_completion(kind: type[Job]) -> PreparedUpdate:
    mark = datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
    job = kind(job_type="any", status=JobStatus.PROCESSING, version=987_654_321, lease_until=mark + timedelta(1))
    decision = Decision(JobStatus.COMPLETED, "completed", results=Results(result_type="SUCCESS"))
    context, attempts = QueueContext(Setup(), Jobs()), attempts_after(job, decision, mark)
    return prepare_patch(planned_completion(context, job, decision, mark), _completion_values(context, job, decision, attempts, mark), mark)


def change_status(
    context: QueueContext,
    job: Job,
    status: JobStatus,
    actions: Sequence[UpdateAction],
    other_writes: Sequence[WriteOperation[Any]] = (),
    condition: Condition | None = None,
) -> Flow[Job]:
    """Change the status of a job, release its concurrency slot, and update its dependents, in one transaction."""
    context = context.holding(job)
    write = patch(job, *actions, condition=condition)
    others = [*other_writes]
    if job.status == JobStatus.PROCESSING and status != JobStatus.PROCESSING and job.concurrency_key is not None:
        freed = Slots.holders.delete({str(job.job_id)})
        others += [upsert(slots, freed) for slots in slots_refs(context, job.concurrency_key)]
    if job.dependent_jobs and (status in FINISHED or job.status in FINISHED):
        others += yield from _dependent_writes(context, job, status)
    if not others:
        result: Job = yield from write.flow(context.setup)
    else:
        yield from transact([write, *others]).flow(context.setup)
        result = yield from get(context.tables.job, job_id=job.job_id, consistent=True).flow(context.setup)
    if status == JobStatus.PENDING and result.readiness is Readiness.READY:
        context.jobs.ready.notify(job.queue)
    return result


def slots_refs(context: QueueContext, key: str) -> list[Ref[Slots]]:
    """The items that count the running jobs of a concurrency key: one in each ledger, because other programs may use only one of them."""
    return [tables.slots.key(concurrency_key=slots_text(key)) for tables in context.ledgers]


def _dependent_writes(context: QueueContext, job: Job, status: JobStatus) -> Flow[list[WriteOperation[Any]]]:
    """The writes for the dependents of a finished job: their release, or an internal job that updates them."""
    if status != JobStatus.COMPLETED or len(job.dependent_jobs) > context.settings.inline_dependents:
        return [create(settlement_of(context, job))]
    dependents = yield from read_jobs(context, job.dependent_jobs)
    return [release(dependent, job.job_id, context.now()) for dependent in dependents if waits_for(dependent, job.job_id)]


def waits_for(dependent: Job, job_id: UUID) -> bool:
    """Whether a job waits for another."""
    return dependent.status == JobStatus.PENDING and str(job_id) in (dependent.waiting_for or ())


def release(dependent: Job, job_id: UUID, now: datetime) -> WriteOperation[Job]:
    """The write that removes a completed dependency from a waiting job."""
    remaining = set(dependent.waiting_for or ()) - {str(job_id)}
    readiness = Readiness.BLOCKED if remaining else readiness_at(dependent.run_at, now)
    return patch(dependent, Job.waiting_for.set(remaining or None), Job.readiness.set(readiness))


def settlement_of(context: QueueContext, job: Job) -> Job:
    """The internal job that updates the dependents of another. Its id derives from the change, so it is created once."""
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


def attempt_end_actions(context: QueueContext, job: Job, decision: Decision, now: datetime) -> list[UpdateAction]:
    """The actions that end an attempt."""
    actions = [
        Job.status.to(decision.status),
        Job.attempts.set(attempts_after(job, decision, now)),
        Job.lease_until.remove(),
    ]
    if decision.retry_count != job.retry_count:
        actions.append(Job.retry_count.set(decision.retry_count))
    if decision.losses is not None:
        actions.append(Job.losses.set(decision.losses))
    if decision.outcome == "snoozed":
        actions.append(Job.snoozes.set((job.snoozes or 0) + 1))
    if decision.status == JobStatus.PENDING:
        if decision.outcome != "snoozed":
            actions.append(Job.started_at.remove())
        return [
            *actions,
            Job.run_at.set(decision.run_at),
            Job.delayed_at.set(None if decision.run_at is None else now),
            Job.readiness.set(readiness_at(decision.run_at, now)),
            *([] if decision.outcome == "snoozed" else [Job.progress.remove()]),
        ]
    return [*actions, *finish_actions(context, decision.status, decision.results, now)]


def finish_actions(context: QueueContext, status: JobStatus, results: Results | None, now: datetime) -> list[UpdateAction]:
    """The actions that finish a job, besides the change of status."""
    done = Job.completed_at.set(now)
    return [done] if results is None else [done, Job.job_results.set(results)]


def expire(context: QueueContext, job_id: UUID) -> Flow[Job | None]:
    """Fail a job that was not started in time (`start_within`) and return it; None if it has started or ended in the meantime."""
    job = yield from find_valid_job(context, job_id)
    now = context.now()
    if job is None or job.status != JobStatus.PENDING or job.start_by is None or job.start_by >= now:
        return None
    failure = Failure(kind=WAITED_TOO_LONG, message=f"The job was not started by {job.start_by.isoformat()}, as its start_within required.")
    decision = Decision(JobStatus.FAILED, "failed", failure)
    actions = [
        Job.status.to(JobStatus.FAILED),
        Job.attempts.set(attempts_after(job, decision, now)),
        *finish_actions(context, JobStatus.FAILED, failure_results(failure), now),
    ]
    try:
        return (yield from change_status(context, job, JobStatus.FAILED, actions))
    except (ConditionFailed, TransactionCanceled, NotFound):
        return None


def reap_one(context: QueueContext, job_id: UUID, until: datetime) -> Flow[Job | None]:
    """Recover a job whose lease still ends at `until`, and return it; None if the lease was renewed or the job has ended."""
    job = yield from find_valid_job(context, job_id)
    now = context.now()
    if job is None or job.status != JobStatus.PROCESSING or job.lease_until is None or job.lease_until != until:
        return None
    outcome = lease_expired(job.worker_id, job.lease_until.isoformat())
    decision = decide(job, outcome, retry_of(context, job), now, context.setup.random)
    actions = [*attempt_end_actions(context, job, decision, now), Job.lease_token.remove()]
    # Heartbeats do not change the version, so the condition also requires the lease to be unchanged.
    same_worker = Job.lease_token.missing() if job.lease_token is None else Job.lease_token == job.lease_token
    unchanged = (Job.lease_until == job.lease_until) & same_worker
    try:
        return (yield from change_status(context, job, decision.status, actions, condition=unchanged))
    except (ConditionFailed, TransactionCanceled, NotFound):
        return None


class ChildFailed(Exception):
    """A handler in another process raised. `kinds` are the names of the exception's class and its base classes."""

    def __init__(self, kinds: tuple[str, ...], message: str, trace: str | None = None) -> None:
        super().__init__(message)
        self.kinds = kinds
        self.trace = trace


def returned(context: QueueContext, job: Job, recorder: AttemptRecorder, result: Any) -> AttemptOutcome:
    """The outcome of an attempt whose handler has returned."""
    limit = context.settings.result_limit
    try:
        size = len(orjson.dumps([result, recorder.metrics, recorder.outputs]))
    except TypeError as error:
        return _unstorable(recorder, BadResult(f"The handler returned something that is not JSON: {error}."))
    if size > limit:
        return _unstorable(recorder, ResultTooLarge(f"The result of the handler has {size:,} bytes; the maximum is {limit:,}."))
    now = context.now()
    try:
        return Completed(recorder.results(result, (now - (job.started_at or now)).total_seconds()))
    except ValidationError as error:
        return raised(job, recorder, error)


def _unstorable(recorder: AttemptRecorder, refusal: JobError) -> Failed:
    """The outcome of an attempt whose result cannot be stored. Another attempt would return it again."""
    recorder.log(str(refusal), "ERROR")
    return Failed(Failure(kind=refusal.code, message=str(refusal)), (refusal.code,), final=True)


def raised(job: Job, recorder: AttemptRecorder, error: BaseException, stopping: str | None = None) -> AttemptOutcome:
    """The outcome of an attempt whose handler has raised. `stopping` is the reason if the handler was asked to stop."""
    # Here and elsewhere, asyncio is imported where it is used: processes that only submit jobs need none.
    from asyncio import CancelledError

    if isinstance(error, Snooze):
        return Snoozed(error.seconds)
    if isinstance(error, GiveUp):
        recorder.log(error_message(error), "ERROR")
        return Failed(Failure(kind="give-up", message=error_message(error)[:2000]), ("give-up",), final=True)
    if isinstance(error, (CancelledError, Stopped)) or (isinstance(error, ChildFailed) and stopping is not None):
        return interrupted(job, recorder, stopping)
    if isinstance(error, ChildFailed):
        recorder.log(error.trace or str(error), "ERROR")
        outcome = failure_of(error, error.trace)
        return Failed(outcome.failure.model_copy(update={"kind": error.kinds[0]}), error.kinds)
    trace = "".join(traceback.format_exception(error))
    recorder.log(trace, "ERROR")
    return failure_of(error, trace)


def interrupted(job: Job, recorder: AttemptRecorder, stopping: str | None) -> AttemptOutcome:
    """The outcome of an attempt whose handler was stopped before it returned."""
    if stopping == "timed-out":
        recorder.log(f"Stopped: the timeout of {job.timeout_seconds} seconds is over", "ERROR")
        return timed_out(job.timeout_seconds)
    if stopping == "cancelled":
        recorder.log("Cancelled", "WARNING")
        return Cancelled()
    if stopping == "draining":
        recorder.log("Released: the worker shuts down", "WARNING")
        return Released()
    return failure_of(RuntimeError("The handler was cancelled by its own code."))


def reduced_outcome(outcome: AttemptOutcome, error: Exception) -> AttemptOutcome:
    """The outcome to write if the store rejects the given one: a result becomes a failure that says why, a failure is shortened."""
    if isinstance(outcome, Completed):
        kind = getattr(error, "code", "refused")
        message = f"The handler returned, but its result cannot be stored: {error_message(error)}"
        return Failed(Failure(kind=kind, message=message[:2000]), (kind,), final=True)
    return replace(outcome, failure=short_failure(outcome.failure)) if isinstance(outcome, Failed) else outcome
