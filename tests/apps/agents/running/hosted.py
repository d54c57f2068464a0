"""A host with agents and a worker in this process, and agents whose models say what a test has written for them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gateleg.ai import AsyncChat, Reply, Script, ToolCall
from gateleg.apps.agents.application import application
from gateleg.apps.agents.running import AgentHandler
from gateleg.apps.agents.running.frame_stream import follow_run, wait_for_run
from gateleg.apps.agents.running.frames import Frame
from gateleg.apps.agents.running.handlers import registry
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import SubmittedRun, ask
from gateleg.apps.agents.running.threads import find_run
from gateleg.apps.agents.running.transcripts import Transcript, read_run
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import Agent, VersionPointer, new_id
from gateleg.apps.agents.tenancy import Context, RequestedTenant, assemble
from gateleg.apps.agents.thread_tables import Run
from gateleg.host import AgentTool, Application, Principal, Resources, Role
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.jobs import AsyncQueue, QueueSettings, Worker

ANN = Principal("ann", Role.MEMBER, tenant="acme")
BOB = Principal("bob", Role.MEMBER, tenant="acme")
EVE = Principal("eve", Role.MEMBER, tenant="evil")
OTTO = Principal("otto", Role.OPERATOR)

#: What scripted models say next, by the name of their agent; those of a test that has ended are gone.
SCRIPTS: dict[str, Script] = {}


class ScriptedHandler(AgentHandler):
    """Asks the script of its agent."""

    def open(self) -> AsyncChat:
        return self.models.chat_with(SCRIPTS[str(self.agent["agent_name"])])


def calling(*calls: tuple[str, str], text: str = "") -> Reply:
    """A reply that calls tools with JSON arguments."""
    return Reply(text, tuple(ToolCall(f"call_{place}", name, arguments) for place, (name, arguments) in enumerate(calls)), finish="tools")


class Addend(BaseModel):
    """Two numbers."""

    a: int
    b: int


class Query(BaseModel):
    """A text."""

    question: str


class Nothing(BaseModel):
    """No arguments."""


@dataclass
class Desk:
    """What the tools of the application `desk` have done."""

    calls: list[tuple[str, Any]] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    here: asyncio.Event = field(default_factory=asyncio.Event)
    added: asyncio.Event = field(default_factory=asyncio.Event)
    #: what a letter says, and who has read it
    letter: str = ""
    readers: list[str] = field(default_factory=list)

    def application(self) -> Application:
        async def add(principal: Principal, given: Addend) -> int:
            self.calls.append((principal.name, given))
            self.added.set()
            return given.a + given.b

        async def wait(principal: Principal, given: Addend) -> str:
            self.calls.append((principal.name, given))
            self.here.set()
            await self.go.wait()
            return "done"

        async def opening_hours(principal: Principal, given: Query) -> str:
            self.calls.append((principal.name, given))
            return "The office is open from 9 to 17 on weekdays."

        async def letter(principal: Principal, given: Nothing) -> str:
            self.readers.append(principal.name)
            return self.letter

        async def today(principal: Principal, given: Nothing) -> str:
            return "Nothing is on."

        def tools(resources: Resources[Any]) -> list[AgentTool]:
            return [
                AgentTool("add", "Add two numbers.", Addend, add),
                AgentTool("wait", "Wait.", Addend, wait),
                AgentTool("opening_hours", "Find out when the office is open.", Query, opening_hours),
                AgentTool("letter", "Read the letter.", Nothing, letter),
                AgentTool("today", "What is on today.", Nothing, today),
                AgentTool("dismiss", "Dismiss everybody.", Addend, add, role=Role.OPERATOR),
            ]

        return Application(name="desk", title="Desk", icon="star", tools=tools)


@dataclass
class Hosted:
    """A host with agents."""

    host: Host
    desk: Desk

    @property
    def resources(self) -> Resources[AgentsSettings]:
        return self.host.resources["agents"]

    def context(self, principal: Principal = ANN, **asked: str) -> Context:
        return assemble(principal, self.resources.settings, RequestedTenant(**asked))

    async def agent(self, *lines: Any, principal: Principal = ANN, llm: tuple[str, str] = ("scripted", "script"), **changes: Any) -> Agent:
        """An agent of somebody's tenant; its model says these lines."""
        agent = Agent(
            partition=self.context(principal).partition,
            agent_uuid=f"agent-{new_id()}",
            **{"agent_name": f"Agent {new_id()}", "llm_provider": llm[0], "llm_name": llm[1], **changes},
        )
        await self.resources.store.create(agent)
        pointer = VersionPointer(
            partition=agent.partition, kind="agent", logical_uuid=agent.agent_uuid, active_version_uuid=agent.agent_version_uuid
        )
        await self.resources.store.create(pointer)
        SCRIPTS[agent.agent_name] = Script(lines)
        return agent

    def script(self, agent: Agent) -> Script:
        return SCRIPTS[agent.agent_name]

    async def ask(self, agent: Agent, text: str = "Hello?", principal: Principal = ANN, **options: Any) -> SubmittedRun:
        return await ask(self.resources, self.context(principal), Question(agent_uuid=agent.agent_uuid, user_query=text, **options))

    async def run_of(self, asked: SubmittedRun, principal: Principal = ANN) -> Run:
        return await find_run(self.resources.store, self.context(principal), asked.thread_uuid, asked.run_uuid)

    async def ended(self, asked: SubmittedRun, principal: Principal = ANN) -> Run:
        """The run, when it has ended or waits for somebody."""
        async with asyncio.timeout(30):
            return await wait_for_run(self.resources, self.context(principal), asked.thread_uuid, asked.run_uuid)

    async def frames(self, asked: SubmittedRun, *, after: int = -1, principal: Principal = ANN) -> list[Frame]:
        async with asyncio.timeout(30):
            following = await follow_run(self.resources, self.context(principal), asked.thread_uuid, asked.run_uuid, after=after)
            return [frame async for frame in following]

    async def transcript(self, asked: SubmittedRun, principal: Principal = ANN) -> Transcript:
        return await read_run(self.resources.store, self.context(principal).partition, asked.thread_uuid, asked.run_uuid)

    @asynccontextmanager
    async def working(self, *, lease: float | None = None) -> AsyncIterator[Worker]:
        """A worker of the host; with a lease, one that takes over the jobs of others that have died."""
        queue = self.host.queue
        if lease is not None:
            queue = AsyncQueue(self.host.store, queue.context.jobs, QueueSettings(lease_seconds=lease))
        worker = Worker(queue, concurrency=8)
        running = asyncio.ensure_future(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await running


@asynccontextmanager
async def hosting(
    folder: Path, *, work: bool = True, models: dict[str, str] | None = None, store: str = "embedded::memory:", **own: str
) -> AsyncIterator[Hosted]:
    """A host, in memory unless told otherwise. `own` are settings of agents, `models` others, as variables of the environment have them."""
    desk = Desk()
    environ = {f"GATELEG_AGENTS__{name.upper()}": value for name, value in own.items()}
    environ |= {f"GATELEG_{name}": value for name, value in (models or {}).items()}
    flags = {"store": store, "objects": f"dir:{folder}/objects", "data": folder}
    async with Host.open(load_settings(flags=flags, environ=environ), [application, desk.application()]) as host:
        hosted = Hosted(host, desk)
        if not work:
            yield hosted
            return
        async with hosted.working():
            yield hosted


def register_scripts(patch: Callable[..., None]) -> None:
    """Register the scripted handler, as an installed package would."""
    point = EntryPoint("scripted", f"{__name__}:ScriptedHandler", registry.ENTRY_POINT_GROUP)
    patch(registry, "_registered", lambda: {"scripted": point})
