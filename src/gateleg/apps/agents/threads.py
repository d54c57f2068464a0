"""Use cases: threads, and recording runs, messages and tool calls in them.

A thread belongs to the caller who started it. For callers who may not see it, the thread and its contents do not exist; callers who may
only view it cannot change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.access import if_visible, may_change
from gateleg.apps.agents.changes import Changes, commit, retry_on_conflict
from gateleg.apps.agents.errors import AlreadyThere, MissingField, NotFoundInPartition, NotYours
from gateleg.apps.agents.items import author, build, create_item, delete_item, find_item, get_item, update_item
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import Message, Run, RunStatus, ThreadItem, ToolCall, ToolCallStatus
from gateleg.apps.agents.versions import AGENTS, get_version

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

H = TypeVar("H", bound=ThreadItem)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class _Recorded:
    """The attributes that clients may set when they create an item of a thread, and when they change it."""

    id: str
    given: frozenset[str]
    changed: frozenset[str]


_RUN = frozenset({"run_id", "completion_tokens", "prompt_tokens", "total_tokens"})
_MESSAGE = frozenset({"message_id", "role", "message"})
_TOOL_CALL = frozenset({"tool_call_id", "tool_type", "name", "arguments", "content", "status", "notes", "time_spent"})
_RECORDED: dict[type[Any], _Recorded] = {
    Run: _Recorded("run_uuid", _RUN, _RUN),
    Message: _Recorded("message_uuid", _MESSAGE | {"run_uuid"}, _MESSAGE),
    ToolCall: _Recorded("tool_call_uuid", _TOOL_CALL | {"run_uuid"}, _TOOL_CALL - {"tool_call_id"}),
}


async def find_thread(store: AsyncStore, context: Context, thread_uuid: str) -> Thread | None:
    """A thread that the caller may see."""
    return if_visible(context, await find_item(store, Thread, _ids(context, thread_uuid)))


async def get_thread(store: AsyncStore, context: Context, thread_uuid: str, *, change: bool = False) -> Thread:
    """A thread that the caller may see or, if requested, change. Raises `NotFoundInPartition` and `NotYours`."""
    thread = await find_thread(store, context, thread_uuid)
    if thread is None:
        raise NotFoundInPartition(f"There is no thread {thread_uuid!r}.")
    if change and not may_change(context, thread):
        raise NotYours(f"The thread {thread_uuid!r} belongs to another user.")
    return thread


async def save_thread(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> Thread:
    """Create a thread with an agent (`agent_uuid`). An existing `thread_uuid` returns that thread unchanged."""
    if values.get("thread_uuid"):
        return await get_thread(store, context, values["thread_uuid"])
    given = {name: values[name] for name in ("agent_uuid", "user_id", "title", "metadata") if values.get(name) is not None}
    thread = build(Thread, {"user_id": context.user_id, **given, "partition": context.partition, "owner_id": context.owner})
    return await create_item(store, thread)


async def delete_thread(store: AsyncStore, context: Context, thread_uuid: str) -> bool:
    """Delete a thread without runs; False if the caller can see no such thread. Raises `StillUsed`."""
    if await find_thread(store, context, thread_uuid) is None:
        return False
    await get_thread(store, context, thread_uuid, change=True)
    return await delete_item(store, Thread, _ids(context, thread_uuid))


async def pin_thread(store: AsyncStore, context: Context, thread_uuid: str, agent_version_uuid: str | None) -> Thread:
    """Pin a thread to one version of its agent; None unpins it. A pinned version cannot be deleted."""

    async def attempt() -> Thread:
        before = await get_thread(store, context, thread_uuid, change=True)
        if agent_version_uuid is not None:
            version = await get_version(store, context, AGENTS, agent_version_uuid)
            if version.agent_uuid != before.agent_uuid:
                raise NotFoundInPartition(f"The agent {before.agent_uuid!r} has no version {agent_version_uuid!r}.")
        pinned, unpinned = Thread.agent_version_uuid == before.agent_version_uuid, Thread.agent_version_uuid.missing()
        changes = Changes()
        after = before.model_copy(update={"agent_version_uuid": agent_version_uuid})
        changes.update(before, after, condition=unpinned if before.agent_version_uuid is None else pinned)
        await commit(store, changes)
        return await get_thread(store, context, thread_uuid)

    return await retry_on_conflict(attempt)


async def edit_thread(store: AsyncStore, context: Context, thread_uuid: str, values: Mapping[str, Any]) -> Thread:
    """Change the title and the metadata of a thread."""
    await get_thread(store, context, thread_uuid, change=True)
    given = {name: values[name] for name in ("title", "metadata") if name in values}
    return await update_item(store, Thread, _ids(context, thread_uuid), given)


async def find_in_thread(store: AsyncStore, context: Context, entity: type[H], thread_uuid: str, uuid: str) -> H | None:
    """A run, a message or a tool call that the caller may see."""
    return if_visible(context, await find_item(store, entity, _ids(context, thread_uuid, entity, uuid)))


async def delete_in_thread(store: AsyncStore, context: Context, entity: type[H], thread_uuid: str, uuid: str) -> bool:
    """Delete a run, message or tool call that the caller may change; False if they can see none. Raises `StillUsed`."""
    found = await find_in_thread(store, context, entity, thread_uuid, uuid)
    if found is None:
        return False
    if not may_change(context, found):
        raise NotYours(f"{uuid!r} belongs to another user.")
    return await delete_item(store, entity, _ids(context, thread_uuid, entity, uuid), _beside(store, entity))


def _beside(store: AsyncStore, entity: type[Any]) -> Callable[[Changes, Any], Awaitable[None]] | None:
    """Discard a summary that covers a changed or deleted message."""

    async def forget_summary(changes: Changes, message: Message) -> None:
        thread = await store.find(Thread, partition=message.partition, thread_uuid=message.thread_uuid, consistent=True)
        if thread is None:
            return
        covered = thread.summarised_to
        unchanged = Thread.summarised_to.missing() if covered is None else Thread.summarised_to == covered
        if covered is None or message.message_uuid > covered:
            # If a concurrent summary comes to cover this message, this write fails and is retried.
            changes.expect(thread, unchanged)
        else:
            changes.update(thread, thread.model_copy(update={"summary": None, "summarised_to": None}), unchanged)

    return forget_summary if entity is Message else None


async def save_run(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> Run:
    """Record a run that an external system carried out, or change a recorded one (`run_uuid`)."""
    return await _save(store, context, Run, values, {"status": RunStatus.COMPLETED})


async def delete_run(store: AsyncStore, context: Context, run_uuid: str, thread_uuid: str) -> bool:
    """Delete a run without messages and tool calls."""
    return await delete_in_thread(store, context, Run, thread_uuid, run_uuid)


async def save_message(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> Message:
    """Record a message of a run, or change one (`message_uuid`)."""
    return await _save(store, context, Message, values, {})


async def delete_message(store: AsyncStore, context: Context, message_uuid: str, thread_uuid: str) -> bool:
    """Delete a message."""
    return await delete_in_thread(store, context, Message, thread_uuid, message_uuid)


async def save_tool_call(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> ToolCall:
    """Record a tool call of a run, or change one, by `tool_call_uuid` or by the provider's `tool_call_id` in its run.

    Two concurrent reports of one call become one item, because its id is derived from the run and the provider's id.
    """
    if values.get("tool_call_uuid") or not values.get("tool_call_id"):
        return await _save(store, context, ToolCall, values, {})
    if not values.get("run_uuid"):
        raise MissingField("run_uuid must be set.", details={"fields": ["run_uuid"]})
    uuid = call_uuid(values["run_uuid"], values["tool_call_id"])
    named = {**values, "tool_call_uuid": uuid}
    if await find_in_thread(store, context, ToolCall, values["thread_uuid"], uuid) is None:
        try:
            return await _save(store, context, ToolCall, {**values, "tool_call_uuid": None}, {"tool_call_uuid": uuid})
        except AlreadyThere:
            pass
    return await _save(store, context, ToolCall, named, {})


def call_uuid(run_uuid: str, tool_call_id: str) -> str:
    """A deterministic id for a provider's tool call id, which sorts within its run."""
    return f"{run_uuid}-{blake2s(tool_call_id.encode(), digest_size=8).hexdigest()}"


