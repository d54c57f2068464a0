"""End runs. The end, the answer, the task and the thread's next run are one transaction, so no question is answered twice."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gateleg.apps.agents.errors import RunEnded, RunInProgress
from gateleg.apps.agents.running.threads import changeable_run, hand_over_turn, is_open, job_for
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import AsyncTask, Run, RunStatus, TaskStatus, ToolCall, ToolCallStatus
from gateleg.jobs import JobError
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, patch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.store import AsyncStore, WriteOperation

__all__ = ["cancel_calls", "cancel_run", "end_run", "expire_run", "retry_run", "task_end_writes", "time_spent"]

#: Attempts while other writers change the same thread.
_ATTEMPTS = 8
_MAX_ERROR_LENGTH = 5_000
#: The states of tool calls that have not ended.
OPEN_CALLS = frozenset({ToolCallStatus.INITIAL, ToolCallStatus.REQUIRES_APPROVAL, ToolCallStatus.APPROVED, ToolCallStatus.IN_PROGRESS})


async def end_run(
    resources: Resources[AgentsSettings],
    run: Run,
    status: RunStatus,
    *,
    error: str | None = None,
    code: str | None = None,
    actions: Sequence[Any] = (),
    writes: Callable[[], Sequence[WriteOperation[Any]]] = tuple,
    result: str | None = None,
    is_due: Callable[[Run], bool] = is_open,
) -> Run | None:
    """End a run with a status, further changes and further writes; None if it has already ended or was changed concurrently.

    The write is conditional on the version of `run`; conflicts on the thread alone are retried.
    """
    store = resources.store
    now = store.setup.now()
    change = [Run.status.to(status), Run.finished_at.set(now), Run.time_spent.set(time_spent(run, now)), *actions]
    change.append(Run.error.remove() if error is None else Run.error.set(error[:_MAX_ERROR_LENGTH]))
    change.append(Run.error_code.remove() if code is None else Run.error_code.set(code))
    for _ in range(_ATTEMPTS):
        if not is_due(run):
            return None
        along = [*writes(), *(await _task_writes(store, run, status, error, result)), *(await hand_over_turn(resources, run))]
        try:
            await store.transact([patch(run, *change), *along])
        except TransactionCanceled as canceled:
            if isinstance(canceled.reasons[0], ConditionFailed):
                return None
            continue
        return await store.get(Run, partition=run.partition, thread_uuid=run.thread_uuid, run_uuid=run.run_uuid, consistent=True)
    raise RunInProgress(f"Too many writers are changing the thread {run.thread_uuid}.", fix="Try again.")


def time_spent(run: Run, now: datetime) -> int:
    """Milliseconds since the run started."""
    return max(0, round((now - (run.started_at or run.created_at)).total_seconds() * 1000))


async def _task_writes(store: AsyncStore, run: Run, status: RunStatus, error: str | None, result: str | None) -> list[WriteOperation[Any]]:
    if run.async_task_uuid is None:
        return []
    task = await store.find(AsyncTask, partition=run.partition, async_task_uuid=run.async_task_uuid, consistent=True)
    return [] if task is None else task_end_writes(task, status, error, result)


def task_end_writes(task: AsyncTask, status: RunStatus, error: str | None, result: str | None) -> list[WriteOperation[Any]]:
    """The writes that end a task together with its run."""
    if task.status in (TaskStatus.COMPLETED, TaskStatus.FAILED):
        return []
    if status is RunStatus.COMPLETED:
        return [patch(task, AsyncTask.status.to(TaskStatus.COMPLETED), AsyncTask.result.set(result or ""))]
    return [
        patch(task, AsyncTask.status.to(TaskStatus.FAILED), AsyncTask.notes.set((error or f"The run is {status}.")[:_MAX_ERROR_LENGTH]))
    ]


async def cancel_run(resources: Resources[AgentsSettings], context: Context, thread_uuid: str, run_uuid: str) -> Run:
    """Cancel an open run and stop its worker. Raises `NotFoundInPartition` and `RunEnded`."""
    for _ in range(_ATTEMPTS):
        run = await changeable_run(resources.store, context, thread_uuid, run_uuid)
        if not is_open(run):
            raise RunEnded(f"The run {run_uuid} is {run.status}.")
        ended = await end_run(resources, run, RunStatus.CANCELLED)
        if ended is not None:
            await stop_job(resources, run)
            await cancel_calls(resources.store, run)
            return ended
    raise RunInProgress(f"Too many writers are changing the run {run_uuid}.", fix="Try again.")


async def cancel_calls(store: AsyncStore, run: Run) -> None:
    """End the tool calls of a run that has ended for good and has not waited for them."""
    question = ToolCall.of_run(partition=run.partition, thread_uuid=run.thread_uuid, run_uuid=run.run_uuid)
    for call in [call async for call in store.query(question, consistent=True) if call.status in OPEN_CALLS]:
        try:
            await store.patch(call, ToolCall.status.to(ToolCallStatus.CANCELLED), returning="none")
        except (ConditionFailed, NotFound):
            # It ended at the same moment.
            continue


async def stop_job(resources: Resources[AgentsSettings], run: Run) -> None:
    """Cancel the job of a run that was ended from outside the job."""
    if run.job_id is None:
        return
    try:
        await resources.queue.cancel(UUID(run.job_id))
    except JobError:
        # The job ended on its own in the meantime.
        return


async def expire_run(resources: Resources[AgentsSettings], run: Run) -> Run | None:
    """Expire a run whose deadline has passed; None if it has already ended or its deadline was extended."""
    now = resources.store.setup.now()
    what = "it waited for approval too long" if run.status is RunStatus.REQUIRES_ACTION else "it took too long"
    ended = await end_run(
        resources,
        run,
        RunStatus.EXPIRED,
        error=f"The run expired: {what}.",
        is_due=lambda run: is_open(run) and run.deadline is not None and run.deadline <= now,
    )
    if ended is not None:
        await stop_job(resources, run)
    return ended


async def retry_run(resources: Resources[AgentsSettings], context: Context, thread_uuid: str, run_uuid: str) -> Run:
    """Resume a failed or expired run from its last stored step. Raises `RunEnded` and `RunInProgress`."""
    store, settings = resources.store, resources.settings
    run = await changeable_run(store, context, thread_uuid, run_uuid)
    if run.status not in (RunStatus.FAILED, RunStatus.EXPIRED) or run.request is None:
        raise RunEnded(f"The run {run_uuid} is {run.status}; only failed and expired runs can be retried.", fix="Ask again.")
    thread = await store.get(Thread, partition=run.partition, thread_uuid=thread_uuid, consistent=True)
    if thread.current_run_uuid is not None:
        raise RunInProgress(f"The thread {thread_uuid} is answering another question.", details={"run_uuid": thread.current_run_uuid})
    deadline = store.setup.now() + timedelta(seconds=int(run.request["seconds"]))
    enlisted = await resources.queue.enlist(job_for(run, settings))
    changes = [
        Run.status.to(RunStatus.QUEUED),
        Run.error.remove(),
        Run.error_code.remove(),
        Run.finished_at.remove(),
        Run.deadline.set(deadline),
        Run.job_id.set(str(enlisted.job.job_id)),
        Run.earlier_job_ids.set([*run.earlier_job_ids, *([run.job_id] if run.job_id else [])]),
    ]
    free = patch(thread, Thread.current_run_uuid.set(run_uuid), condition=Thread.current_run_uuid.missing())
    try:
        await store.transact([patch(run, *changes), free, *enlisted.writes])
    except TransactionCanceled:
        raise RunInProgress(f"The thread {thread_uuid} is now answering another question.") from None
    return await changeable_run(store, context, thread_uuid, run_uuid)
