"""One reply of the model: what it is shown, its words as they come, and storing it. The reply without tool calls ends the run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai import (
    ContentRefused,
    ExtraMissing,
    KeyMissing,
    ModelAccessDenied,
    ModelFailed,
    ModelTimedOut,
    ModelUnreachable,
    RateLimited,
    Reply,
    Usage,
    WeightsMissing,
)
from gateleg.apps.agents.errors import RunInProgress
from gateleg.apps.agents.running.agents import fallback_handlers
from gateleg.apps.agents.running.ending import end_run
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.ids import call_uuid, message_uuid
from gateleg.apps.agents.running.planning import NEAREST, PLANNED, choose_tool
from gateleg.apps.agents.running.prompting import prompt_for, quote_results
from gateleg.apps.agents.running.structures import structure_of
from gateleg.apps.agents.running.summarising import have_summarised
from gateleg.apps.agents.running.threads import is_open
from gateleg.apps.agents.running.tools.toolbox import matches
from gateleg.apps.agents.running.unfinished import UnfinishedReply
from gateleg.apps.agents.thread_tables import Message, Run, RunStatus, ToolCall, ToolCallStatus
from gateleg.apps.agents.usage import record_usage
from gateleg.store import TransactionCanceled, create, patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai import AskOptions, Tool
    from gateleg.ai import Message as Said
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.run_work import RunWork
    from gateleg.apps.agents.running.transcripts import Transcript
    from gateleg.store import WriteOperation

__all__ = ["ask_model"]

#: What lets another model be asked, if nothing was written yet.
_UNAVAILABLE = (ExtraMissing, KeyMissing, ModelAccessDenied, ModelFailed, ModelTimedOut, ModelUnreachable, RateLimited, WeightsMissing)

_REFUSED = "Change the question, or the instructions of the agent, and ask again."
#: How often a reply is stored anew while others change its run.
_ATTEMPTS = 5


async def ask_model(work: RunWork, number: int, *, tools: bool, transcript: Transcript) -> Run | None:
    """Ask for the reply of a step and store it; the run as it ended, if that was its answer. None if it goes on."""
    reply, notes = await _planned(work, number, transcript) if tools else None, ""
    if reply is not None:
        notes = PLANNED
    else:
        before = _quote_first(work, number, transcript)
        reply, output = await _asked(work, number, tools=tools, transcript=transcript)
        if not reply.calls:
            return await _finish(work, number, _with_quotes(work, number, reply, transcript, before), output)
    await _store_step(work, number, reply, notes)
    return None


def _quote_first(work: RunWork, number: int, transcript: Transcript) -> str:
    """What the tools of a planner have found, streamed before the model says anything: it is there at once, and it is right."""
    if not work.quotes or not work.plans:
        return ""
    quoted = quote_results(transcript.calls)
    before = f"{quoted}\n\nIn the words of the model, which may be wrong: " if quoted else ""
    if before:
        work.emit(Frame(kind="text", delta=before, step=number))
    return before


def _with_quotes(work: RunWork, number: int, reply: Reply, transcript: Transcript, before: str) -> Reply:
    """The reply with what the tools answered, word by word: before it, where that was streamed already, or else below it."""
    after = ""
    if not before and work.quotes and (quoted := quote_results(transcript.calls)):
        after = f"\n\n{quoted}"
        work.emit(Frame(kind="text", delta=after, step=number))
    return replace(reply, text=before + reply.text + after)


async def _planned(work: RunWork, number: int, transcript: Transcript) -> Reply | None:
    """The tool call that the planner of a small model chooses for the question."""
    if number != 1 or not work.plans or not work.toolbox.tools:
        return None
    question = next((message.message for message in transcript.messages if message.role == "user"), "")
    call = await choose_tool(question, work.toolbox, work.handler.models.embeddings())
    return None if call is None else Reply(calls=(call,), finish="tools", model=NEAREST, usage=Usage())


async def _asked(work: RunWork, number: int, *, tools: bool, transcript: Transcript) -> tuple[Reply, dict[str, Any] | None]:
    """The reply of the agent's model, or of the first of its substitutes that can be reached."""
    # After a planner has called a tool, its model only words the answer.
    offered = work.toolbox.declared if tools and not work.plans else []
    handlers = [work.handler, *fallback_handlers(work.resources, work.handler)]
    for place, handler in enumerate(handlers):
        written = _Written(work, number)
        try:
            return await _reply(work, handler, written, offered, transcript)
        except _UNAVAILABLE as error:
            if written.begun or place == len(handlers) - 1:
                raise
            named = handlers[place + 1].configuration["model"]
            work.job.log(f"The agent's model cannot be asked, so {named} is: {error.message}", "WARNING")
    raise AssertionError("there is always a handler")


