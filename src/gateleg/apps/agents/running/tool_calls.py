"""Making the tool calls of a run: each is claimed before it is made, so that none is made twice, and its result is stored and streamed."""

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

__all__ = ["call_tools", "fail_interrupted", "shown_arguments"]

#: Calls of one reply that are made side by side.
_AT_ONCE = 8
_INTERRUPTED = "The worker stopped while this tool was running. Whether it took effect is unknown."


async def call_tools(work: RunWork, calls: Sequence[ToolCall]) -> None:
    """Make calls side by side; their results, good or bad, are stored."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def make(call: ToolCall) -> None:
        async with places:
            await _make(work, call)

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(make(call))


async def _make(work: RunWork, call: ToolCall) -> None:
    store = work.resources.store
    if call.status is not ToolCallStatus.IN_PROGRESS:
        try:
            call = await store.patch(call, ToolCall.status.to(ToolCallStatus.IN_PROGRESS), returning="new")
        except (ConditionFailed, NotFound):
            # Another worker makes it, or it was denied a moment ago.
            return
    work.emit(_frame(work, call, "call"))
    begun = time.monotonic()
    output = await _called(work, call)
    status = ToolCallStatus.FAILED if output.failed else ToolCallStatus.COMPLETED
    changes = [
        ToolCall.status.to(status),
        ToolCall.content.set(output.text),
        ToolCall.time_spent.set(round((time.monotonic() - begun) * 1000)),
    ]
    try:
        call = await store.patch(call, *changes, returning="new")
    except ConditionFailed:
        return
    work.emit(_frame(work, call, "result"))


async def _called(work: RunWork, call: ToolCall) -> ToolOutput:
    seconds = work.resources.settings.tool_seconds
    wish = ai.ToolCall(call.tool_call_id or call.tool_call_uuid, call.name, call.arguments or "{}")
    try:
        async with asyncio.timeout(seconds):
            return await work.toolbox.call(wish)
    except TimeoutError:
        return ToolOutput(f"The tool {call.name} did not answer within {seconds:g} seconds.", failed=True)


async def fail_interrupted(work: RunWork, calls: Sequence[ToolCall]) -> None:
    """End calls whose worker died: they are not made again, because they may have taken effect."""
    for call in calls:
        changes = (ToolCall.status.to(ToolCallStatus.FAILED), ToolCall.content.set(_INTERRUPTED))
        failed = await work.resources.store.patch(call, *changes, returning="new")
        work.emit(_frame(work, failed, "result"))


def _frame(work: RunWork, call: ToolCall, kind: Literal["call", "result"]) -> Frame:
    step = step_of(work.run.run_uuid, call.tool_call_uuid) or 0
    data = shown_arguments(call.arguments) if kind == "call" else call.content
    return Frame(kind=kind, step=step, id=call.tool_call_uuid, name=call.name, status=call.status, data=data)


def shown_arguments(text: str | None) -> object:
    """Arguments as JSON where they are, and as the model wrote them where they are not."""
    try:
        found: object = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return text
    return found
