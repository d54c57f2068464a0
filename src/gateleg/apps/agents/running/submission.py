"""`ask`: turn a question into a run and its job, in one transaction. A refused question writes nothing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.apps.agents.changes import Changes
from gateleg.apps.agents.errors import IdempotencyKeyReused, NotFoundInPartition, RunInProgress, TooManyWaiting
from gateleg.apps.agents.running.agents import active_agent, agent_version
from gateleg.apps.agents.running.files import check_files
from gateleg.apps.agents.running.ids import message_uuid, task_uuid
from gateleg.apps.agents.running.job_types import RunRequest, StoredCaller
from gateleg.apps.agents.running.run_end import cancel_calls, stop_job
from gateleg.apps.agents.running.structures import check_output_schemas
from gateleg.apps.agents.running.threads import is_open, job_for, own_thread, recent_thread, waiting_runs
from gateleg.apps.agents.tables import Thread, new_id
from gateleg.apps.agents.thread_tables import AsyncTask, Message, Run, RunStatus
from gateleg.store import TransactionCanceled, create, patch

if TYPE_CHECKING:
    from gateleg.apps.agents.running.questions import Question
    from gateleg.apps.agents.settings import AgentsSettings, Policy
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.store import WriteOperation

__all__ = ["TASK_FUNCTION", "SubmittedRun", "ask"]

#: Function name of a question's async task, as in the public engine.
TASK_FUNCTION = "async_execute_ask_model"
#: Attempts while other writers change the same thread.
_ATTEMPTS = 8
_MAX_TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class SubmittedRun:
    """The run that answers a question."""

    agent_uuid: str
    thread_uuid: str
    run_uuid: str
    async_task_uuid: str
    #: False if the idempotency key matched an earlier question
    created: bool = True


async def ask(resources: Resources[AgentsSettings], context: Context, question: Question) -> SubmittedRun:
    """Ask an agent: find or create the thread, store the question, and submit the job that answers it.

    Raises `NotFoundInPartition`, `ThreadNotYours`, `OtherAgent`, `RunInProgress`, `TooManyWaiting`, `IdempotencyKeyReused`, and
    `BadOutputSchema`.
    """
    if question.output_schema is not None:
        await check_output_schemas([question.output_schema])
    await check_files(resources, context, question.input_files)
    for _ in range(_ATTEMPTS):
        agent = await active_agent(resources.store, context.partition, question.agent_uuid)
        await _check_version(resources, context, question)
        if question.idempotency_key is not None and (earlier := await _find_previous(resources, context, question)) is not None:
            return earlier
        asked = await _attempt(resources, context, question, agent)
        if asked is not None:
            return asked
    raise RunInProgress("Too many questions were asked in this thread at the same time.", fix="Try again.")


async def _check_version(resources: Resources[AgentsSettings], context: Context, question: Question) -> None:
    """Raise `NotFoundInPartition` if the version does not belong to the agent."""
    if question.agent_version_uuid is None:
        return
    version = await agent_version(resources.store, context.partition, question.agent_version_uuid)
    if version.agent_uuid != question.agent_uuid:
        raise NotFoundInPartition(f"There is no version {question.agent_version_uuid!r} of the agent {question.agent_uuid!r}.")


async def _find_previous(resources: Resources[AgentsSettings], context: Context, question: Question) -> SubmittedRun | None:
    place = task_uuid(context.owner, question.idempotency_key or "")
    task = await resources.store.find(AsyncTask, partition=context.partition, async_task_uuid=place, consistent=True)
    if task is None:
        return None
    given = task.arguments or {}
    if given.get("digest") != _digest(question):
        raise IdempotencyKeyReused(f"The idempotency key {question.idempotency_key!r} was already used with another question.")
    return SubmittedRun(given["agent_uuid"], given["thread_uuid"], given["run_uuid"], task.async_task_uuid, created=False)


def _digest(question: Question) -> str:
    """A digest that is equal for repetitions of the same question."""
    told = question.model_dump(mode="json", exclude={"idempotency_key", "updated_by"})
    return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


async def _attempt(resources: Resources[AgentsSettings], context: Context, question: Question, agent: Agent) -> SubmittedRun | None:
    """Try to ask; None if the thread changed concurrently."""
    store, settings = resources.store, resources.settings
    thread = await _thread(resources, context, question)
    run = _run(resources, context, question, agent, thread)
    task = _task(context, question, run)
    run = run.model_copy(update={"async_task_uuid": task.async_task_uuid})
    writes, displaced = await _turn_writes(resources, question, thread, run)
    waits = displaced is not None and displaced.status in _BLOCKING_STATUSES and _policy(question, settings) == "enqueue"
    if not waits:
        enlisted = await resources.queue.enlist(job_for(run, settings))
        run = run.model_copy(update={"job_id": str(enlisted.job.job_id)})
        writes = [*writes, *enlisted.writes]
    message = Message(
        partition=context.partition,
        thread_uuid=run.thread_uuid,
        owner_id=run.owner_id,
        message_uuid=message_uuid(run.run_uuid, 0),
        run_uuid=run.run_uuid,
        role="user",
        message=question.user_query,
        files=[file.model_dump() for file in question.input_files],
        updated_by=question.updated_by,
    )
    try:
        await store.transact([create(run), create(message), create(task), *writes])
    except TransactionCanceled:
        return None
    if displaced is not None and not waits:
        await stop_job(resources, displaced)
        if displaced.status is RunStatus.CANCELLED:
            await cancel_calls(store, displaced)
    return SubmittedRun(agent.agent_uuid, run.thread_uuid, run.run_uuid, task.async_task_uuid)


_BLOCKING_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.REQUIRES_ACTION)


async def _thread(resources: Resources[AgentsSettings], context: Context, question: Question) -> Thread | None:
    """The existing thread for the question; None to create one."""
    store = resources.store
    if question.thread_uuid is not None:
        return await own_thread(store, context, question.thread_uuid, question.agent_uuid)
    minutes = resources.settings.thread_life_minutes if question.thread_life_minutes is None else question.thread_life_minutes
    return await recent_thread(store, context, question.agent_uuid, question.user_id, minutes)


def _run(resources: Resources[AgentsSettings], context: Context, question: Question, agent: Agent, thread: Thread | None) -> Run:
    seconds = question.seconds or resources.settings.run_seconds
    request = RunRequest(
        asker=StoredCaller.of(context.principal),
        user_id=context.user_id,
        connection_id=context.connection_id,
        part_given=context.part_given,
        output_schema=question.output_schema,
        history=question.history,
        options=question.options,
        seconds=seconds,
    )
    pinned = thread.agent_version_uuid if thread is not None else None
    return Run(
        partition=context.partition,
        thread_uuid=thread.thread_uuid if thread is not None else new_id(),
        owner_id=context.owner,
        run_uuid=new_id(),
        agent_uuid=agent.agent_uuid,
        agent_version_uuid=question.agent_version_uuid or pinned or agent.agent_version_uuid,
        user_id=question.user_id,
        connection_id=context.connection_id,
        idempotency_key=question.idempotency_key,
        deadline=resources.store.setup.now() + timedelta(seconds=seconds),
        request=request.model_dump(mode="json"),
        updated_by=question.updated_by,
    )


def _task(context: Context, question: Question, run: Run) -> AsyncTask:
    key = question.idempotency_key
    arguments = question.model_dump(mode="json", exclude={"updated_by", "history"}, exclude_none=True)
    arguments |= {"thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid, "digest": _digest(question)}
    return AsyncTask(
        partition=context.partition,
        owner_id=context.owner,
        async_task_uuid=new_id() if key is None else task_uuid(context.owner, key),
        function_name=TASK_FUNCTION,
        arguments=arguments,
        updated_by=question.updated_by,
    )


def _policy(question: Question, settings: AgentsSettings) -> Policy:
    return question.policy or settings.policy


async def _turn_writes(
    resources: Resources[AgentsSettings], question: Question, thread: Thread | None, run: Run
) -> tuple[list[WriteOperation[Any]], Run | None]:
    """The writes that start a run in its thread or queue it, and the run that it waits for."""
    if thread is None:
        return _new_thread(question, run), None
    store, settings = resources.store, resources.settings
    take = Thread.current_run_uuid.set(run.run_uuid)
    if thread.current_run_uuid is None:
        return [patch(thread, take, condition=Thread.current_run_uuid.missing())], None
    held = Thread.current_run_uuid == thread.current_run_uuid
    place = {"partition": thread.partition, "thread_uuid": thread.thread_uuid}
    current = await store.find(Run, **place, run_uuid=thread.current_run_uuid, consistent=True)
    if current is None or not is_open(current):
        return [patch(thread, take, condition=held)], None
    now = store.setup.now()
    if current.deadline is not None and current.deadline <= now:
        late = [Run.status.to(RunStatus.EXPIRED), Run.finished_at.set(now), Run.error.set("The run expired: it took too long.")]
        return [patch(thread, take, condition=held), patch(current, *late)], current.model_copy(update={"status": RunStatus.EXPIRED})
    match _policy(question, settings):
        case "reject":
            raise RunInProgress(
                f"The thread {thread.thread_uuid} is still answering the previous question.", details={"run_uuid": current.run_uuid}
            )
        case "interrupt":
            cancelled = [Run.status.to(RunStatus.CANCELLED), Run.finished_at.set(now)]
            return [patch(thread, take, condition=held), patch(current, *cancelled)], current.model_copy(
                update={"status": RunStatus.CANCELLED}
            )
        case "enqueue":
            if len(await waiting_runs(store, thread.partition, thread.thread_uuid, settings.waiting_runs)) >= settings.waiting_runs:
                raise TooManyWaiting(f"{settings.waiting_runs} messages are already queued in the thread {thread.thread_uuid}.")
            # This write updates the thread's activity time; its condition is that the current run has not ended.
            return [patch(thread, Thread.current_run_uuid.set(current.run_uuid), condition=held)], current


def _new_thread(question: Question, run: Run) -> list[WriteOperation[Any]]:
    """The writes of a new thread. They include its agent's reference count, which protects the agent from deletion."""
    thread = Thread(
        partition=run.partition,
        thread_uuid=run.thread_uuid,
        agent_uuid=question.agent_uuid,
        user_id=question.user_id,
        owner_id=run.owner_id,
        title=" ".join(question.user_query.split())[:_MAX_TITLE_LENGTH] or None,
        current_run_uuid=run.run_uuid,
    )
    begun = Changes()
    begun.create(thread)
    return [step.operation for step in begun.steps()]