class _Written:
    """Streams what a model writes, and knows whether it has begun to."""

    def __init__(self, work: RunWork, step: int) -> None:
        self._work = work
        self._step = step
        self.begun = False

    def take(self, text: str, reasoning: str = "") -> None:
        for kind, delta in (("reasoning", reasoning), ("text", text)):
            if delta:
                self.begun = True
                self._work.emit(Frame.model_construct(kind=kind, delta=delta, step=self._step))


async def _reply(
    work: RunWork, handler: AgentHandler, written: _Written, offered: Sequence[Tool], transcript: Transcript
) -> tuple[Reply, dict[str, Any] | None]:
    messages = await prompt_for(work, handler, offered, transcript)
    options: AskOptions = {**handler.options, **work.request.options}  # type: ignore[typeddict-item]
    schema = work.request.output_schema
    if schema is not None and not offered:
        return await _structured(handler, schema, messages, options, written)
    if offered:
        options["tools"] = list(offered)
        if transcript.calls:
            # A tool that must be called was called: from then on the model may answer.
            options.pop("tool_choice", None)
    else:
        options.pop("tool_choice", None)
    reply: Reply | None = None
    unfinished = UnfinishedReply(work, handler, messages)
    async with unfinished.counted():
        async for delta in handler.stream(messages, **options):
            unfinished.take(delta)
            # With a schema the words of this reply are not the answer yet.
            if schema is None:
                written.take(delta.text, delta.reasoning)
            reply = delta.reply or reply
    if reply is None:
        raise ModelFailed(f"{handler.address} ended without a reply.")
    if reply.finish == "filtered" and not reply.text and not reply.calls:
        raise ContentRefused("The provider's rules for content keep this from being answered.", fix=_REFUSED)
    if schema is not None and not reply.calls:
        found, output = await _structured(handler, schema, messages, options, written)
        return replace(found, usage=reply.usage + found.usage), output
    return reply, None


async def _structured(
    handler: AgentHandler, schema: dict[str, Any], messages: list[Said], options: AskOptions, written: _Written
) -> tuple[Reply, dict[str, Any]]:
    plain: AskOptions = {name: value for name, value in options.items() if name not in ("tools", "tool_choice")}  # type: ignore[assignment]
    found = await handler.structured(structure_of(schema), messages, **plain)
    text = orjson.dumps(found.value.root).decode()
    written.take(text)
    return replace(found.reply, text=text, usage=found.usage), found.value.root


