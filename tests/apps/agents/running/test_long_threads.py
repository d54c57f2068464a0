"""Threads that do not fit into a model's window: bounded reads, and a running summary."""

from typing import Any

from gateleg.ai import Assistant, System, User
from gateleg.apps.agents.running.submission import SubmittedRun
from gateleg.apps.agents.tables import Agent, Thread, new_id
from gateleg.apps.agents.thread_tables import Message, RunStatus
from gateleg.apps.agents.thread_tables import messages as messages_table
from gateleg.jobs import follow_async
from gateleg.model import spec_of
from tests.apps.agents.running.hosted import ANN, Hosted


async def long_thread(hosted: Hosted, agent: Agent, count: int) -> Thread:
    """A thread of so many messages."""
    store, context = hosted.resources.store, hosted.context(ANN)
    thread = await store.create(Thread(partition=context.partition, agent_uuid=agent.agent_uuid, owner_id=context.owner))
    messages = [
        Message(
            partition=context.partition,
            thread_uuid=thread.thread_uuid,
            owner_id=context.owner,
            run_uuid="earlier",
            message_uuid=new_id(),
            role="user" if number % 2 == 0 else "assistant",
            message=f"m{number}",
        )
        for number in range(count)
    ]
    # As they lie in the table, without the counters that each of them would move.
    name = store.setup.name_of(messages_table)
    requests = [{"PutRequest": {"Item": spec_of(Message).encode(message)}} for message in messages]
    for first in range(0, count, 25):
        await store.transport.call("BatchWriteItem", {"RequestItems": {name: requests[first : first + 25]}})
    return thread


async def measured(hosted: Hosted, agent: Agent, thread: Thread) -> tuple[SubmittedRun, dict[str, int], int]:
    """Ask in a thread: requests by operation, and items that were read of messages."""
    hosted.host.costs.reset()
    asked = await hosted.ask(agent, "And now?", thread_uuid=thread.thread_uuid)
    assert (await hosted.ended(asked)).status is RunStatus.COMPLETED
    tallies = hosted.host.costs.reset()
    counts: dict[str, int] = {}
    for (pattern, operation), tally in tallies.items():
        if "Message" in pattern or "ToolCall" in pattern:
            counts[f"{pattern} {operation}"] = tally.requests
    items = sum(tally.items for (pattern, operation), tally in tallies.items() if "Message" in pattern and operation == "Query")
    return asked, counts, items


async def test_a_thread_of_ten_thousand_messages_is_answered_in_bounded_reads(hosted: Hosted) -> None:
    found: list[Any] = []
    for count in (20, 10_000):
        agent = await hosted.agent("Tea.", num_of_messages=6, configuration={"summarise": False})
        thread = await long_thread(hosted, agent, count)
        found.append((await measured(hosted, agent, thread))[1:])
        (prompt,) = hosted.script(agent).requests
        last = [f"m{number}" for number in range(count - 6, count)]
        assert [message.text for message in prompt.messages] == [*last, "And now?"]
    # The same requests, and the same number of messages, however long the thread is.
    assert found[0] == found[1]
    assert found[1][1] < 30


async def test_what_does_not_fit_is_summarised_and_told_from_then_on(hosted: Hosted) -> None:
    def line(asked: Any) -> str:
        return "They count." if "Summarise" in asked.system else "One."

    agent = await hosted.agent(*[line] * 4, num_of_messages=4)
    thread = await long_thread(hosted, agent, 12)
    await measured(hosted, agent, thread)
    await _summarised(hosted, thread, "m11")
    await measured(hosted, agent, thread)
    answered = [one for one in hosted.script(agent).requests if "Summarise" not in one.system]
    first, second = (one.messages for one in answered)
    assert first == (User("m8"), Assistant("m9"), User("m10"), Assistant("m11"), User("And now?"))
    assert second[1:] == (User("m10"), Assistant("m11"), User("And now?"), Assistant("One."), User("And now?"))
    assert isinstance(second[0], System)
    assert "They count." in second[0].text
    asked = next(one for one in hosted.script(agent).requests if "Summarise" in one.system)
    assert "user: m0\nassistant: m1" in asked.turns[0].text


async def test_a_summary_covers_the_whole_window_so_that_not_every_answer_needs_one(hosted: Hosted) -> None:
    agent = await hosted.agent(*["They count."] * 40, num_of_messages=4)
    thread = await long_thread(hosted, agent, 2)
    for _ in range(12):
        await measured(hosted, agent, thread)
        async for job in _jobs_of(hosted, thread):
            async for _ in follow_async(hosted.resources.queue, job.job_id):
                pass
    summaries = [one for one in hosted.script(agent).requests if "Summarise" in one.system]
    assert len(hosted.script(agent).requests) - len(summaries) == 12
    # If each covered only what had left the window, there would be ten.
    assert len(summaries) == 4


async def _summarised(hosted: Hosted, thread: Thread, text: str) -> None:
    """Wait for the summary of a thread."""
    (job,) = [one async for one in _jobs_of(hosted, thread)]
    async for _ in follow_async(hosted.resources.queue, job.job_id):
        pass
    stored = await hosted.resources.store.get(Thread, partition=thread.partition, thread_uuid=thread.thread_uuid)
    assert stored.summary == "They count."
    last = await hosted.resources.store.get(
        Message, partition=thread.partition, thread_uuid=thread.thread_uuid, message_uuid=stored.summarised_to or ""
    )
    assert last.message == text


async def _jobs_of(hosted: Hosted, thread: Thread) -> Any:
    tables = hosted.resources.queue.tables
    async for job in hosted.resources.store.query(tables.job.of_subject(subject=thread.thread_uuid)):
        if job.job_type == "agents.summarise":
            yield job
