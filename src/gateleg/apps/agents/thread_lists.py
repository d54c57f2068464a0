"""Lists of threads, runs, messages and tool calls. Members see their own; viewers and above see all of the partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.listing import Listing, Paging, among, filtered, list_items, matching, times
from gateleg.apps.agents.tables import Thread, is_identifier
from gateleg.apps.agents.thread_tables import Message, Run, ThreadItem, ToolCall
from gateleg.apps.agents.threads import find_thread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.model import Condition
    from gateleg.store import AsyncStore

H = TypeVar("H", bound=ThreadItem)
_TOKENS = {"completion": Run.completion_tokens, "prompt": Run.prompt_tokens, "total": Run.total_tokens}


async def list_threads(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    agent_uuid: str | None = None,
    user_id: str | None = None,
    created_at_gt: datetime | None = None,
    created_at_lt: datetime | None = None,
) -> Listing[Thread]:
    """List threads, latest activity first. Callers who see all threads can list one agent's, newest first."""
    conditions = [*matching(Thread, {"user_id": user_id}), *times(Thread.created_at, created_at_gt, created_at_lt)]
    if not context.sees_all:
        question = Thread.of_owner(partition=context.partition, owner_id=context.owner)
        conditions += matching(Thread, {"agent_uuid": agent_uuid})
    elif agent_uuid:
        question = Thread.of_agent(partition=context.partition, agent_uuid=agent_uuid).reversed()
    else:
        question = Thread.by_update(partition=context.partition)
    return await list_items(store, filtered(question, conditions), paging)


async def list_runs(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    thread_uuid: str | None = None,
    run_id: str | None = None,
    statuses: Sequence[str] | None = None,
    token_type: str | None = None,
    great_token: int | None = None,
    less_token: int | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[Run]:
    """List runs, newest first. With a `token_type`, only those with more tokens than `great_token` and fewer than `less_token`."""
    conditions = [*matching(Run, {"run_id": run_id}), *among(Run.status, statuses), *times(Run.updated_at, updated_at_gt, updated_at_lt)]
    conditions += _token_conditions(token_type, great_token, less_token)
    return await _list(store, context, Run, paging, thread_uuid, conditions)


def _token_conditions(token_type: str | None, more: int | None, fewer: int | None) -> list[Condition]:
    if token_type is None and more is None and fewer is None:
        return []
    counted: Any = _TOKENS.get(token_type or "total")
    if counted is None:
        raise BadField(f"token_type is {token_type!r}; it can be {', '.join(_TOKENS)}.", details={"field": "token_type"})
    return [*([counted > more] if more is not None else []), *([counted < fewer] if fewer is not None else [])]


async def list_messages(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    thread_uuid: str | None = None,
    run_uuid: str | None = None,
    message_id: str | None = None,
    roles: Sequence[str] | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[Message]:
    """Messages, oldest first."""
    conditions = [*matching(Message, {"message_id": message_id}), *among(Message.role, roles)]
    conditions += times(Message.updated_at, updated_at_gt, updated_at_lt)
    return await _list(store, context, Message, paging, thread_uuid, conditions, run_uuid=run_uuid, oldest_first=True)


async def list_tool_calls(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    thread_uuid: str | None = None,
    run_uuid: str | None = None,
    tool_call_id: str | None = None,
    tool_type: str | None = None,
    name: str | None = None,
    statuses: Sequence[str] | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[ToolCall]:
    """Tool calls, newest first."""
    conditions = matching(ToolCall, {"tool_call_id": tool_call_id, "tool_type": tool_type, "name": name})
    conditions += [*among(ToolCall.status, statuses), *times(ToolCall.updated_at, updated_at_gt, updated_at_lt)]
    return await _list(store, context, ToolCall, paging, thread_uuid, conditions, run_uuid=run_uuid)


async def _list(
    store: AsyncStore,
    context: Context,
    entity: type[H],
    paging: Paging,
    thread_uuid: str | None,
    conditions: list[Condition],
    *,
    run_uuid: str | None = None,
    oldest_first: bool = False,
) -> Listing[H]:
    """List items of one thread, or of all threads that the caller may see."""
    asked: Any = entity
    if (run_uuid and not is_identifier(run_uuid)) or (thread_uuid and await find_thread(store, context, thread_uuid) is None):
        return Listing([], None, None, paging, store, None)
    place = {"partition": context.partition, "thread_uuid": thread_uuid}
    if thread_uuid and run_uuid:
        question = asked.of_run(**place, run_uuid=run_uuid).reversed()
    elif thread_uuid:
        question = asked.newest(**place)
    elif context.sees_all:
        question = asked.in_partition(partition=context.partition)
    else:
        question = asked.of_owner(partition=context.partition, owner_id=context.owner)
    conditions = conditions if thread_uuid or not run_uuid else [*conditions, asked.run_uuid == run_uuid]
    question = filtered(question.reversed() if oldest_first else question, conditions)
    return await list_items(store, question, paging, consistent=bool(thread_uuid))
