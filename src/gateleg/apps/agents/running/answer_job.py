"""Answer a run: loop over model replies and tool calls, store each step before the next, and stream the output.

After a crash, the next attempt resumes at the first step that is not stored.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.ai import AiError
from gateleg.apps.agents.errors import AgentsError
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.job_types import AnswerResult
from gateleg.apps.agents.running.loop import AskModel, CallTools, Finish, Interrupted, TooManySteps, WaitForApproval, next_step
from gateleg.apps.agents.running.model_replies import ask_model
from gateleg.apps.agents.running.run_end import cancel_calls, end_run, expire_run
from gateleg.apps.agents.running.run_work import open_work
from gateleg.apps.agents.running.threads import is_open
from gateleg.apps.agents.running.tool_calls import call_tools, fail_interrupted
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import AsyncTask, Run, RunStatus, TaskStatus, ToolCall
from gateleg.apps.agents.usage import ANSWERING, billed_to
from gateleg.host.errors import Refusal
from gateleg.jobs import GiveUp
from gateleg.net.errors import OutgoingError
from gateleg.store import ConditionFailed, TransactionCanceled, patch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.apps.agents.running.job_types import AnswerConfig
    from gateleg.apps.agents.running.run_work import RunWork
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources
    from gateleg.jobs import JobContext
    from gateleg.store import AsyncStore

__all__ = ["answer_run"]

_log = logging.getLogger("gateleg.agents")


async def answer_run(job: JobContext, config: AnswerConfig, resources: Resources[AgentsSettings]) -> AnswerResult:
    """Resume a run, and continue until it ends or a tool call needs approval."""
    run = await _start(job, config, resources)
    if run is None:
        found = await _read(resources.store, config)
        return AnswerResult(run_uuid=config.run_uuid, status="deleted" if found is None else found.status)
    try:
        async with asyncio.timeout(_seconds_left(run, resources.store.setup.now())):
            return await _answer(job, run, resources)
    except TimeoutError:
        return await _expire(job, config, resources)
    except (AiError, AgentsError, Refusal, OutgoingError) as error:
        if getattr(error, "passing", False) and _has_more_attempts(job):
            raise
        await _fail(job, config, resources, error.public_text, error.code)
        # The caller sees the job and its log, too. The whole text is for operators, in the log of the worker only.
        Context().run(_log.warning, "the run %s failed: %s", config.run_uuid, error)
        raise GiveUp(error.public_text) from error
    except (GiveUp, asyncio.CancelledError):
        raise
    except Exception as error:
        if not _has_more_attempts(job):
            # The job's log has the details; the caller must not see the internals of this host.
            await _fail(
                job, config, resources, f"The run failed with {type(error).__name__}. Ask again; the log of its job has the details."
            )
        raise


def _has_more_attempts(job: JobContext) -> bool:
    return job.job.retry_count < job.job.max_retries


def _seconds_left(run: Run, now: datetime) -> float | None:
    return None if run.deadline is None else max(0.0, (run.deadline - now).total_seconds())


async def _read(store: AsyncStore, config: AnswerConfig) -> Run | None:
    place = {"partition": config.partition, "thread_uuid": config.thread_uuid, "run_uuid": config.run_uuid}
    return await store.find(Run, **place, consistent=True)


async def _start(job: JobContext, config: AnswerConfig, resources: Resources[AgentsSettings]) -> Run | None:
    """Mark the run as running; None if it has ended or belongs to another job."""
    store = resources.store
    run = await _read(store, config)
    if run is None or run.job_id != str(job.job_id) or run.status not in (RunStatus.QUEUED, RunStatus.RUNNING):
        return None
    if run.status is RunStatus.RUNNING:
        # Its worker was lost: so are the ends of the calls that it was making.
        await billed_to(resources, run.partition, ANSWERING, run=run).settle_lost(run.run_uuid)
        run = await _read(store, config) or run
        job.emit(Frame(kind="restart", step=run.iterations + 1).to_event())
    now = store.setup.now()
    changes = [Run.attempts.add(1), Run.started_at.set(run.started_at or now)]
    changes += [Run.status.to(RunStatus.RUNNING)] if run.status is RunStatus.QUEUED else []
    writes: list[Any] = [patch(run, *changes)]
    if run.async_task_uuid is not None:
        task = await store.find(AsyncTask, partition=run.partition, async_task_uuid=run.async_task_uuid, consistent=True)
        if task is not None and task.status in (TaskStatus.INITIAL, TaskStatus.FAILED):
            writes.append(patch(task, AsyncTask.status.to(TaskStatus.IN_PROGRESS)))
    try:
        await store.transact(writes)
    except TransactionCanceled:
        # The run was cancelled or taken over concurrently.
        return None
    job.emit(Frame(kind="status", status="running").to_event())
    return await _read(store, config)


async def _answer(job: JobContext, run: Run, resources: Resources[AgentsSettings]) -> AnswerResult:
    work = await open_work(resources, job, run)
    while True:
        transcript = await read_run(resources.store, run.partition, run.thread_uuid, run.run_uuid)
        steps = transcript.steps(run.run_uuid, lambda name: (tool := work.toolbox.find(name)) is not None and tool.repeatable)
        match next_step(steps, cap=work.cap):
            case AskModel(number, tools):
                current = await work.read_run()
                if not is_open(current):
                    # It was cancelled while its tools ran: an answer would be paid for in vain.
                    return AnswerResult(run_uuid=run.run_uuid, status=current.status)
                ended = await ask_model(work, number, tools=tools, transcript=transcript)
                if ended is not None:
                    return _emit_end(work, ended)
            case CallTools(calls):
                await call_tools(work, [call for call in transcript.calls if call.tool_call_uuid in calls])
            case Interrupted(calls):
                await fail_interrupted(work, [call for call in transcript.calls if call.tool_call_uuid in calls])
            case WaitForApproval(calls):
                return await _wait_for_approval(work, [call for call in transcript.calls if call.tool_call_uuid in calls])
            case TooManySteps(cap):
                raise GiveUp(await _too_many(work, cap))
            case Finish():
                # The answer and the run's end are one transaction, so another worker must have stored this answer.
                current = await work.read_run()
                return AnswerResult(run_uuid=run.run_uuid, status=current.status)


def _emit_end(work: RunWork, run: Run) -> AnswerResult:
    """Emit the last frame of an ended run."""
    work.emit(end_frame(run))
    return AnswerResult(run_uuid=run.run_uuid, status=run.status)


def end_frame(run: Run) -> Frame:
    """The last frame of a run in its current state."""
    data: dict[str, Any] = {
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "total_tokens": run.total_tokens,
        "cost": None if run.known_cost is None else str(run.known_cost),
        "model": run.model,
    }
    for name in ("error", "error_code", "output", "required_action", "finish"):
        if (value := getattr(run, name)) is not None:
            data[name] = value
    return Frame(kind="end", status=run.status, data=data)


async def _wait_for_approval(work: RunWork, calls: Sequence[ToolCall]) -> AnswerResult:
    """Suspend the run until its tool calls are approved or denied. The worker is free meanwhile."""
    store, settings = work.resources.store, work.resources.settings
    run = await work.read_run()
    if not is_open(run):
        return AnswerResult(run_uuid=run.run_uuid, status=run.status)
    waiting = [{"tool_call_uuid": call.tool_call_uuid, "name": call.name, "arguments": call.arguments or "{}"} for call in calls]
    changes = (
        Run.status.to(RunStatus.REQUIRES_ACTION),
        Run.required_action.set({"type": "approve_tool_calls", "tool_calls": waiting}),
        Run.deadline.set(store.setup.now() + timedelta(seconds=settings.approval_seconds)),
    )
    try:
        await store.patch(run, *changes)
    except ConditionFailed:
        run = await work.read_run()
        return AnswerResult(run_uuid=run.run_uuid, status=run.status)
    return _emit_end(work, await work.read_run())


async def _too_many(work: RunWork, cap: int) -> str:
    error = f"The model called tools {cap + 1} times without answering; the limit is {cap}."
    ended = await end_run(work.resources, await work.read_run(), RunStatus.FAILED, error=error, code="too-many-steps")
    if ended is not None:
        # A retry would meet the same limit: they are never made.
        await cancel_calls(work.resources.store, ended)
        work.emit(end_frame(ended))
    return error


async def _expire(job: JobContext, config: AnswerConfig, resources: Resources[AgentsSettings]) -> AnswerResult:
    run = await _read(resources.store, config)
    ended = None if run is None else await expire_run(resources, run)
    if ended is not None:
        job.emit(end_frame(ended).to_event())
    return AnswerResult(run_uuid=config.run_uuid, status=RunStatus.EXPIRED)


async def _fail(job: JobContext, config: AnswerConfig, resources: Resources[AgentsSettings], error: str, code: str | None = None) -> None:
    for _ in range(3):
        run = await _read(resources.store, config)
        if run is None or not is_open(run):
            return
        ended = await end_run(resources, run, RunStatus.FAILED, error=error, code=code)
        if ended is not None:
            job.emit(end_frame(ended).to_event())
            return
