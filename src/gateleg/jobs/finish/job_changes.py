"""What the end of an attempt changes in a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue_context import QueueContext
from gateleg.jobs.rules import Verdict, attempt_of, history_with, readiness_at
from gateleg.jobs.tables.job import Attempt, Job, JobStatus, Results, job_key
from gateleg.model.codec.unchecked import copy_unchecked
from gateleg.model.codec.wire import iso
from gateleg.plain import is_plain
from gateleg.store import patch
from gateleg.store.operations.prepared_patch import PreparedPatch, prepare_patch
from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from gateleg.model import Action, Value
    from gateleg.model.planning import PreparedUpdate
    from gateleg.store import WriteOperation

#: Whether the model plans every completion anew.
_PLAIN = is_plain("prepared")
#: Looked up once: an attribute of a class is a lookup in its fields.
_attempts, _results = Job.attempts, Job.job_results


def ending_actions(context: QueueContext, job: Job, verdict: Verdict, now: datetime) -> list[Action]:
    """What the end of an attempt changes in a job."""
    actions = [
        Job.status.to(verdict.status),
        Job.attempts.set(history_with(job, attempt_of(job, verdict, now))),
        Job.lease_until.remove(),
    ]
    if verdict.retry_count != job.retry_count:
        actions.append(Job.retry_count.set(verdict.retry_count))
    if verdict.losses is not None:
        actions.append(Job.losses.set(verdict.losses))
    if verdict.outcome == "snoozed":
        actions.append(Job.snoozes.set((job.snoozes or 0) + 1))
    if verdict.status == JobStatus.PENDING:
        return [
            *actions,
            Job.run_at.set(verdict.run_at),
            Job.delayed_at.set(None if verdict.run_at is None else now),
            Job.readiness.set(readiness_at(verdict.run_at, now)),
            Job.progress.remove(),
        ]
    return [*actions, *finish_actions(context, verdict.status, verdict.results, now)]


def finish_actions(context: QueueContext, status: JobStatus, results: Results | None, now: datetime) -> list[Action]:
    """What the end of a job changes in it, besides its state."""
    done = Job.completed_at.set(now)
    return [done] if results is None else [done, Job.job_results.set(results)]


def is_usual(job: Job, verdict: Verdict) -> bool:
    """Whether a job is completed as most are: nothing but its state, its results and its history change."""
    return verdict.status is JobStatus.COMPLETED and verdict.results is not None and verdict.retry_count == job.retry_count


def completion(context: QueueContext, job: Job, verdict: Verdict, now: datetime, *, whole: bool = False) -> WriteOperation[Job]:
    """The update that completes a job with a usual verdict.

    `whole` says that nothing was written to the job since it was read. Then what it becomes is known, and not read again.
    """
    if _PLAIN:
        return planned_completion(context, job, verdict, now)
    attempts = history_with(job, attempt_of(job, verdict, now))
    values = _completion_values(context, job, verdict, attempts, now)
    becomes = (lambda: _completed(context, job, verdict, attempts, now)) if whole else None
    kind, planned = context.tables.job, lambda: planned_completion(context, job, verdict, now)
    return PreparedPatch(kind, _prepared_completion(kind), job_key(job.job_id), values, planned, becomes)


def planned_completion(context: QueueContext, job: Job, verdict: Verdict, now: datetime) -> WriteOperation[Job]:
    """The same as the model plans it."""
    return patch(job, *ending_actions(context, job, verdict, now))


def _completed(context: QueueContext, job: Job, verdict: Verdict, attempts: list[Attempt], now: datetime) -> Job:
    changes = {
        "status": JobStatus.COMPLETED,
        "attempts": attempts,
        "lease_until": None,
        "completed_at": now,
        "updated_at": now,
        "job_results": verdict.results,
        "version": job.version + 1,
    }
    return copy_unchecked(job, changes)


def _completion_values(context: QueueContext, job: Job, verdict: Verdict, attempts: list[Attempt], now: datetime) -> dict[str, Value]:
    return {
        "attempts": _attempts.packed(attempts),
        "job_results": _results.packed(verdict.results),
        "now": {"S": iso(now)},
        "seen": {"N": str(job.version)},
        "version": {"N": str(job.version + 1)},
    }


@cache
def _prepared_completion(kind: type[Job]) -> PreparedUpdate:
    mark = datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
    job = kind(job_type="any", status=JobStatus.PROCESSING, version=987_654_321, lease_until=mark + timedelta(1))
    verdict = Verdict(JobStatus.COMPLETED, "completed", results=Results(result_type="SUCCESS"))
    context, attempts = QueueContext(Setup(), Jobs()), history_with(job, attempt_of(job, verdict, mark))
    return prepare_patch(planned_completion(context, job, verdict, mark), _completion_values(context, job, verdict, attempts, mark), mark)
