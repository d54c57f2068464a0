"""`ChatSession`: a conversation with an agent in a terminal. The caller supplies how to print and how to ask for approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import orjson

from gateleg.apps.agents.running.approvals import Decision, decide_calls
from gateleg.apps.agents.running.frame_stream import follow_run
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.running.threads import find_run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.agents.running.frames import Frame
    from gateleg.apps.agents.running.submission import SubmittedRun
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources

__all__ = ["ChatSession"]

_MAX_DETAIL_LENGTH = 200


class Display(Protocol):
    """Prints a piece of the answer, or with `aside` a note about it."""

    def __call__(self, text: str, *, aside: bool = False) -> None:
        """Print it."""


class ChatSession:
    """A terminal conversation in one thread with one agent."""

    def __init__(
        self,
        resources: Resources[AgentsSettings],
        context: Context,
        agent: Agent,
        show: Display,
        approve: Callable[[str, str], Awaitable[bool]],
        thread_uuid: str | None = None,
    ) -> None:
        self._resources = resources
        self._context = context
        self._agent = agent
        self._show = show
        self._approve = approve
        self.thread_uuid = thread_uuid

    async def send(self, text: str) -> bool:
        """Send a message and print the answer as it streams; returns whether the run completed."""
        question = Question(agent_uuid=self._agent.agent_uuid, user_query=text, thread_uuid=self.thread_uuid, updated_by="cli")
        asked = await ask(self._resources, self._context, question)
        self.thread_uuid = asked.thread_uuid
        after = -1
        while True:
            last = None
            async for frame in await follow_run(self._resources, self._context, asked.thread_uuid, asked.run_uuid, after=after):
                self._display_frame(frame)
                last = frame
            if last is None or last.status != "requires_action":
                return last is not None and last.status == "completed"
            after = last.index
            await self._decide(asked)

    async def _decide(self, asked: SubmittedRun) -> None:
        """Ask for approval of the pending tool calls, and record the decisions."""
        run = await find_run(self._resources.store, self._context, asked.thread_uuid, asked.run_uuid)
        waiting = (run.required_action or {}).get("tool_calls", [])
        decisions = [
            Decision(tool_call_uuid=call["tool_call_uuid"], approve=await self._approve(call["name"], call["arguments"]))
            for call in waiting
        ]
        await decide_calls(self._resources, self._context, asked.thread_uuid, asked.run_uuid, decisions)

    def _display_frame(self, frame: Frame) -> None:
        match frame.kind:
            case "text":
                self._show(frame.delta)
            case "call":
                self._show(f"[{frame.name} {orjson.dumps(frame.data).decode()[:_MAX_DETAIL_LENGTH]}]\n", aside=True)
            case "result" if frame.status != "completed":
                self._show(f"[{frame.name} {frame.status}: {str(frame.data)[:_MAX_DETAIL_LENGTH]}]\n", aside=True)
            case "restart":
                self._show("\n[the worker stopped; the answer starts again]\n", aside=True)
            case "end" if frame.status == "completed":
                self._show("\n")
            case "end" if frame.status != "requires_action":
                self._show(f"\n[{frame.status}] {(frame.data or {}).get('error', '')}\n", aside=True)
