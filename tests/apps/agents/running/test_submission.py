"""From a question to its answer: thread, run, job, model, stream, messages."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from gateleg.ai import Reply, Usage, User
from gateleg.apps.agents.errors import IdempotencyKeyReused, NotFoundInPartition, OtherAgent, RunInProgress, ThreadNotYours, TooManyWaiting
from gateleg.apps.agents.running.frames import reply_text
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import AsyncTask, Message, Run, RunStatus, TaskStatus
from tests.apps.agents.running.hosted import ANN, BOB, EVE, OTTO, Hosted, calling, hosting


async def test_a_question_is_answered(hosted: Hosted) -> None:
    agent = await hosted.agent(Reply("It is four.", usage=Usage(11, 3), model="script-1"), instructions="Be brief.")
    asked = await hosted.ask(agent, "What is two and two?", user_id="u1")
    run = await hosted.ended(asked)
    assert (run.status, run.error, run.model, run.cost) == (RunStatus.COMPLETED, None, "local:own", Decimal(0))
    assert (run.prompt_tokens, run.completion_tokens, run.total_tokens) == (11, 3, 14)
    assert run.agent_version_uuid == agent.agent_version_uuid
    assert run.time_spent is not None
    said = [(message.role, message.message) for message in (await hosted.transcript(asked)).messages]
    assert said == [("user", "What is two and two?"), ("assistant", "It is four.")]
    (prompt,) = hosted.script(agent).requests
    assert (prompt.system, prompt.turns) == ("Be brief.", (User("What is two and two?"),))
    task = await hosted.resources.store.get(AsyncTask, partition=run.partition, async_task_uuid=asked.async_task_uuid)
    assert (task.status, task.result) == (TaskStatus.COMPLETED, "It is four.")
    thread = await hosted.resources.store.get(Thread, partition=run.partition, thread_uuid=asked.thread_uuid)
    assert (thread.current_run_uuid, thread.title, thread.run_count) == (None, "What is two and two?", 1)


async def test_the_answer_is_streamed_and_can_be_replayed_from_any_index(hosted: Hosted) -> None:
    agent = await hosted.agent("One two three four.")
    asked = await hosted.ask(agent)
    frames = await hosted.frames(asked)
    assert [frame.index for frame in frames] == list(range(len(frames)))
    assert reply_text(frames) == "One two three four."
    assert (frames[0].kind, frames[-1].kind, frames[-1].status) == ("status", "end", "completed")
    for after in range(-1, len(frames)):
        assert await hosted.frames(asked, after=after) == frames[after + 1 :]


async def test_an_unknown_agent_and_that_of_another_tenant_are_refused(idle: Hosted) -> None:
    agent = await idle.agent("Hello.")
    with pytest.raises(NotFoundInPartition):
        await idle.ask(agent, principal=EVE)
    with pytest.raises(NotFoundInPartition):
        await idle.ask(agent.model_copy(update={"agent_uuid": "agent-none"}))
    assert [run async for run in idle.resources.store.query(Run.in_partition(partition=agent.partition))] == []


async def test_an_idempotency_key_asks_once(hosted: Hosted) -> None:
    agent = await hosted.agent("Only once.")
    asked = await asyncio.gather(*(hosted.ask(agent, "Hello?", idempotency_key="k1") for _ in range(5)))
    assert len({(one.thread_uuid, one.run_uuid) for one in asked}) == 1
    assert sorted(one.created for one in asked) == [False] * 4 + [True]
    assert (await hosted.ended(asked[0])).status is RunStatus.COMPLETED
    assert (await hosted.ask(agent, "Hello?", idempotency_key="k1")).run_uuid == asked[0].run_uuid
    with pytest.raises(IdempotencyKeyReused):
        await hosted.ask(agent, "Something else?", idempotency_key="k1")
    other = await hosted.ask(agent, "Something else?", idempotency_key="k1", principal=BOB)
    assert other.run_uuid != asked[0].run_uuid


async def test_a_thread_is_continued_by_the_same_user_only(idle: Hosted) -> None:
    agent = await idle.agent()
    first = await idle.ask(agent, user_id="u1")
    for principal, user in ((ANN, None), (ANN, "u2"), (BOB, "u1")):
        assert (await idle.ask(agent, principal=principal, user_id=user)).thread_uuid != first.thread_uuid
    assert (await idle.ask(agent, user_id="u1", thread_life_minutes=0)).thread_uuid != first.thread_uuid
    other = await idle.agent()
    assert (await idle.ask(other, user_id="u1")).thread_uuid != first.thread_uuid
    with pytest.raises(RunInProgress):
        await idle.ask(agent, user_id="u1", thread_uuid=first.thread_uuid)
    assert (await idle.ask(agent, user_id="u1", thread_uuid=first.thread_uuid, policy="enqueue")).thread_uuid == first.thread_uuid


async def test_a_thread_is_continued_while_it_is_young(hosted: Hosted) -> None:
    agent = await hosted.agent("One.", "Two.")
    first = await hosted.ask(agent, "First?", user_id="u1")
    await hosted.ended(first)
    second = await hosted.ask(agent, "Second?", user_id="u1")
    await hosted.ended(second)
    assert second.thread_uuid == first.thread_uuid
    assert [message.text for message in hosted.script(agent).requests[1].messages] == ["First?", "One.", "Second?"]


async def test_nobody_asks_in_the_thread_of_another(idle: Hosted) -> None:
    agent = await idle.agent()
    asked = await idle.ask(agent)
    with pytest.raises(NotFoundInPartition):
        await idle.ask(agent, principal=BOB, thread_uuid=asked.thread_uuid)
    context = idle.context(OTTO, part_id="acme")
    with pytest.raises(ThreadNotYours):
        await ask(idle.resources, context, Question(agent_uuid=agent.agent_uuid, user_query="?", thread_uuid=asked.thread_uuid))
    with pytest.raises(OtherAgent):
        await idle.ask(await idle.agent(), thread_uuid=asked.thread_uuid)
    with pytest.raises(NotFoundInPartition):
        await idle.frames(asked, principal=BOB)


async def test_a_second_message_is_rejected_waits_or_interrupts(hosted: Hosted) -> None:
    wish = '{"a":1,"b":2}'
    agent = await hosted.agent(calling(("desk_wait", wish)), "First.", "Second.", "Third.", configuration={"tools": ["desk.*"]})
    first = await hosted.ask(agent, "First?")
    await hosted.desk.here.wait()
    with pytest.raises(RunInProgress) as refused:
        await hosted.ask(agent, "Second?", thread_uuid=first.thread_uuid)
    assert refused.value.details == {"run_uuid": first.run_uuid}
    second = await hosted.ask(agent, "Second?", thread_uuid=first.thread_uuid, policy="enqueue")
    third = await hosted.ask(agent, "Third?", thread_uuid=first.thread_uuid, policy="enqueue")
    assert (await hosted.run_of(second)).job_id is None
    hosted.desk.go.set()
    assert [(await hosted.ended(one)).status for one in (first, second, third)] == [RunStatus.COMPLETED] * 3
    assert [reply_text(await hosted.frames(one)) for one in (first, second, third)] == ["First.", "Second.", "Third."]
    # Each saw what was asked before it, and not what waited behind it.
    heard = [[message.text for message in prompt.messages if isinstance(message, User)] for prompt in hosted.script(agent).requests]
    assert heard[1:] == [["First?"], ["First?", "Second?"], ["First?", "Second?", "Third?"]]


async def test_an_interruption_cancels_the_run_before(hosted: Hosted) -> None:
    agent = await hosted.agent(calling(("desk_wait", '{"a":1,"b":2}')), "Second.", configuration={"tools": ["desk.*"]})
    first = await hosted.ask(agent, "First?")
    await hosted.desk.here.wait()
    second = await hosted.ask(agent, "Second?", thread_uuid=first.thread_uuid, policy="interrupt")
    assert (await hosted.ended(second)).status is RunStatus.COMPLETED
    assert (await hosted.ended(first)).status is RunStatus.CANCELLED
    assert (await hosted.frames(first))[-1].status == "cancelled"


async def test_no_more_messages_wait_than_may(tmp_path: Path) -> None:
    async with hosting(tmp_path, work=False, waiting_runs="2", policy="enqueue") as hosted:
        agent = await hosted.agent()
        asked = await hosted.ask(agent)
        for _ in range(2):
            await hosted.ask(agent, thread_uuid=asked.thread_uuid)
        with pytest.raises(TooManyWaiting):
            await hosted.ask(agent, thread_uuid=asked.thread_uuid)


async def test_questions_at_the_same_moment_are_all_answered_in_turn(hosted: Hosted) -> None:
    agent = await hosted.agent(*(f"Answer {number}." for number in range(7)))
    first = await hosted.ask(agent, "0")
    asked = await asyncio.gather(*(hosted.ask(agent, str(n), thread_uuid=first.thread_uuid, policy="enqueue") for n in range(1, 7)))
    assert {(await hosted.ended(one)).status for one in (first, *asked)} == {RunStatus.COMPLETED}
    messages = [
        one async for one in hosted.resources.store.query(Message.of_thread(partition=agent.partition, thread_uuid=first.thread_uuid))
    ]
    assert len(messages) == 14
