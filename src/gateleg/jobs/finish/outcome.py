"""How an attempt ends, from what its handler returned or raised."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from gateleg.jobs.errors import ResultTooLarge
from gateleg.jobs.rules import Cancelled, Completed, Ending, Failed, Released, Snoozed, brief, failure_of, timed_out
from gateleg.jobs.signals import GiveUp, Snooze, Stopped
from gateleg.jobs.tables.job import Failure, Job
from gateleg.jobs.texts import told_by
from gateleg.jobs.worker.processes import ChildFailed
from gateleg.model import ModelError
from gateleg.store import Refused, TooLarge

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.worker.output import Notes


#: What refuses a write that will be refused as often as it is repeated.
UNWRITABLE = (ModelError, TooLarge, Refused)


def returned(context: QueueContext, job: Job, notes: Notes, result: Any) -> Ending:
    """The end of an attempt whose handler has returned."""
    limit = context.settings.result_limit
    try:
        size = len(orjson.dumps([result, notes.metrics, notes.outputs]))
    except TypeError as error:
        return raised(job, notes, error)
    if size > limit:
        refusal = ResultTooLarge(f"The result has {size:,} bytes; it may have {limit:,}.")
        notes.log(str(refusal), "ERROR")
        return Failed(Failure(kind=refusal.code, message=str(refusal)), (refusal.code,), final=True)
    now = context.now()
    try:
        return Completed(notes.results(result, (now - (job.started_at or now)).total_seconds()))
    except ValidationError as error:
        return raised(job, notes, error)


def raised(job: Job, notes: Notes, error: BaseException, stopping: str | None = None) -> Ending:
    """The end of an attempt whose handler has raised. `stopping` is why it was told to stop, if it was."""
    if isinstance(error, Snooze):
        return Snoozed(error.seconds)
    if isinstance(error, GiveUp):
        notes.log(told_by(error), "ERROR")
        return Failed(Failure(kind="give-up", message=told_by(error)[:2000]), ("give-up",), final=True)
    if isinstance(error, (asyncio.CancelledError, Stopped)) or (isinstance(error, ChildFailed) and stopping is not None):
        return interrupted(job, notes, stopping)
    if isinstance(error, ChildFailed):
        notes.log(error.trace or str(error), "ERROR")
        ending = failure_of(error, error.trace)
        return Failed(ending.failure.model_copy(update={"kind": error.kinds[0]}), error.kinds)
    trace = "".join(traceback.format_exception(error))
    notes.log(trace, "ERROR")
    return failure_of(error, trace)


def interrupted(job: Job, notes: Notes, stopping: str | None) -> Ending:
    """The end of an attempt whose handler was stopped before it returned."""
    if stopping == "timed-out":
        notes.log(f"Stopped after {job.timeout_seconds} seconds", "ERROR")
        return timed_out(job.timeout_seconds)
    if stopping == "cancelled":
        notes.log("Cancelled", "WARNING")
        return Cancelled()
    if stopping == "draining":
        notes.log("Given back by a worker that stops", "WARNING")
        return Released()
    return failure_of(RuntimeError("The handler was cancelled from within."))


def lessened(ending: Ending, error: Exception) -> Ending:
    """What is written in place of an end that can never be written as it is: that there was a result, and why it could not be kept."""
    if isinstance(ending, Completed):
        kind = getattr(error, "code", "refused")
        told = f"The handler has returned, but its result cannot be stored: {told_by(error)}"
        return Failed(Failure(kind=kind, message=told[:2000]), (kind,), final=True)
    return replace(ending, failure=brief(ending.failure)) if isinstance(ending, Failed) else ending
