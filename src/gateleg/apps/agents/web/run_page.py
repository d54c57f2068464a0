"""The page of a run: its steps with their durations, and its usage and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.agents import find_agent
from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.running.threads import find_run
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import ToolCall
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.statuses import call_badge, run_badge
from gateleg.apps.agents.web.urls import HOME, agent_place, thread_place
from gateleg.host import Role
from gateleg.web.console.components import Crumb, ago, frame, tag

if TYPE_CHECKING:
    from gateleg.apps.agents.running.transcripts import Transcript
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.thread_tables import Message, Run
    from gateleg.host import Resources

_WORDS = {"user": "Question", "assistant": "Model reply"}


async def run_page(resources: Resources[AgentsSettings], thread_uuid: str, run_uuid: str, part: str = "") -> None:
    """The page of a run, if the user may see it."""
    with frame(title="Run", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        try:
            run = await find_run(resources.store, visit.context, thread_uuid, run_uuid)
        except NotFoundInPartition:
            show_not_found("run")
            return
        transcript = await read_run(resources.store, run.partition, thread_uuid, run_uuid)
        agent = await find_agent(resources.store, visit.context, agent_uuid=run.agent_uuid) if run.agent_uuid else None
        _head(visit, run)
        _facts(visit, run, agent)
        tag("h2", "Steps")
        with tag("ol", classes="agents-steps stack gap-1"):
            for step in steps_of(transcript):
                with tag("li", classes="card stack gap-1"):
                    _step(step)


def steps_of(transcript: Transcript) -> list[Message | ToolCall]:
    """The messages and tool calls of a run in order. Replies without text are left out, because their calls are listed."""
    by_id: dict[str, Message | ToolCall] = {one.message_uuid: one for one in transcript.messages if one.message or one.reasoning}
    by_id |= {one.tool_call_uuid: one for one in transcript.calls}
    return [by_id[uuid] for uuid in sorted(by_id)]


def _head(visit: Visit, run: Run) -> None:
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", f"Run {run.run_uuid[:13]}")
            with tag("p", classes="line gap-1 meta"):
                run_badge(run.status)
                tag("span", run.user_id or run.owner_id.removeprefix("/"))
                ago(run.created_at)
        with tag("div", classes="deeds"), tag("a", classes="deed small first", href=thread_place(visit.context, run.thread_uuid)):
            ui.icon("chat")
            tag("span", "Open the thread")
    if run.error:
        tag("p", run.error, "note failed", role="status")


def _facts(visit: Visit, run: Run, agent: Agent | None) -> None:
    with tag("dl", classes="facts"):
        if agent is not None:
            tag("dt", "Agent")
            with tag("dd"):
                tag("a", agent.agent_name, "link", href=agent_place(visit.context, agent.agent_uuid), dir="auto")
        estimated = " (estimated)" if run.usage_estimated else ""
        for name, value in (
            ("Version", run.agent_version_uuid),
            ("Model", run.model),
            ("Tokens", f"{run.prompt_tokens:,} in, {run.completion_tokens:,} out{estimated}"),
            ("Cost", None if run.known_cost is None else f"${run.known_cost:.4f}"),
            ("Time", None if run.time_spent is None else f"{run.time_spent / 1_000:.1f} s"),
            ("Model replies", f"{run.iterations}"),
            ("Ended early", run.finish),
        ):
            if value:
                tag("dt", name)
                tag("dd", value, "num")
        if run.job_id and visit.view.may(Role.VIEWER):
            tag("dt", "Job")
            with tag("dd"):
                tag("a", run.job_id, "link", href=f"/jobs/{run.job_id}")


def _step(step: Message | ToolCall) -> None:
    if isinstance(step, ToolCall):
        _call(step)
    else:
        _message(step)


def _message(message: Message) -> None:
    with tag("p", classes="line gap-1 meta"):
        tag("span", _WORDS.get(message.role, message.role), "strong")
        ago(message.created_at)
    if message.reasoning:
        with tag("details"):
            tag("summary", "Reasoning")
            tag("pre", message.reasoning, "agents-text", dir="auto")
    if message.message:
        tag("p", message.message, "agents-text", dir="auto")


def _call(call: ToolCall) -> None:
    with tag("p", classes="line gap-1 meta"):
        tag("span", f"Call to {call.name}", "strong")
        call_badge(call.status)
        if call.time_spent is not None:
            tag("span", f"{call.time_spent / 1_000:.1f} s", "num")
        if call.decided_by:
            tag("span", f"decided by {call.decided_by}")
        ago(call.created_at)
    tag("pre", call.arguments or "{}", "agents-text")
    if call.content:
        with tag("details", open=True):
            tag("summary", "Result", "meta")
            tag("pre", call.content, "agents-text", dir="auto")
    if call.notes:
        tag("p", call.notes, "meta")
