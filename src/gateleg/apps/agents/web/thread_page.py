"""The page of a thread: messages and tool calls, an input for questions, and the answer as it streams.

The page follows the frames of a run from the first one, so it also shows text that was streamed before it was opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import background_tasks, context, ui

from gateleg.apps.agents.access import may_change
from gateleg.apps.agents.agents import find_agent
from gateleg.apps.agents.erasing.threads import SMALL, delete_whole_thread
from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.running.approvals import Decision, decide_calls
from gateleg.apps.agents.running.frame_stream import follow_run
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.run_end import cancel_run, retry_run
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.running.threads import find_run, find_thread, is_open
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import Run, RunStatus, ToolCallStatus
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.statuses import call_badge, run_badge
from gateleg.apps.agents.web.urls import HOME, agent_place, run_place, thread_place
from gateleg.errors import GatelegError
from gateleg.host import Role
from gateleg.web.console.components import Crumb, Field, ago, button, carry_out, confirm, frame, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.agents.running.frames import Frame
    from gateleg.apps.agents.running.transcripts import Transcript
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent, Thread
    from gateleg.apps.agents.thread_tables import Message, ToolCall
    from gateleg.host import Resources

#: How many runs are shown per page.
_RUNS = 20
#: How much of a tool result is shown, in characters.
_SHOWN = 4_000


async def thread_page(
    resources: Resources[AgentsSettings], thread_uuid: str, part: str = "", agent_uuid: str = "", cursor: str = ""
) -> None:
    """The page of a thread, or with `new` for one that starts with the first question."""
    with frame(title="Thread", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        try:
            thread = None if thread_uuid == "new" else await find_thread(resources.store, visit.context, thread_uuid)
        except NotFoundInPartition:
            show_not_found("thread")
            return
        agent = await find_agent(resources.store, visit.context, agent_uuid=thread.agent_uuid if thread else agent_uuid)
        if agent is None:
            show_not_found("agent")
            return
        _head(visit, agent, thread)
        column = tag("div", classes="stack gap-2 agents-thread", aria_live="polite")
        runs = [] if thread is None else await _newest_runs(visit, thread, cursor)
        for run in runs:
            with column:
                await Turn(visit, run).show()
        if thread is None or thread.owner_id == visit.context.owner:
            _question(visit, agent, thread)


async def _newest_runs(visit: Visit, thread: Thread, cursor: str) -> list[Run]:
    """The newest runs, or those before a cursor, oldest first, with paging links."""
    question = Run.newest(partition=visit.context.partition, thread_uuid=thread.thread_uuid)
    page = await visit.resources.store.page(question, limit=_RUNS, cursor=cursor or None, consistent=True)
    with tag("nav", classes="line gap-1", aria_label="Pages"):
        if page.next is not None:
            there = thread_place(visit.context, thread.thread_uuid, cursor=page.next)
            tag("a", "Earlier questions", "deed small", href=there, rel="prev")
        if cursor:
            tag("a", "Newest questions", "deed small", href=thread_place(visit.context, thread.thread_uuid))
    return list(reversed(page.items))


def _head(visit: Visit, agent: Agent, thread: Thread | None) -> None:
    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", (thread.title if thread is not None else None) or "New thread", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("a", agent.agent_name, "link", href=agent_place(visit.context, agent.agent_uuid))
                if thread is not None:
                    tag("span", thread.user_id or thread.owner_id.removeprefix("/"))
                    ago(thread.updated_at)
        if thread is not None and may_change(visit.context, thread):
            with tag("div", classes="deeds"):
                button("Delete", lambda: _delete(visit, thread), icon="delete", look="small danger")


async def _delete(visit: Visit, thread: Thread) -> None:
    """Delete the thread with its contents, after confirmation."""
    loss = f"Its {thread.run_count:,} questions and answers and their files are permanently deleted."
    if await confirm("Delete this thread?", loss, verb="Delete"):
        work = lambda: delete_whole_thread(visit.resources, visit.context, thread.thread_uuid)  # noqa: E731
        done = "Deleted" if thread.run_count <= SMALL else "Deleting in a background job"
        await visit.do(work, done, agent_place(visit.context, thread.agent_uuid))


def _question(visit: Visit, agent: Agent, thread: Thread | None) -> None:
    """The input for questions."""
    with tag("div", classes="agents-ask"):
        text = Field("Your message", "", kind="area", rows=3, whole=True, placeholder="Ask something")

        async def send() -> None:
            if not text.text.strip():
                return

            async def work() -> None:
                question = Question(
                    agent_uuid=agent.agent_uuid,
                    thread_uuid=None if thread is None else thread.thread_uuid,
                    user_query=text.text,
                    thread_life_minutes=0,
                    updated_by=visit.context.principal.name,
                )
                asked = await ask(visit.resources, visit.context, question)
                ui.navigate.to(thread_place(visit.context, asked.thread_uuid))

            await carry_out(visit.view, Role.MEMBER, work)

        button("Send", send, icon="send", look="first")


class Turn:
    """One question and its answer, which streams while it is written."""

    def __init__(self, visit: Visit, run: Run) -> None:
        self.visit, self.run = visit, run
        self.box = tag("article", classes="stack gap-1")

    async def show(self) -> None:
        """Draw the stored items, and follow the run if it is active."""
        transcript = await read_run(self.visit.resources.store, self.run.partition, self.run.thread_uuid, self.run.run_uuid)
        open_now = is_open(self.run) and self.run.status is not RunStatus.REQUIRES_ACTION
        with self.box:
            for message in transcript.messages:
                if message.role == "user":
                    _message("You", message)
            if open_now:
                self._follow()
            else:
                self._stored(transcript)

    def _stored(self, transcript: Transcript) -> None:
        for message in transcript.messages:
            if message.role != "user" and message.message:
                _message("Agent", message)
            for call in transcript.calls:
                if _after(message, call, transcript):
                    self._call(call)
        self._ending()

    def _ending(self) -> None:
        run = self.run
        with tag("p", classes="line gap-1 meta"):
            run_badge(run.status)
            tag("a", "Steps", "link", href=run_place(self.visit.context, run.thread_uuid, run.run_uuid))
            if run.model:
                tag("span", run.model)
            if run.total_tokens:
                tag("span", f"{run.prompt_tokens:,} tokens in, {run.completion_tokens:,} out", "num")
            if run.known_cost:
                tag("span", f"${run.known_cost:.4f}", "num")
            if run.time_spent is not None:
                tag("span", f"{run.time_spent / 1_000:.1f} s", "num")
            if run.status in (RunStatus.FAILED, RunStatus.EXPIRED):
                button("Try again", self._retry, icon="refresh", look="small")
        if run.error:
            tag("p", run.error, "note failed", role="status")

    async def _retry(self) -> None:
        run, visit = self.run, self.visit
        there = thread_place(visit.context, run.thread_uuid)
        await visit.do(lambda: retry_run(visit.resources, visit.context, run.thread_uuid, run.run_uuid), "Begun again", there)

    def _call(self, call: ToolCall) -> None:
        """A tool call with its arguments and result; a pending one has buttons to approve and deny."""
        with tag("details", classes="card agents-call", open=call.status is ToolCallStatus.REQUIRES_APPROVAL or None):
            with tag("summary", classes="line gap-1"):
                ui.icon("build")
                tag("span", call.name, "strong")
                call_badge(call.status)
            tag("pre", call.arguments or "{}", "agents-text")
            if call.content:
                tag("pre", call.content[:_SHOWN], "agents-text", dir="auto")
            if call.notes:
                tag("p", call.notes, "meta")
            if call.status is ToolCallStatus.REQUIRES_APPROVAL:
                with tag("div", classes="line gap-1"):
                    button("Approve", lambda: self._decide(call, True), icon="check", look="small first")
                    button("Deny", lambda: self._decide(call, False), icon="close", look="small danger")

    async def _decide(self, call: ToolCall, approve: bool) -> None:
        run, visit = self.run, self.visit
        decision = Decision(tool_call_uuid=call.tool_call_uuid, approve=approve)
        there = thread_place(visit.context, run.thread_uuid)
        work = decide_calls(visit.resources, visit.context, run.thread_uuid, run.run_uuid, [decision])
        await visit.do(lambda: work, "Approved" if approve else "Denied", there)

    def _follow(self) -> None:
        live = LiveAnswer()
        client = context.client

        async def stop() -> None:
            run, visit = self.run, self.visit
            await carry_out(visit.view, Role.MEMBER, lambda: cancel_run(visit.resources, visit.context, run.thread_uuid, run.run_uuid))

        live.offer_stop(stop)

        async def listen() -> None:
            try:
                frames = await follow_run(self.visit.resources, self.visit.context, self.run.thread_uuid, self.run.run_uuid)
                async for one in frames:
                    if client.is_deleted:
                        return
                    with client:
                        live.show(one)
            except GatelegError as error:
                with client:
                    live.fail(error.message)
                return
            run = await find_run(self.visit.resources.store, self.visit.context, self.run.thread_uuid, self.run.run_uuid)
            if not client.is_deleted:
                self.run = run
                with client:
                    self.box.clear()
                    await self.show()

        task = background_tasks.create(listen(), name="answer")
        client.on_delete(task.cancel)


def _after(message: Message, call: ToolCall, transcript: Transcript) -> bool:
    """Whether a call belongs to a message: the last one before it."""
    earlier = [one for one in transcript.messages if one.message_uuid <= call.tool_call_uuid]
    return bool(earlier) and earlier[-1].message_uuid == message.message_uuid


def _message(who: str, message: Message) -> None:
    with tag("div", classes=f"agents-message {'mine' if who == 'You' else 'theirs'}"):
        tag("span", who, "meta")
        tag("p", message.message, "agents-text", dir="auto")


class LiveAnswer:
    """An answer that is being streamed."""

    def __init__(self) -> None:
        self.step, self.text = 0, ""
        self.box = tag("div", classes="agents-message theirs", aria_busy="true")
        with self.box:
            tag("span", "Agent", "meta")
            self.words = tag("p", "", "agents-text", dir="auto")
            self.status = tag("p", "Waiting for a worker", "meta", role="status")

    def offer_stop(self, stop: Callable[[], Awaitable[None]]) -> None:
        """A button that cancels the run."""
        with self.box:
            button("Stop", stop, icon="stop", look="small")

    def show(self, one: Frame) -> None:
        """Show the next frame."""
        if one.kind == "restart" or (one.kind == "text" and one.step != self.step):
            self.text, self.step = "", one.step
        if one.kind == "text":
            self.text += one.delta
            self.words.set_text(self.text)
            self.status.set_text("Answering")
        elif one.kind == "call":
            self.status.set_text(f"Calling {one.name}")
        elif one.kind == "result":
            self.status.set_text(f"{one.name or 'The tool'} returned a result")

    def fail(self, words: str) -> None:
        """Show that the stream was interrupted."""
        self.status.set_text(words)
