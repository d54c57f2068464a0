"""Use cases: async tasks and fine-tuning messages."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.access import check_editor, if_visible, may_change, may_see
from gateleg.apps.agents.errors import NotFoundInPartition, NotYours
from gateleg.apps.agents.items import author, build, create_item, delete_item, find_item, get_item, update_item
from gateleg.apps.agents.listing import Listing, Paging, among, filtered, list_items, matching
from gateleg.apps.agents.tables import is_identifier
from gateleg.apps.agents.thread_tables import AsyncTask, FineTuningMessage, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

_MILLISECOND = timedelta(milliseconds=1)
_GIVEN = ("task_type", "arguments", "result", "output_files", "status", "notes")
_ENDED = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED})


async def find_async_task(store: AsyncStore, context: Context, function_name: str, async_task_uuid: str) -> AsyncTask | None:
    """Find a task of a function that the caller may see."""
    task = if_visible(context, await find_item(store, AsyncTask, _task_ids(context, async_task_uuid)))
    return task if task is not None and task.function_name == function_name else None


async def list_async_tasks(
    store: AsyncStore, context: Context, paging: Paging, *, function_name: str | None = None, statuses: Sequence[str] | None = None
) -> Listing[AsyncTask]:
    """Tasks, newest first."""
    if function_name and not is_identifier(function_name):
        return Listing([], None, None, paging, store, None)
    conditions = among(AsyncTask.status, statuses)
    if not context.sees_all:
        question = AsyncTask.of_owner(partition=context.partition, owner_id=context.owner)
        conditions += matching(AsyncTask, {"function_name": function_name})
    elif function_name:
        question = AsyncTask.of_function(partition=context.partition, function_name=function_name)
    else:
        question = AsyncTask.in_partition(partition=context.partition)
    return await list_items(store, filtered(question, conditions), paging)


async def save_async_task(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> AsyncTask:
    """Record a task, or change one (`async_task_uuid`). `TaskStatus` defines the permitted transitions."""
    given: dict[str, Any] = {name: values[name] for name in _GIVEN if values.get(name) is not None}
    given["updated_by"] = author(context, values)
    if not values.get("async_task_uuid"):
        place = {"partition": context.partition, "owner_id": context.owner, "function_name": values.get("function_name")}
        return await create_item(store, build(AsyncTask, {**given, **place}))
    ids = _task_ids(context, values["async_task_uuid"])
    before = await get_item(store, AsyncTask, ids)
    _check_own(context, before)
    if "status" in given and TaskStatus(given["status"]) in _ENDED and before.time_spent is None:
        given["time_spent"] = (store.setup.now() - before.created_at) // _MILLISECOND
    return await update_item(store, AsyncTask, ids, given)


async def delete_async_task(store: AsyncStore, context: Context, async_task_uuid: str, function_name: str) -> bool:
    """Delete a task; False if the caller can see none."""
    task = await find_async_task(store, context, function_name, async_task_uuid)
    if task is None:
        return False
    _check_own(context, task)
    return await delete_item(store, AsyncTask, _task_ids(context, async_task_uuid))


async def find_fine_tuning_message(store: AsyncStore, context: Context, agent_uuid: str, message_uuid: str) -> FineTuningMessage | None:
    """Find a fine-tuning message. Editors only, because it contains what users wrote."""
    check_editor(context)
    return await find_item(store, FineTuningMessage, _message_ids(context, agent_uuid, message_uuid))


async def list_fine_tuning_messages(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    agent_uuid: str | None = None,
    thread_uuid: str | None = None,
    roles: Sequence[str] | None = None,
    trained: bool | None = None,
    from_date: datetime | None = None,
    to_date: datetime | None = None,
) -> Listing[FineTuningMessage]:
    """List fine-tuning messages, oldest first; those of one agent by id. `from_date` and `to_date` are inclusive."""
    check_editor(context)
    if agent_uuid and not is_identifier(agent_uuid):
        return Listing([], None, None, paging, store, None)
    entity = FineTuningMessage
    conditions = [*among(entity.role, roles), *matching(entity, {"trained": trained})]
    first = None if from_date is None else int(from_date.timestamp())
    last = None if to_date is None else int(to_date.timestamp())
    bounds = [*([entity.timestamp >= first] if first is not None else []), *([entity.timestamp <= last] if last is not None else [])]
    if agent_uuid:
        question = entity.of_agent(partition=context.partition, agent_uuid=agent_uuid)
        conditions += [*bounds, *matching(entity, {"thread_uuid": thread_uuid})]
    elif thread_uuid:
        question = entity.of_thread(partition=context.partition, thread_uuid=thread_uuid)
        conditions += bounds
    else:
        question = entity.by_time(partition=context.partition)
        if first is not None and last is not None:
            question = question.where(entity.timestamp.between(first, max(first, last)))
        elif bounds:
            question = question.where(bounds[0])
    return await list_items(store, filtered(question, conditions), paging)


async def save_fine_tuning_message(store: AsyncStore, context: Context, values: Mapping[str, Any]) -> FineTuningMessage:
    """Store a fine-tuning message of an agent, or change one. Its time defaults to now."""
    check_editor(context)
    given: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    given["updated_by"] = author(context, values)
    ids = _message_ids(context, str(values.get("agent_uuid") or ""), str(values.get("message_uuid") or ""))
    if await find_item(store, FineTuningMessage, ids) is not None:
        return await update_item(store, FineTuningMessage, ids, given)
    now = int(store.setup.now().timestamp())
    return await create_item(store, build(FineTuningMessage, {"timestamp": now, **given, "partition": context.partition}))


async def delete_fine_tuning_message(store: AsyncStore, context: Context, agent_uuid: str, message_uuid: str) -> bool:
    """Delete a fine-tuning message."""
    check_editor(context)
    return await delete_item(store, FineTuningMessage, _message_ids(context, agent_uuid, message_uuid))


def _check_own(context: Context, task: AsyncTask) -> None:
    if not may_see(context, task):
        raise NotFoundInPartition(f"There is no task {task.async_task_uuid!r}.")
    if not may_change(context, task):
        raise NotYours(f"The task {task.async_task_uuid!r} belongs to another user.")


def _task_ids(context: Context, async_task_uuid: str) -> dict[str, Any]:
    return {"partition": context.partition, "async_task_uuid": async_task_uuid}


def _message_ids(context: Context, agent_uuid: str, message_uuid: str) -> dict[str, Any]:
    return {"partition": context.partition, "agent_uuid": agent_uuid, "message_uuid": message_uuid}
