"""Approve and deny the tool calls of a run. The last decision submits a job that continues the run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.agents.errors import CallsUndecided, NotWaiting, RunInProgress
from gateleg.apps.agents.running.threads import changeable_run, job_for
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import Run, RunStatus, ToolCall, ToolCallStatus
from gateleg.jobs import JobMissing
from gateleg.store import TransactionCanceled, patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.jobs import Submission

__all__ = ["Decision", "decide_calls"]

_ATTEMPTS = 5


class Decision(BaseModel):
    """Approval or denial of a tool call."""

    model_config = ConfigDict(extra="forbid")

    tool_call_uuid: str
    approve: bool
    #: given to the model as the result of a denied call
    reason: str = Field(default="", max_length=2_000)


async def decide_calls(
    resources: Resources[AgentsSettings], context: Context, thread_uuid: str, run_uuid: str, decisions: Sequence[Decision]
) -> Run:
    """Approve or deny pending tool calls. After the last one the run continues.

    Raises `NotFoundInPartition`, `NotWaiting` for a run or call that is not pending, `CallsUndecided` for an unknown call.
    """
    for _ in range(_ATTEMPTS):
        run = await changeable_run(resources.store, context, thread_uuid, run_uuid)
        if run.status is not RunStatus.REQUIRES_ACTION:
            raise NotWaiting(f"The run {run_uuid} is {run.status} and has no pending decision.")
        if await _decide(resources, context, run, decisions):
            return await changeable_run(resources.store, context, thread_uuid, run_uuid)
    raise RunInProgress(f"Too many writers are changing the run {run_uuid}.", fix="Try again.")


async def _decide(resources: Resources[AgentsSettings], context: Context, run: Run, decisions: Sequence[Decision]) -> bool:
    store = resources.store
    calls = {call.tool_call_uuid: call for call in (await read_run(store, run.partition, run.thread_uuid, run.run_uuid)).calls}
    writes: list[Any] = []
    for decision in decisions:
        call = calls.get(decision.tool_call_uuid)
        if call is None:
            raise CallsUndecided(f"The run {run.run_uuid} has no tool call {decision.tool_call_uuid!r}.")
        if call.status is not ToolCallStatus.REQUIRES_APPROVAL:
            raise NotWaiting(f"The tool call {call.tool_call_uuid} is {call.status} and not waiting for a decision.")
        to = ToolCallStatus.APPROVED if decision.approve else ToolCallStatus.DENIED
        changes = [ToolCall.status.to(to), ToolCall.decided_by.set(context.principal.name)]
        writes.append(patch(call, *changes, *([ToolCall.notes.set(decision.reason)] if decision.reason else [])))
    decided = {decision.tool_call_uuid for decision in decisions}
    waiting = [one for one in calls.values() if one.status is ToolCallStatus.REQUIRES_APPROVAL and one.tool_call_uuid not in decided]
    changes, along = await _going_on(resources, run) if not waiting else ([_still_waiting(run, waiting)], [])
    try:
        await store.transact([patch(run, *changes), *writes, *along])
    except TransactionCanceled:
        return False
    return True


def _still_waiting(run: Run, waiting: Sequence[ToolCall]) -> Any:
    left = [{"tool_call_uuid": one.tool_call_uuid, "name": one.name, "arguments": one.arguments or "{}"} for one in waiting]
    return Run.required_action.set({"type": "approve_tool_calls", "tool_calls": left})


async def _going_on(resources: Resources[AgentsSettings], run: Run) -> tuple[list[Any], Sequence[Any]]:
    """The changes and writes that continue a run: a job that starts when the previous one has ended."""
    now = resources.store.setup.now()
    enlisted = await resources.queue.enlist(await _continuation(resources, run))
    changes = [
        Run.status.to(RunStatus.QUEUED),
        Run.required_action.remove(),
        Run.deadline.set(now + timedelta(seconds=int((run.request or {})["seconds"]))),
        Run.job_id.set(str(enlisted.job.job_id)),
        Run.earlier_job_ids.set([*run.earlier_job_ids, *([run.job_id] if run.job_id else [])]),
    ]
    return changes, enlisted.writes


async def _continuation(resources: Resources[AgentsSettings], run: Run) -> Submission:
    submission = job_for(run, resources.settings)
    if run.job_id is None:
        return submission
    try:
        before = await resources.queue.get(UUID(run.job_id))
    except JobMissing:
        return submission
    # The previous job may still be ending. Waiting for it keeps the frames of the two jobs in order.
    return submission if before.finished else replace(submission, dependencies=[before.job_id])
