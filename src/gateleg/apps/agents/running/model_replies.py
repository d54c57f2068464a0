"""One model reply: build the prompt, stream the output, store the step. A reply without tool calls ends the run."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai import KeyMissing, ModelFailed, ModelUnreachable, RateLimited, Reply, Usage
from gateleg.ai.errors import ContentRefused, ExtraMissing, ModelAccessDenied, ModelTimedOut, WeightsMissing
from gateleg.apps.agents.errors import RunInProgress
from gateleg.apps.agents.running.agents import fallback_handlers
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.ids import call_uuid, message_uuid
from gateleg.apps.agents.running.prompt_builder import prompt_for, quote_results
from gateleg.apps.agents.running.run_end import end_run
from gateleg.apps.agents.running.structures import model_from_schema
from gateleg.apps.agents.running.summaries import submit_summary
from gateleg.apps.agents.running.threads import is_open
from gateleg.apps.agents.running.tool_planner import NEAREST, PLANNER_NOTE, choose_tool
from gateleg.apps.agents.running.tools.toolbox import matches
from gateleg.apps.agents.running.unfinished import ForeignReply, model_of
from gateleg.apps.agents.thread_tables import Message, Run, RunStatus, ToolCall, ToolCallStatus
from gateleg.apps.agents.usage import PLANNING, billed_to
from gateleg.store import TransactionCanceled, create, patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai import AskOptions, Tool
    from gateleg.ai import Message as Said
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.running.run_work import RunWork
    from gateleg.apps.agents.running.transcripts import Transcript

__all__ = ["ask_model"]

#: Errors after which a fallback model is asked, unless output was already streamed.
_UNAVAILABLE = (ExtraMissing, KeyMissing, ModelAccessDenied, ModelFailed, ModelTimedOut, ModelUnreachable, RateLimited, WeightsMissing)

_REFUSAL_FIX = "Change the question, or the instructions of the agent, and ask again."
#: Attempts to store a reply while other writers change its run.
_ATTEMPTS = 5


async def ask_model(work: RunWork, number: int, *, tools: bool, transcript: Transcript) -> Run | None:
    """Ask the model for the reply of a step and store it. Returns the ended run if the reply was the answer, else None."""
    reply, notes = await _plan_tool_call(work, number, transcript) if tools else None, ""
    if reply is not None:
        notes = PLANNER_NOTE
    else:
        before = _stream_quotes(work, number, transcript)
        reply, output = await _ask_with_fallbacks(work, number, tools=tools, transcript=transcript)
        if not reply.calls:
            return await _finish(work, number, _with_quotes(work, number, reply, transcript, before), output)
    await _store_step(work, number, reply, notes)
    return None


def _stream_quotes(work: RunWork, number: int, transcript: Transcript) -> str:
    """Stream the results of planned tool calls before the model answers: they are available at once, and exact."""
    if not work.quotes or not work.plans:
        return ""
    quoted = quote_results(transcript.calls)
    before = f"{quoted}\n\nIn the words of the model, which may be wrong: " if quoted else ""
    if before:
        work.emit(Frame(kind="text", delta=before, step=number))
    return before


def _with_quotes(work: RunWork, number: int, reply: Reply, transcript: Transcript, before: str) -> Reply:
    """Add quoted tool results to the reply: before it if they were streamed already, else after it."""
    after = ""
    if not before and work.quotes and (quoted := quote_results(transcript.calls)):
        after = f"\n\n{quoted}"
        work.emit(Frame(kind="text", delta=after, step=number))
    return replace(reply, text=before + reply.text + after)


async def _plan_tool_call(work: RunWork, number: int, transcript: Transcript) -> Reply | None:
    """A first reply with the planner's tool call, for agents that use the planner; else None."""
    if number != 1 or not work.plans or not work.toolbox.tools:
        return None
    question = next((message.message for message in transcript.messages if message.role == "user"), "")
    models = billed_to(work.resources, work.partition, PLANNING, run=work.run, record=work.record)
    call = await choose_tool(question, work.toolbox, models.embeddings())
    return None if call is None else Reply(calls=(call,), finish="tools", model=NEAREST, usage=Usage())


