"""The changes of a job when an attempt ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue_context import QueueContext
from gateleg.jobs.rules import Decision, attempt_of, history_with, readiness_at
from gateleg.jobs.tables.job import Attempt, Job, JobStatus, Results, job_key
from gateleg.model.codec.unchecked import copy_unchecked
from gateleg.model.codec.wire import iso
from gateleg.plain import is_plain
from gateleg.store import patch
from gateleg.store.operations.prepared_patch import PreparedPatch, prepare_patch
from gateleg.store.setup import Setup

if TYPE_CHECKING:
    from gateleg.model import Action
    from gateleg.model.codec.wire import Value
    from gateleg.model.planning import PreparedUpdate
    from gateleg.store import WriteOperation

#: Whether the model plans every completion, without the prepared update.
_PLAIN = is_plain("prepared")
#: Looked up once, because each access to an entity's attribute searches its fields.
_attempts, _results = Job.attempts, Job.job_results


def attempt_end_actions(context: QueueContext, job: Job, decision: Decision, now: datetime) -> list[Action]:
    """The actions that end an attempt."""
    actions = [
        Job.status.to(decision.status),
        Job.attempts.set(history_with(job, attempt_of(job, decision, now))),
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


def finish_actions(context: QueueContext, status: JobStatus, results: Results | None, now: datetime) -> list[Action]:
    """The actions that finish a job, besides the change of status."""
    done = Job.completed_at.set(now)
    return [done] if results is None else [done, Job.job_results.set(results)]


def is_plain_completion(job: Job, decision: Decision) -> bool:
    """Whether only the status, results and attempts change, as in most completions."""
    return decision.status is JobStatus.COMPLETED and decision.results is not None and decision.retry_count == job.retry_count


def completion(context: QueueContext, job: Job, decision: Decision, now: datetime, *, unchanged: bool = False) -> WriteOperation[Job]:
    """The update of a plain completion.

    `unchanged` states that nothing was written to the job since it was read: the result is then computed instead of read.
    """
    if _PLAIN:
        return planned_completion(context, job, decision, now)
    attempts = history_with(job, attempt_of(job, decision, now))
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
    return copy_unchecked(job, changes)


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
    context, attempts = QueueContext(Setup(), Jobs()), history_with(job, attempt_of(job, decision, mark))
    return prepare_patch(planned_completion(context, job, decision, mark), _completion_values(context, job, decision, attempts, mark), mark)
