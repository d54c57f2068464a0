"""Make the tool calls of a run. Each is claimed first, so that none is made twice; results are stored and streamed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Literal

import orjson

from gateleg import ai
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.ids import step_of
from gateleg.apps.agents.running.tools.toolbox import ToolOutput
from gateleg.apps.agents.thread_tables import ToolCall, ToolCallStatus
from gateleg.store import ConditionFailed, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.running.run_work import RunWork

__all__ = ["call_tools", "fail_interrupted", "parse_arguments"]

#: Maximum parallel calls of one reply.
_MAX_PARALLEL_CALLS = 8
_INTERRUPTED = "The worker stopped while this tool was running. Whether it took effect is unknown."


async def call_tools(work: RunWork, calls: Sequence[ToolCall]) -> None:
    """Make calls in parallel and store their results, including errors."""
    places = asyncio.Semaphore(_MAX_PARALLEL_CALLS)

    async def make(call: ToolCall) -> None:
        async with places:
            await _claim_and_call(work, call)

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(make(call))


async def _claim_and_call(work: RunWork, call: ToolCall) -> None:
    store = work.resources.store
    if call.status is not ToolCallStatus.IN_PROGRESS:
        try:
            call = await store.patch(call, ToolCall.status.to(ToolCallStatus.IN_PROGRESS), returning="new")
        except (ConditionFailed, NotFound):
            # Another worker claimed it, or it was denied concurrently.
            return
    work.emit(_frame(work, call, "call"))
    begun = time.monotonic()
    output = await _call_tool(work, call)
    status = ToolCallStatus.FAILED if output.failed else ToolCallStatus.COMPLETED
    changes = [
        ToolCall.status.to(status),
        ToolCall.content.set(output.text),
        ToolCall.time_spent.set(round((time.monotonic() - begun) * 1000)),
    ]
    try:
        call = await store.patch(call, *changes, returning="new")
    except ConditionFailed:
        # The run was cancelled meanwhile, and its calls with it.
        return
    work.emit(_frame(work, call, "result"))


async def _call_tool(work: RunWork, call: ToolCall) -> ToolOutput:
    seconds = work.resources.settings.tool_seconds
    wish = ai.ToolCall(call.tool_call_id or call.tool_call_uuid, call.name, call.arguments or "{}")
    try:
        async with asyncio.timeout(seconds):
            return await work.toolbox.call(wish)
    except TimeoutError:
        return ToolOutput(f"The tool {call.name} did not answer within {seconds:g} seconds.", failed=True)


async def fail_interrupted(work: RunWork, calls: Sequence[ToolCall]) -> None:
    """Fail calls whose worker died. They are not repeated, because they may have taken effect."""
    for call in calls:
        changes = (ToolCall.status.to(ToolCallStatus.FAILED), ToolCall.content.set(_INTERRUPTED))
        failed = await work.resources.store.patch(call, *changes, returning="new")
        work.emit(_frame(work, failed, "result"))


def _frame(work: RunWork, call: ToolCall, kind: Literal["call", "result"]) -> Frame:
    step = step_of(work.run.run_uuid, call.tool_call_uuid) or 0
    data = parse_arguments(call.arguments) if kind == "call" else call.content
    return Frame(kind=kind, step=step, id=call.tool_call_uuid, name=call.name, status=call.status, data=data)


def parse_arguments(text: str | None) -> object:
    """Parse arguments as JSON; invalid JSON is returned as the model wrote it."""
    try:
        found: object = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return text
    return found