async def _store_step(work: RunWork, number: int, reply: Reply, notes: str) -> None:
    """Store a reply with its calls. Those that need approval wait for it."""
    calls = [
        ToolCall(
            **work.place,
            tool_call_uuid=call_uuid(work.run.run_uuid, number, place),
            tool_call_id=call.id,
            name=tool.name if (tool := work.toolbox.find(call.name)) is not None else call.name,
            tool_type=tool.kind if tool is not None else "function",
            arguments=call.text or "{}",
            status=ToolCallStatus.REQUIRES_APPROVAL if _needs_approval(work, call.name) else ToolCallStatus.INITIAL,
            signature=call.signature or None,
            notes=notes or None,
        )
        for place, call in enumerate(reply.calls[:90])
    ]
    writes = [create(_message(work, number, reply)), *(create(call) for call in calls)]
    for _ in range(_ATTEMPTS):
        run = await _present(work)
        if not is_open(run):
            return
        try:
            await work.resources.store.transact([patch(run, *_counted(run, reply, number)), *writes, *_recorded(work, run, reply)])
        except TransactionCanceled as canceled:
            if canceled.reasons[0] is not None and not any(canceled.reasons[1:]):
                # Somebody has changed something else of the run.
                continue
            # Another worker has stored this step: what is stored decides what comes next.
            return
        work.emit(Frame(kind="message", step=number, id=message_uuid(work.run.run_uuid, number)))
        return


def _needs_approval(work: RunWork, called: str) -> bool:
    tool = work.toolbox.find(called)
    if tool is None:
        return False
    wanted = work.agent.configuration.get("require_approval")
    patterns = list(work.resources.settings.approve)
    if wanted in ("always", True):
        return True
    patterns += [one for one in wanted if isinstance(one, str)] if isinstance(wanted, list) else []
    return any(matches(tool.name, pattern) for pattern in patterns)


def _message(work: RunWork, number: int, reply: Reply) -> Message:
    return Message(
        **work.place,
        message_uuid=message_uuid(work.run.run_uuid, number),
        role="assistant",
        message=reply.text,
        reasoning=reply.reasoning or None,
    )


def _counted(run: Run, reply: Reply, number: int) -> list[Any]:
    """What a reply adds to its run: tokens as the provider reports them, and their cost where a price is known."""
    usage = reply.usage
    found = [
        Run.prompt_tokens.add(usage.input),
        Run.completion_tokens.add(usage.output),
        Run.total_tokens.add(usage.total),
        Run.iterations.set(number),
    ]
    if reply.model != NEAREST:
        found.append(Run.model.set(reply.model[:200]))
        known = usage.cost is not None and (run.cost is not None or run.iterations == 0 or run.model is None)
        found.append(Run.cost.set((run.cost or 0) + usage.cost) if known and usage.cost is not None else Run.cost.remove())
    return found


def _recorded(work: RunWork, run: Run, reply: Reply) -> list[WriteOperation[Any]]:
    """The writes that record what a reply has used by day; a planner uses nothing."""
    return [] if reply.model == NEAREST else [record_usage(run, work.resources.store.setup.now().date(), reply.model, reply.usage)]


async def _present(work: RunWork) -> Run:
    run = work.run
    return await work.resources.store.get(Run, partition=run.partition, thread_uuid=run.thread_uuid, run_uuid=run.run_uuid, consistent=True)


async def _finish(work: RunWork, number: int, reply: Reply, output: dict[str, Any] | None) -> Run | None:
    """Store the answer and end the run, together: an answer that is there was given once."""
    message = _message(work, number, reply)
    extra = [] if output is None else [Run.output.set(output)]
    if reply.finish in ("length", "filtered"):
        extra.append(Run.finish.set(reply.finish))

    for _ in range(_ATTEMPTS):
        run = await _present(work)
        if not is_open(run):
            return run
        along = [create(message), *_recorded(work, run, reply)]
        actions = [*_counted(run, reply, number), *extra]
        ended = await end_run(work.resources, run, RunStatus.COMPLETED, actions=actions, writes=partial(list, along), result=reply.text)
        if ended is None:
            # It has ended, or somebody has changed something else of it: look again.
            continue
        work.emit(Frame(kind="message", step=number, id=message.message_uuid))
        if work.shown_from:
            # Only now: a summary must not keep the answer waiting.
            await have_summarised(work, work.shown_from[0])
        return ended
    raise RunInProgress(f"The run {work.run.run_uuid} is changed by too many at once.", fix="Try again.")
