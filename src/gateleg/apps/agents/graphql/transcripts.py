"""The transcript of a thread as JSON: one bounded query for the messages, one for the tool calls."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.thread_tables import Message, Run, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.agents.graphql.calls import Call
    from gateleg.apps.agents.tables import Thread

#: Internal attributes, which clients do not see.
_OURS = {"partition", "owner_id"}
_DEFAULT_ROLE = "developer"


async def tool_calls_of(call: Call, thread: Thread, limit: int | None) -> list[dict[str, Any]]:
    """The newest tool calls of a thread, oldest first."""
    return [one.model_dump(exclude=_OURS) for one in await _newest(call, ToolCall, thread, limit)]


async def transcript_of(call: Call, thread: Thread, limit: int | None) -> list[dict[str, Any]]:
    """The newest messages and tool calls of a thread in one list, oldest first. Repeated messages are not merged."""
    messages, tool_calls, agent = await asyncio.gather(
        _newest(call, Message, thread, limit),
        _newest(call, ToolCall, thread, limit),
        call.loaders.find_active(Agent, thread.agent_uuid),
    )
    runs = {one.run_uuid: one for one in await _runs_of(call, thread, {one.run_uuid for one in messages})}
    role = _DEFAULT_ROLE if agent is None else agent.tool_call_role
    said = [_said(one, runs) for one in messages] + [_done(one, role) for one in tool_calls]
    return sorted(said, key=lambda one: one["created_at"])[-call.checked_limit(limit) :]


async def _newest(call: Call, entity: Any, thread: Thread, limit: int | None) -> list[Any]:
    page = await call.own.page(entity.newest, thread_uuid=thread.thread_uuid, limit=call.checked_limit(limit))
    return list(reversed(page.items))


async def _runs_of(call: Call, thread: Thread, ids: set[str]) -> list[Run]:
    found = await asyncio.gather(*(call.loaders.find(Run, thread_uuid=thread.thread_uuid, run_uuid=one) for one in ids))
    return [one for one in found if one is not None]


def _said(message: Message, runs: Mapping[str, Run]) -> dict[str, Any]:
    run = runs.get(message.run_uuid)
    tokens = {name: 0 if run is None else getattr(run, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    content = {"run": {"run_uuid": message.run_uuid} | tokens, "role": message.role, "content": message.message}
    return {"message": content, "message_uuid": message.message_uuid, "created_at": message.created_at}


def _done(tool_call: ToolCall, role: str) -> dict[str, Any]:
    tool = {name: getattr(tool_call, name) for name in ("tool_call_id", "tool_type", "name", "arguments")}
    content = json.dumps({"tool": tool, "output": tool_call.content}, ensure_ascii=False)
    return {
        "message": {"role": role, "content": content},
        "tool_call_uuid": tool_call.tool_call_uuid,
        "created_at": tool_call.created_at,
    }
