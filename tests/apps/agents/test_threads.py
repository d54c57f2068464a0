"""Threads, runs, messages, tool calls, tasks and fine-tuning messages."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import BadField, MissingField, NotFoundInPartition, NotYours, StillUsed, UnknownReference
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.tables import Agent, Thread
from gateleg.apps.agents.tasks import (
    delete_async_task,
    delete_fine_tuning_message,
    find_async_task,
    find_fine_tuning_message,
    list_async_tasks,
    list_fine_tuning_messages,
    save_async_task,
    save_fine_tuning_message,
)
from gateleg.apps.agents.tenancy import Context
from gateleg.apps.agents.thread_lists import list_messages, list_runs, list_threads, list_tool_calls
from gateleg.apps.agents.thread_tables import Message, Run, RunStatus, ToolCallStatus
from gateleg.apps.agents.threads import (
    delete_message,
    delete_run,
    delete_thread,
    delete_tool_call,
    edit_thread,
    find_in_thread,
    find_thread,
    pin_thread,
    save_message,
    save_run,
    save_thread,
    save_tool_call,
)
from gateleg.apps.agents.versions import AGENTS, create_first, create_next, delete_version
from gateleg.host import Role
from gateleg.store import AsyncStore, IllegalTransition, create
from tests.apps.agents.conftest import Interleaving, context_of

ALL = Paging()


@pytest.fixture
async def agent(store: AsyncStore, ann: Context) -> Agent:
    await store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))
    return await create_first(store, ann, AGENTS, {"agent_name": "Helper", "llm_provider": "local", "llm_name": "small"})


@pytest.fixture
async def thread(store: AsyncStore, ann: Context, agent: Agent) -> Thread:
    return await save_thread(store, ann, {"agent_uuid": agent.agent_uuid})


@pytest.fixture
async def run(store: AsyncStore, ann: Context, thread: Thread) -> Run:
    return await save_run(store, ann, {"thread_uuid": thread.thread_uuid})


def said(run: Run, text: str, role: str = "user") -> dict[str, Any]:
    return {"thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid, "role": role, "message": text}


async def test_a_thread_belongs_to_who_began_it_and_names_an_agent_that_exists(store: AsyncStore, ann: Context, agent: Agent) -> None:
    thread = await save_thread(store, ann, {"agent_uuid": agent.agent_uuid, "user_id": "customer-7"})
    assert (thread.owner_id, thread.user_id) == ("acme/ann", "customer-7")
    assert await save_thread(store, ann, {"thread_uuid": thread.thread_uuid}) == thread
    with pytest.raises(UnknownReference, match="agent 'none'"):
        await save_thread(store, ann, {"agent_uuid": "none"})
    with pytest.raises(MissingField, match="agent_uuid"):
        await save_thread(store, ann, {})
    with pytest.raises(NotFoundInPartition):
        await save_thread(store, ann, {"thread_uuid": "none", "agent_uuid": agent.agent_uuid})


async def test_an_agent_with_threads_cannot_be_deleted_and_a_thread_with_runs_neither(
    store: AsyncStore, ann: Context, agent: Agent, run: Run
) -> None:
    message = await save_message(store, ann, said(run, "hello"))
    with pytest.raises(StillUsed):
        await delete_version(store, ann, AGENTS, agent.agent_version_uuid)
    with pytest.raises(StillUsed, match="has 1 item\\."):
        await delete_thread(store, ann, run.thread_uuid)
    with pytest.raises(StillUsed):
        await delete_run(store, ann, run.run_uuid, run.thread_uuid)
    assert await delete_message(store, ann, message.message_uuid, run.thread_uuid)
    assert await delete_run(store, ann, run.run_uuid, run.thread_uuid)
    assert await delete_thread(store, ann, run.thread_uuid)
    assert not await delete_thread(store, ann, run.thread_uuid)
    assert await delete_version(store, ann, AGENTS, agent.agent_version_uuid)


async def test_a_run_and_the_deletion_of_its_thread_cannot_pass_each_other(
    store: AsyncStore, network: Interleaving, ann: Context, agent: Agent
) -> None:
    for _ in range(5):
        thread = await save_thread(store, ann, {"agent_uuid": agent.agent_uuid})
        many = store.using(network)
        created, deleted = await asyncio.gather(
            save_run(many, ann, {"thread_uuid": thread.thread_uuid}), delete_thread(many, ann, thread.thread_uuid), return_exceptions=True
        )
        kept = await find_thread(store, ann, thread.thread_uuid) is not None
        assert isinstance(created, Run) == kept
        assert isinstance(deleted, StillUsed) == kept


async def test_a_pinned_version_answers_and_cannot_be_deleted(store: AsyncStore, ann: Context, agent: Agent, thread: Thread) -> None:
    await create_next(store, ann, AGENTS, agent.agent_uuid, {})
    assert (await pin_thread(store, ann, thread.thread_uuid, agent.agent_version_uuid)).agent_version_uuid == agent.agent_version_uuid
    with pytest.raises(StillUsed):
        await delete_version(store, ann, AGENTS, agent.agent_version_uuid)
    other = await create_first(store, ann, AGENTS, {"agent_name": "Other", "llm_provider": "local", "llm_name": "small"})
    with pytest.raises(NotFoundInPartition):
        await pin_thread(store, ann, thread.thread_uuid, other.agent_version_uuid)
    assert (await pin_thread(store, ann, thread.thread_uuid, None)).agent_version_uuid is None
    assert await delete_version(store, ann, AGENTS, agent.agent_version_uuid)


async def test_titles_and_metadata_can_be_changed_and_nothing_else(store: AsyncStore, ann: Context, thread: Thread) -> None:
    changed = await edit_thread(store, ann, thread.thread_uuid, {"title": "Holiday", "metadata": {"stars": 5}, "owner_id": "x"})
    assert (changed.title, changed.metadata, changed.owner_id) == ("Holiday", {"stars": 5}, "acme/ann")


async def test_messages_belong_to_a_run_that_exists(store: AsyncStore, ann: Context, run: Run) -> None:
    message = await save_message(store, ann, said(run, "hello"))
    changed = await save_message(store, ann, {"thread_uuid": run.thread_uuid, "message_uuid": message.message_uuid, "message": "hullo"})
    assert (changed.message, changed.role, changed.run_uuid) == ("hullo", "user", run.run_uuid)
    with pytest.raises(UnknownReference):
        await save_message(store, ann, {**said(run, "x"), "run_uuid": "none"})
    with pytest.raises(MissingField, match="run_uuid"):
        await save_message(store, ann, {"thread_uuid": run.thread_uuid, "role": "user", "message": "x"})
    with pytest.raises(NotFoundInPartition):
        await save_message(store, ann, {**said(run, "x"), "thread_uuid": "none"})


async def test_a_recorded_run_is_complete_and_waits_for_nobody(store: AsyncStore, ann: Context, run: Run) -> None:
    assert run.status is RunStatus.COMPLETED
    place = {"thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid}
    changed = await save_run(store, ann, {**place, "prompt_tokens": 5, "total_tokens": 7, "status": "queued"})
    assert (changed.prompt_tokens, changed.total_tokens, changed.status) == (5, 7, RunStatus.COMPLETED)


async def test_two_reports_of_one_tool_call_are_one_item(store: AsyncStore, network: Interleaving, ann: Context, run: Run) -> None:
    many = store.using(network)
    values = {"thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid, "tool_call_id": "call_1", "name": "search"}
    await asyncio.gather(*(save_tool_call(many, ann, {**values, **one}) for one in ({"arguments": "{}"}, {"tool_type": "mcp"})))
    (call,) = (await list_tool_calls(store, ann, ALL, thread_uuid=run.thread_uuid)).items
    assert (call.arguments, call.tool_type, call.status) == ("{}", "mcp", ToolCallStatus.INITIAL)
    for status in ("in_progress", "completed"):
        call = await save_tool_call(store, ann, {**values, "status": status, "content": "found"})
    assert (call.status, call.content, call.time_spent is not None) == (ToolCallStatus.COMPLETED, "found", True)
    with pytest.raises(IllegalTransition):
        await save_tool_call(store, ann, {**values, "status": "in_progress"})
    assert await delete_tool_call(store, ann, run.thread_uuid, call.tool_call_uuid)


async def test_lists_of_a_thread_are_filtered_and_ordered(store: AsyncStore, ann: Context, run: Run) -> None:
    for number in range(5):
        await save_message(store, ann, said(run, f"m{number}", role="user" if number % 2 else "assistant"))
    place: dict[str, Any] = {"thread_uuid": run.thread_uuid}
    texts = [one.message for one in (await list_messages(store, ann, ALL, **place)).items]
    assert texts == ["m0", "m1", "m2", "m3", "m4"]
    assert [one.message for one in (await list_messages(store, ann, ALL, **place, roles=["user"])).items] == ["m1", "m3"]
    assert len((await list_messages(store, ann, ALL, **place, run_uuid=run.run_uuid)).items) == 5
    assert [one.message for one in (await list_messages(store, ann, Paging(limit=2, page_number=2), **place)).items] == ["m2", "m3"]
    await save_run(store, ann, {**place, "total_tokens": 100})
    assert len((await list_runs(store, ann, ALL, **place, token_type="total", great_token=50)).items) == 1
    assert len((await list_runs(store, ann, ALL, **place, token_type="total", less_token=100)).items) == 1
    assert len((await list_runs(store, ann, ALL, **place)).items) == 2
    with pytest.raises(BadField):
        await list_runs(store, ann, ALL, **place, token_type="other")
    assert (await list_tool_calls(store, ann, ALL, **place, name="search", statuses=["completed"])).items == []


async def test_lists_without_a_thread_are_those_of_the_caller_and_no_scan(
    store: AsyncStore, network: Interleaving, ann: Context, bob: Context, operator: Context, agent: Agent, run: Run
) -> None:
    await save_message(store, ann, said(run, "mine"))
    theirs = await save_thread(store, bob, {"agent_uuid": agent.agent_uuid})
    other = await save_run(store, bob, {"thread_uuid": theirs.thread_uuid})
    await save_message(store, bob, said(other, "theirs"))
    many = store.using(network)
    assert [one.message for one in (await list_messages(many, ann, ALL)).items] == ["mine"]
    assert [one.run_uuid for one in (await list_runs(many, bob, ALL)).items] == [other.run_uuid]
    assert [one.message for one in (await list_messages(many, ann, ALL, run_uuid=other.run_uuid)).items] == []
    assert {one.message for one in (await list_messages(many, operator, ALL)).items} == {"mine", "theirs"}
    assert [one.thread_uuid for one in (await list_threads(many, ann, ALL)).items] == [run.thread_uuid]
    assert len((await list_threads(many, operator, ALL, agent_uuid=agent.agent_uuid)).items) == 2
    assert len((await list_threads(many, operator, ALL, user_id="bob")).items) == 1
    assert set(network.calls) == {"Query"}


async def test_who_may_look_may_not_change(store: AsyncStore, ann: Context, bob: Context, operator: Context, run: Run) -> None:
    viewer = context_of("vera", "acme", Role.VIEWER)
    message = await save_message(store, ann, said(run, "hello"))
    assert await find_in_thread(store, bob, Message, run.thread_uuid, message.message_uuid) is None
    assert await find_in_thread(store, viewer, Message, run.thread_uuid, message.message_uuid) == message
    with pytest.raises(NotYours):
        await save_message(store, viewer, said(run, "x"))
    with pytest.raises(NotYours):
        await delete_message(store, viewer, message.message_uuid, run.thread_uuid)
    assert await delete_message(store, operator, message.message_uuid, run.thread_uuid)


async def test_the_newest_of_many_messages_are_one_query(store: AsyncStore, network: Interleaving, ann: Context, run: Run) -> None:
    place: dict[str, Any] = {"partition": ann.partition, "thread_uuid": run.thread_uuid, "owner_id": "acme/ann", "run_uuid": run.run_uuid}
    for start in range(0, 1_000, 90):
        await store.transact([create(Message(**place, role="user", message=f"m{number}")) for number in range(start, start + 90)])
    question = Message.newest(partition=ann.partition, thread_uuid=run.thread_uuid)
    found = await store.using(network).page(question, limit=10, consistent=True)
    assert [one.message for one in found.items] == [f"m{number}" for number in range(1079, 1069, -1)]
    assert network.calls == ["Query"]


async def test_tasks_belong_to_their_user_and_move_by_their_states(
    store: AsyncStore, ann: Context, bob: Context, operator: Context
) -> None:
    task = await save_async_task(store, ann, {"function_name": "f", "arguments": {"n": 1.5}, "task_type": "t"})
    assert (task.status, task.task_type, task.arguments) == ("initial", "t", {"n": 1.5})
    assert await find_async_task(store, bob, "f", task.async_task_uuid) is None
    assert await find_async_task(store, ann, "g", task.async_task_uuid) is None
    assert await find_async_task(store, operator, "f", task.async_task_uuid) == task
    with pytest.raises(NotFoundInPartition):
        await save_async_task(store, bob, {"async_task_uuid": task.async_task_uuid, "function_name": "f", "status": "failed"})
    done = await save_async_task(store, ann, {"async_task_uuid": task.async_task_uuid, "function_name": "f", "status": "completed"})
    assert done.time_spent is not None
    with pytest.raises(IllegalTransition):
        await save_async_task(store, ann, {"async_task_uuid": task.async_task_uuid, "function_name": "f", "status": "initial"})
    assert [one.async_task_uuid for one in (await list_async_tasks(store, ann, ALL, statuses=["completed"])).items] == [
        task.async_task_uuid
    ]
    assert (await list_async_tasks(store, bob, ALL)).items == []
    assert len((await list_async_tasks(store, operator, ALL, function_name="f")).items) == 1
    assert not await delete_async_task(store, bob, task.async_task_uuid, "f")
    assert await delete_async_task(store, ann, task.async_task_uuid, "f")


async def test_fine_tuning_messages_are_found_by_agent_thread_and_time(store: AsyncStore, ann: Context, agent: Agent) -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    for hour in range(3):
        at = int((noon + timedelta(hours=hour)).timestamp())
        values = {
            "agent_uuid": agent.agent_uuid,
            "message_uuid": f"m{hour}",
            "thread_uuid": f"t{hour % 2}",
            "role": "user",
            "timestamp": at,
        }
        await save_fine_tuning_message(store, ann, values)
    changed = await save_fine_tuning_message(
        store, ann, {"agent_uuid": agent.agent_uuid, "message_uuid": "m1", "trained": True, "weight": 2}
    )
    assert (changed.trained, changed.weight, changed.role) == (True, 2, "user")

    async def ids(**wanted: Any) -> list[str]:
        return [one.message_uuid for one in (await list_fine_tuning_messages(store, ann, ALL, **wanted)).items]

    assert await ids(agent_uuid=agent.agent_uuid) == ["m0", "m1", "m2"]
    assert await ids(agent_uuid=agent.agent_uuid, thread_uuid="t0", from_date=noon + timedelta(hours=1)) == ["m2"]
    assert await ids(thread_uuid="t0") == ["m0", "m2"]
    assert await ids(from_date=noon + timedelta(hours=1)) == ["m1", "m2"]
    assert await ids(to_date=noon) == ["m0"]
    assert await ids(from_date=noon, to_date=noon + timedelta(hours=1), trained=False) == ["m0"]
    with pytest.raises(UnknownReference):
        await save_fine_tuning_message(store, ann, {"agent_uuid": "none", "message_uuid": "m", "thread_uuid": "t", "role": "user"})
    with pytest.raises(StillUsed):
        await delete_version(store, ann, AGENTS, agent.agent_version_uuid)
    for number in range(3):
        assert await delete_fine_tuning_message(store, ann, agent.agent_uuid, f"m{number}")
    assert await find_fine_tuning_message(store, ann, agent.agent_uuid, "m0") is None
