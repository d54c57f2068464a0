"""The outcome of an attempt, derived from its handler's return value or exception."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from gateleg.jobs.errors import ResultTooLarge
from gateleg.jobs.rules import AttemptOutcome, Cancelled, Completed, Failed, Released, Snoozed, failure_of, short_failure, timed_out
from gateleg.jobs.signals import GiveUp, Snooze, Stopped
from gateleg.jobs.tables.job import Failure, Job
from gateleg.jobs.texts import error_message
from gateleg.model import ModelError
from gateleg.store import Refused, TooLarge

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.worker.recorder import AttemptRecorder


#: Errors of writes that no retry can make succeed.
UNWRITABLE = (ModelError, TooLarge, Refused)


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
        return raised(job, recorder, error)
    if size > limit:
        refusal = ResultTooLarge(f"The result of the handler has {size:,} bytes; the maximum is {limit:,}.")
        recorder.log(str(refusal), "ERROR")
        return Failed(Failure(kind=refusal.code, message=str(refusal)), (refusal.code,), final=True)
    now = context.now()
    try:
        return Completed(recorder.results(result, (now - (job.started_at or now)).total_seconds()))
    except ValidationError as error:
        return raised(job, recorder, error)


def raised(job: Job, recorder: AttemptRecorder, error: BaseException, stopping: str | None = None) -> AttemptOutcome:
    """The outcome of an attempt whose handler has raised. `stopping` is the reason if the handler was asked to stop."""
    if isinstance(error, Snooze):
        return Snoozed(error.seconds)
    if isinstance(error, GiveUp):
        recorder.log(error_message(error), "ERROR")
        return Failed(Failure(kind="give-up", message=error_message(error)[:2000]), ("give-up",), final=True)
    if isinstance(error, (asyncio.CancelledError, Stopped)) or (isinstance(error, ChildFailed) and stopping is not None):
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
