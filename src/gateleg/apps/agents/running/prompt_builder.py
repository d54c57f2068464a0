"""Build the prompt of a run: instructions, the thread's summary, and the newest history that fits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from gateleg.ai import Attachment, System
from gateleg.ai.messages import load_messages
from gateleg.apps.agents.running.history import fit_history, prompt_of
from gateleg.apps.agents.running.tool_planner import inline_tool_results
from gateleg.apps.agents.running.transcripts import read_newest, turns_of
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.thread_tables import ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.ai import Message as Said
    from gateleg.ai import Tool
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.history import History, Turn
    from gateleg.apps.agents.running.run_work import RunWork
    from gateleg.apps.agents.running.transcripts import Transcript
    from gateleg.apps.agents.thread_tables import ToolCall

__all__ = ["prompt_for", "quote_results"]

#: Maximum messages of the current run, in addition to the agent's `num_of_messages`.
_MAX_RUN_MESSAGES = 120


async def prompt_for(work: RunWork, handler: AgentHandler, offered: Sequence[Tool], transcript: Transcript) -> list[Said]:
    """Build the prompt within the model's token budget."""
    instructions = work.agent.instructions or ""
    own = [await _with_files(work, turn, transcript) for turn in turns_of(transcript.messages, transcript.calls)]
    if work.request.history is not None:
        given = load_messages(orjson.dumps(work.request.history))
        lead: list[Said] = [System(instructions)] if instructions else []
        return [*lead, *given, *prompt_of("", "", own, work.toolbox.alias)]
    store, run = work.resources.store, work.run
    thread = await store.find(Thread, partition=run.partition, thread_uuid=run.thread_uuid)
    summary = (thread.summary if thread is not None else None) or ""
    most = min(work.agent.num_of_messages + len(own), work.agent.num_of_messages + _MAX_RUN_MESSAGES)
    newest = await read_newest(store, run.partition, run.thread_uuid, run.run_uuid, most=max(1, most + 1))
    whole = {turn.id: turn for turn in own}
    overhead = sum(handler.count(text) for text in (instructions, summary, orjson.dumps([tool.parameters for tool in offered]).decode()))
    history = fit_history(
        (whole.get(turn.id, turn) for turn in newest),
        tokens=max(64, handler.budget - overhead),
        most=max(1, most),
        count=handler.count,
    )
    left_out = next((turn.id for turn in newest if turn.id < history.turns[0].id), "") if history.cut else ""
    if left_out > ((thread.summarised_to if thread is not None else None) or ""):
        work.left_out.append(left_out)
    turns = _with_run_turns(history, own)
    if work.plans:
        turns = inline_tool_results(turns)
    return prompt_of(instructions, summary if history.cut else "", turns, work.toolbox.alias)


def _with_run_turns(history: History, own: Sequence[Turn]) -> list[Turn]:
    """Add all turns of this run, even over budget: the model must see what it has to answer."""
    present = {turn.id for turn in own}
    return [*(turn for turn in history.turns if turn.id not in present), *own]


async def _with_files(work: RunWork, turn: Turn, transcript: Transcript) -> Turn:
    """Add the files attached to a turn's message."""
    message = next((one for one in transcript.messages if one.message_uuid == turn.id), None)
    if message is None or not message.files:
        return turn
    files = []
    for file in message.files:
        data = await work.resources.objects.get(str(file["object_key"]))
        files.append(Attachment(str(file["media_type"]), data, str(file.get("name") or "")))
    return replace(turn, files=tuple(files))


def quote_results(calls: Iterable[ToolCall]) -> str:
    """Quote tool results verbatim, each under its tool's name."""
    parts = []
    for call in calls:
        if call.content and call.status is ToolCallStatus.COMPLETED:
            quoted = "\n".join(f"> {line}" for line in call.content.splitlines() or [""])
            parts.append(f"From {call.name}:\n{quoted}")
    return "\n\n".join(parts)
