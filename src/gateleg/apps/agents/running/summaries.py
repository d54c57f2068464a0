"""The rolling summary of a thread: the agent's own model summarises messages that no longer fit its context window.

A run that left out messages which no summary covers submits a job, so that no answer waits for the summary. The job folds in, batch by
batch, all messages before that run. So it covers the whole window ahead, and the next summary is due only when the window has moved beyond
it: not after every answer. The write is conditional on those messages being unchanged; a later change or
deletion of a covered message discards the summary (`threads.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai import System, User
from gateleg.apps.agents.running.agents import agent_version, handler_for
from gateleg.apps.agents.running.ids import message_uuid
from gateleg.apps.agents.running.job_types import SUMMARISE, SummariseConfig
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import Message, Run
from gateleg.apps.agents.usage import SUMMARISING, billed_to
from gateleg.host import submitted_by
from gateleg.jobs import Submission
from gateleg.store import TransactionCanceled, check, patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.running.run_work import RunWork
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources
    from gateleg.store import AsyncStore

__all__ = ["submit_summary", "summarise_thread"]

#: Messages per batch, characters read of each message, and batches per job.
_AT_ONCE, _SHOWN, _PASSES = 40, 2_000, 10
#: Maximum characters of a summary.
_MAX_SUMMARY_LENGTH = 8_000
_TASK = (
    "Summarise this conversation in a few sentences for somebody who goes on with it. Keep names, numbers, decisions and open questions. "
    "Write only the summary."
)


async def submit_summary(work: RunWork) -> None:
    """Submit the job that summarises a thread up to a run, unless one is already waiting."""
    run = work.run
    if work.agent.configuration.get("summarise") is False:
        return
    config = SummariseConfig(
        endpoint_id=run.partition.endpoint_id,
        part_id=run.partition.part_id,
        thread_uuid=run.thread_uuid,
        agent_version_uuid=work.agent.agent_version_uuid,
        until=message_uuid(run.run_uuid, 0),
        request=work.request,
        run_uuid=run.run_uuid,
    )
    submission = Submission(SUMMARISE, config, subject=run.thread_uuid, unique_key=f"{SUMMARISE}:{run.partition}:{run.thread_uuid}")
    await work.resources.queue.submit(submitted_by(work.request.asker.principal, submission))


async def summarise_thread(resources: Resources[AgentsSettings], config: SummariseConfig) -> int:
    """Fold the messages before a given one into the thread's summary, batch by batch; returns their number.

    A first summary starts with the newest messages that one job can process; older ones are left out.
    """
    folded = 0
    for _ in range(_PASSES):
        thread = await resources.store.find(Thread, partition=config.partition, thread_uuid=config.thread_uuid, consistent=True)
        messages = [] if thread is None else await _next_messages(resources.store, config, thread)
        if thread is None or not messages:
            break
        summary = await _summarise(resources, config, thread, messages)
        if not summary:
            break
        if await _write_summary(resources.store, thread, summary, messages):
            folded += len(messages)
    return folded


async def _next_messages(store: AsyncStore, config: SummariseConfig, thread: Thread) -> list[Message]:
    """The next batch of messages, oldest first."""
    place = {"partition": config.partition, "thread_uuid": config.thread_uuid}
    if thread.summarised_to is None:
        before = Message.newest(**place).where(Message.message_uuid < config.until)
        newest = [one async for one in store.query(before, consistent=True, limit=_AT_ONCE * _PASSES)]
        return newest[::-1][:_AT_ONCE]
    question = Message.of_thread(**place).where(Message.message_uuid > thread.summarised_to)
    return [one async for one in store.query(question, consistent=True, limit=_AT_ONCE) if one.message_uuid < config.until]


async def _summarise(resources: Resources[AgentsSettings], config: SummariseConfig, thread: Thread, messages: Sequence[Message]) -> str:
    """Ask the agent's model to merge messages into the summary."""
    agent = await agent_version(resources.store, config.partition, config.agent_version_uuid)
    run = await _run(resources.store, config)
    models = billed_to(resources, config.partition, SUMMARISING, run=run)
    handler = await handler_for(resources, config.request.context(config.partition), agent, models)
    lines = [f"{one.role}: {one.message[:_SHOWN]}" for one in messages if one.message]
    before = f"Summary so far: {thread.summary}\n\n" if thread.summary else ""
    text = before + "\n".join(lines)
    reply = None
    async for delta in handler.stream([System(_TASK), User(text[: handler.budget * 3])], max_tokens=400):
        reply = delta.reply or reply
    return (reply.text if reply is not None else "").strip()[:_MAX_SUMMARY_LENGTH]


async def _run(store: AsyncStore, config: SummariseConfig) -> Run | None:
    """The run that pays for the summary; None for jobs of earlier releases, or if it was deleted."""
    if not config.run_uuid:
        return None
    return await store.find(Run, partition=config.partition, thread_uuid=config.thread_uuid, run_uuid=config.run_uuid)


async def _write_summary(store: AsyncStore, thread: Thread, summary: str, messages: Sequence[Message]) -> bool:
    """Write a summary, on condition that the previous one and the messages are unchanged."""
    unchanged = Thread.summarised_to.missing() if thread.summarised_to is None else Thread.summarised_to == thread.summarised_to
    # A summary is not user activity, so updated_at stays.
    still = Thread.updated_at.set(thread.updated_at)
    changes = (Thread.summary.set(summary), Thread.summarised_to.set(messages[-1].message_uuid), still)
    same = [check(one, Message.updated_at == one.updated_at) for one in messages]
    try:
        await store.transact([patch(thread, *changes, condition=unchanged), *same])
    except TransactionCanceled:
        return False
    return True