async def delete_tool_call(store: AsyncStore, context: Context, thread_uuid: str, tool_call_uuid: str) -> bool:
    """Delete a tool call."""
    return await delete_in_thread(store, context, ToolCall, thread_uuid, tool_call_uuid)


async def _save(store: AsyncStore, context: Context, entity: type[H], values: Mapping[str, Any], initial: Mapping[str, Any]) -> H:
    recorded = _RECORDED[entity]
    thread = await get_thread(store, context, str(values.get("thread_uuid") or ""), change=True)
    by = {"updated_by": author(context, values)}
    if not values.get(recorded.id):
        given = {name: values[name] for name in recorded.given if values.get(name) is not None}
        place = {"partition": context.partition, "thread_uuid": thread.thread_uuid, "owner_id": thread.owner_id}
        return await create_item(store, build(entity, {**initial, **given, **place, **by}))
    given = {name: values[name] for name in recorded.changed if values.get(name) is not None}
    ids = _ids(context, thread.thread_uuid, entity, values[recorded.id])
    if entity is ToolCall and ToolCallStatus(given.get("status", "initial")) in _ENDED and "time_spent" not in given:
        before = await get_item(store, ToolCall, ids)
        given["time_spent"] = (store.setup.now() - before.created_at) // _MILLISECOND
    return await update_item(store, entity, ids, {**given, **by}, beside=_beside(store, entity))


_ENDED = frozenset({ToolCallStatus.COMPLETED, ToolCallStatus.FAILED})


def _ids(context: Context, thread_uuid: str, entity: type[Any] | None = None, uuid: str = "") -> dict[str, Any]:
    place = {"partition": context.partition, "thread_uuid": thread_uuid}
    return place if entity is None else {**place, _RECORDED[entity].id: uuid}
