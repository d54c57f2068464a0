"""The running summary of a thread: what no longer fits into the model's window, folded in by the agent's own model.

A run that left messages out has the thread summarised by a job of its own, so that nobody waits for it. The summary grows by what came
between the last message that it covers and the first one that is still shown, some messages at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.ai import System, User
from gateleg.apps.agents.running.agents import agent_version, handler_for
from gateleg.apps.agents.running.job_types import SUMMARISE, SummariseConfig
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import Message
from gateleg.jobs import Submission
from gateleg.store import ConditionFailed
from gateleg.web import submitted_by

if TYPE_CHECKING:
    from gateleg.apps.agents.running.run_work import RunWork
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.web import Resources

__all__ = ["have_summarised", "summarise_thread"]

#: Messages that one job folds in, and characters of each that the model reads.
_AT_ONCE, _SHOWN = 40, 2_000
#: Characters of a summary.
_LONGEST = 8_000
_TASK = (
    "Summarise this conversation in a few sentences for somebody who goes on with it. Keep names, numbers, decisions and open questions. "
    "Write only the summary."
)


async def have_summarised(work: RunWork, until: str) -> None:
    """Submit the job that summarises a thread up to a message; while one waits, there is no second."""
    run = work.run
    if work.agent.configuration.get("summarise") is False:
        return
    config = SummariseConfig(
        endpoint_id=run.partition.endpoint_id,
        part_id=run.partition.part_id,
        thread_uuid=run.thread_uuid,
        agent_version_uuid=work.agent.agent_version_uuid,
        until=until,
        request=work.request,
    )
    submission = Submission(SUMMARISE, config, subject=run.thread_uuid, unique_key=f"{SUMMARISE}:{run.partition}:{run.thread_uuid}")
    await work.resources.queue.submit(submitted_by(work.request.asker.principal, submission))


async def summarise_thread(resources: Resources[AgentsSettings], config: SummariseConfig) -> int:
    """Fold the messages before one into the summary of their thread; how many there were. Nothing happens if another job was first."""
    store, partition = resources.store, config.partition
    thread = await store.find(Thread, partition=partition, thread_uuid=config.thread_uuid, consistent=True)
    if thread is None:
        return 0
    covered = Message.message_uuid > (thread.summarised_to or "0")
    question = Message.of_thread(partition=partition, thread_uuid=config.thread_uuid).where(covered)
    messages = [one async for one in store.query(question, consistent=True, limit=_AT_ONCE) if one.message_uuid < config.until]
    if not messages:
        return 0
    agent = await agent_version(store, partition, config.agent_version_uuid)
    handler = await handler_for(resources, config.request.context(partition), agent)
    lines = [f"{one.role}: {one.message[:_SHOWN]}" for one in messages if one.message]
    before = f"Summary so far: {thread.summary}\n\n" if thread.summary else ""
    text = before + "\n".join(lines)
    reply = None
    async for delta in handler.stream([System(_TASK), User(text[: handler.budget * 3])], max_tokens=400):
        reply = delta.reply or reply
    summary = (reply.text if reply is not None else "").strip()[:_LONGEST]
    if not summary:
        return 0
    unchanged = Thread.summarised_to.missing() if thread.summarised_to is None else Thread.summarised_to == thread.summarised_to
    # The thread is not made younger by this: it is not an activity of its user.
    still = Thread.updated_at.set(thread.updated_at)
    try:
        await store.patch(
            thread, Thread.summary.set(summary), Thread.summarised_to.set(messages[-1].message_uuid), still, condition=unchanged
        )
    except ConditionFailed:
        return 0
    return len(messages)