async def _ask_with_fallbacks(work: RunWork, number: int, *, tools: bool, transcript: Transcript) -> tuple[Reply, dict[str, Any] | None]:
    """The reply of the agent's model, or of the first fallback that is available."""
    # With a planner, the model only formulates the answer.
    offered = work.toolbox.declared if tools and not work.plans else []
    handlers = [work.handler, *fallback_handlers(work.resources, work.handler)]
    for place, handler in enumerate(handlers):
        written = _ReplyStream(work, number)
        try:
            return await _reply(work, handler, written, offered, transcript)
        except _UNAVAILABLE as error:
            if written.begun or place == len(handlers) - 1:
                raise
            named = handlers[place + 1].configuration["model"]
            work.job.log(f"The agent's model is unavailable, falling back to {named}: {error.public_text}", "WARNING")
    raise AssertionError("there is always a handler")


class _ReplyStream:
    """Streams model output, and records whether any was streamed."""

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
    work: RunWork, handler: AgentHandler, written: _ReplyStream, offered: Sequence[Tool], transcript: Transcript
) -> tuple[Reply, dict[str, Any] | None]:
    messages = await prompt_for(work, handler, offered, transcript)
    options: AskOptions = {**handler.options, **work.request.options}  # type: ignore[typeddict-item]
    schema = work.request.output_schema
    if schema is not None and not offered:
        return await _structured(work, handler, schema, messages, options, written)
    if offered:
        options["tools"] = list(offered)
        if transcript.calls:
            # The forced tool call was made: from now on the model may answer.
            options.pop("tool_choice", None)
    else:
        options.pop("tool_choice", None)
    reply: Reply | None = None
    foreign = ForeignReply(work, handler, messages)
    # The stream is closed before it is asked what it has recorded.
    async with foreign.recorded(), aclosing(handler.stream(messages, **options)) as pieces:
        async for delta in pieces:
            foreign.take(delta)
            # With a schema, this reply's text is not the answer yet.
            if schema is None:
                written.take(delta.text, delta.reasoning)
            reply = delta.reply or reply
    if reply is None:
        raise ModelFailed(f"{handler.address} ended without a reply.")
    if reply.finish == "filtered" and not reply.text and not reply.calls:
        raise ContentRefused("The provider's content rules do not allow an answer.", fix=_REFUSAL_FIX)
    if schema is not None and not reply.calls:
        return await _structured(work, handler, schema, messages, options, written)
    return reply, None


async def _structured(
    work: RunWork, handler: AgentHandler, schema: dict[str, Any], messages: list[Said], options: AskOptions, written: _ReplyStream
) -> tuple[Reply, dict[str, Any]]:
    plain: AskOptions = {name: value for name, value in options.items() if name not in ("tools", "tool_choice")}  # type: ignore[assignment]
    recorded = work.record.ended
    found = await handler.structured(model_from_schema(schema), messages, **plain)
    if work.record.ended == recorded:
        # The handler does not use the host's models.
        await handler.models.book(model_of(handler), found.usage)
    text = orjson.dumps(found.value.root).decode()
    written.take(text)
    return replace(found.reply, text=text), found.value.root


async def _store_step(work: RunWork, number: int, reply: Reply, notes: str) -> None:
    """Store a reply with its tool calls. Calls that need approval are stored as pending."""
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
        run = await work.read_run()
        if not is_open(run):
            return
        try:
            await work.resources.store.transact([patch(run, Run.iterations.set(number)), *writes])
        except TransactionCanceled as canceled:
            if canceled.reasons[0] is not None and not any(canceled.reasons[1:]):
                # Another writer changed an unrelated attribute of the run.
                continue
            # Another worker stored this step first; the loop continues from the stored one.
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


async def _finish(work: RunWork, number: int, reply: Reply, output: dict[str, Any] | None) -> Run | None:
    """Store the answer and end the run in one transaction, so that a run has at most one answer."""
    message = _message(work, number, reply)
    extra = [] if output is None else [Run.output.set(output)]
    if reply.finish in ("length", "filtered"):
        extra.append(Run.finish.set(reply.finish))

    for _ in range(_ATTEMPTS):
        run = await work.read_run()
        if not is_open(run):
            return run
        actions, along = [Run.iterations.set(number), *extra], [create(message)]
        ended = await end_run(work.resources, run, RunStatus.COMPLETED, actions=actions, writes=partial(list, along), result=reply.text)
        if ended is None:
            # The run ended or was changed concurrently: read it again.
            continue
        work.emit(Frame(kind="message", step=number, id=message.message_uuid))
        if work.left_out:
            # Last, so that the summary does not delay the answer.
            await submit_summary(work)
        return ended
    raise RunInProgress(f"Too many writers are changing the run {work.run.run_uuid}.", fix="Try again.")
