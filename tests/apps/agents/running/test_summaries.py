"""The running summary of a thread tells what its messages say: also when they change, are deleted, or were never answered."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.ai import User
from gateleg.ai.errors import ModelRefused
from gateleg.apps.agents.running.job_types import RunRequest, StoredCaller, SummariseConfig
from gateleg.apps.agents.running.summaries import summarise_thread
from gateleg.apps.agents.tables import Agent, Thread
from gateleg.apps.agents.thread_tables import Message, RunStatus
from gateleg.apps.agents.threads import delete_message, save_message
from gateleg.model import spec_of
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from tests.apps.agents.running.hosted import ANN, Hosted
from tests.apps.agents.running.test_long_threads import long_thread


def counted(asked: Any) -> str:
    """A model that says which messages it was shown."""
    text = asked.turns[0].text
    before = text.partition("\n\n")[0].removeprefix("Summary so far: ").split(",") if text.startswith("Summary so far") else []
    return ",".join([*before, *(line.partition(": ")[2] for line in text.rpartition("\n\n")[2].splitlines())])


async def messages_of(hosted: Hosted, thread: Thread) -> dict[str, Message]:
    question = Message.of_thread(partition=thread.partition, thread_uuid=thread.thread_uuid)
    return {one.message: one async for one in hosted.resources.store.query(question)}


async def summarised(hosted: Hosted, agent: Agent, thread: Thread, until: str) -> tuple[int, Thread]:
    """Summarise a thread up to a message; how many were folded in, and the thread."""
    config = SummariseConfig(
        endpoint_id=thread.partition.endpoint_id,
        part_id=thread.partition.part_id,
        thread_uuid=thread.thread_uuid,
        agent_version_uuid=agent.agent_version_uuid,
        until=(await messages_of(hosted, thread))[until].message_uuid,
        request=RunRequest(asker=StoredCaller.of(ANN), user_id="ann", seconds=60),
    )
    folded = await summarise_thread(hosted.resources, config)
    return folded, await hosted.resources.store.get(Thread, partition=thread.partition, thread_uuid=thread.thread_uuid)


def texts(first: int, last: int) -> str:
    return ",".join(f"m{number}" for number in range(first, last + 1))


async def test_all_messages_before_the_shown_ones_are_folded_in(idle: Hosted) -> None:
    agent = await idle.agent(*[counted] * 4)
    thread = await long_thread(idle, agent, 100)
    folded, found = await summarised(idle, agent, thread, "m90")
    assert (folded, found.summary) == (90, texts(0, 89))
    folded, found = await summarised(idle, agent, thread, "m95")
    assert (folded, found.summary) == (5, texts(0, 94))


async def test_a_long_thread_without_a_summary_is_begun_at_what_one_job_can_fold_in(idle: Hosted) -> None:
    agent = await idle.agent(*[counted] * 10)
    thread = await long_thread(idle, agent, 460)
    folded, found = await summarised(idle, agent, thread, "m450")
    assert (folded, found.summary) == (400, texts(50, 449))


async def delete(hosted: Hosted, message: Message) -> None:
    assert await delete_message(hosted.resources.store, hosted.context(), message.message_uuid, message.thread_uuid)


async def change(hosted: Hosted, message: Message) -> None:
    values = {"thread_uuid": message.thread_uuid, "message_uuid": message.message_uuid, "message": "changed"}
    await save_message(hosted.resources.store, hosted.context(), values)


@pytest.mark.parametrize(("alter", "left"), [(delete, "m0,m1,m2"), (change, "m0,m1,m2,changed")])
async def test_a_message_that_is_gone_or_changed_takes_the_summary_along(idle: Hosted, alter: Callable[..., Any], left: str) -> None:
    agent = await idle.agent(*[counted] * 2)
    thread = await long_thread(idle, agent, 8)
    assert (await summarised(idle, agent, thread, "m4"))[1].summary == "m0,m1,m2,m3"
    messages = await messages_of(idle, thread)
    await alter(idle, messages["m3"])
    found = await idle.resources.store.get(Thread, partition=thread.partition, thread_uuid=thread.thread_uuid)
    assert (found.summary, found.summarised_to) == (None, None)
    assert (await summarised(idle, agent, thread, "m4"))[1].summary == left


async def test_a_message_that_is_not_summarised_leaves_the_summary(idle: Hosted) -> None:
    agent = await idle.agent(counted)
    thread = await long_thread(idle, agent, 8)
    await summarised(idle, agent, thread, "m4")
    await delete(idle, (await messages_of(idle, thread))["m5"])
    found = await idle.resources.store.get(Thread, partition=thread.partition, thread_uuid=thread.thread_uuid)
    assert found.summary == "m0,m1,m2,m3"


async def test_a_message_that_goes_while_it_is_summarised_is_not_in_the_summary(idle: Hosted) -> None:
    transport = idle.resources.store.transport
    assert isinstance(transport, AsyncEmbeddedTransport)

    def losing(asked: Any) -> str:
        """Somebody deletes a message while the model writes."""
        name = idle.resources.store.setup.name_of(spec_of(Message).table)
        item = spec_of(Message).encode(messages["m3"])
        table = spec_of(Message).table
        transport.engine.call("DeleteItem", {"TableName": name, "Key": {one: item[one] for one in (table.hash, str(table.range))}})
        return counted(asked)

    agent = await idle.agent(losing, counted)
    thread = await long_thread(idle, agent, 8)
    messages = await messages_of(idle, thread)
    folded, found = await summarised(idle, agent, thread, "m4")
    assert (folded, found.summary) == (3, "m0,m1,m2")


async def test_a_question_that_was_not_answered_is_part_of_what_comes_next(hosted: Hosted) -> None:
    agent = await hosted.agent(ModelRefused("No."), "Tea.")
    first = await hosted.ask(agent, "I like tea.")
    assert (await hosted.ended(first)).status is RunStatus.FAILED
    second = await hosted.ask(agent, "What do I like?", thread_uuid=first.thread_uuid)
    assert (await hosted.ended(second)).status is RunStatus.COMPLETED
    assert hosted.script(agent).requests[1].messages == (User("I like tea."), User("What do I like?"))
