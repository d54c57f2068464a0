"""`gateleg agents`: create agents, list them and chat with one, with or without a running host."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateleg.commands import ConfigOption, JsonOption, StoreOption, fail, open_resources, print_json, require_packages, settings_from

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources
    from gateleg.host.settings import Settings

app = typer.Typer(help="Create agents and chat with them.", no_args_is_help=True, add_completion=False)

PartOption = Annotated[str | None, typer.Option("--part", help="The tenant (part_id); by default the endpoint's own.")]
AgentArgument = Annotated[
    str | None, typer.Argument(metavar="[AGENT]", help="The name or id of an agent; may be omitted if there is only one.")
]
_PROMPT = "> "


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The name of the agent.")],
    instructions: Annotated[str, typer.Option("--instructions", "-i", help="The instructions (system prompt) of the agent.")] = "",
    model: Annotated[str, typer.Option("--model", help="local, or provider:model, such as anthropic:claude-x.")] = "local",
    tool: Annotated[
        list[str] | None, typer.Option("--tool", help="A tool of an application, or all of one, such as delphi.*; may be repeated.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="The maximum number of tokens in an answer.")] = None,
    part: PartOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Create an agent."""
    _require()
    settings = settings_from(config, store=store)
    chosen = {"tools": tool, "max_tokens": max_tokens}
    made = asyncio.run(_made(settings, part, name, instructions, model, {key: value for key, value in chosen.items() if value}))
    typer.echo(f"{made.agent_name}: {made.agent_uuid}")


@app.command("list")
def list_them(part: PartOption = None, json: JsonOption = False, store: StoreOption = None, config: ConfigOption = None) -> None:
    """List the agents of a tenant with their names in chat, the OpenAI API and MCP."""
    _require()
    agents = asyncio.run(_listed(settings_from(config, store=store), part))
    if json:
        print_json([{"name": name, "agentUuid": one.agent_uuid, "title": one.agent_name} for name, one in agents.items()])
        return
    for name, one in agents.items():
        typer.echo(f"{name:<30}{one.llm_provider}/{one.llm_name:<20}{one.agent_description or ''}")


@app.command()
def chat(
    agent: AgentArgument = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Send this message, print the answer, and exit.")] = None,
    thread: Annotated[str | None, typer.Option("--thread", help="Continue a thread.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve every tool call that needs approval.")] = False,
    part: PartOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Chat with an agent. Answers and tool calls are printed as they arrive.

    If no worker is running, this command runs the agent itself.
    """
    _require()
    from gateleg.errors import GatelegError

    try:
        failed = asyncio.run(_chat(settings_from(config, store=store), part, agent, message, thread, yes=yes))
    except GatelegError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if failed:
        raise typer.Exit(1)


def _require() -> None:
    from gateleg.apps.agents.extra_packages import PACKAGES

    require_packages("agents", *PACKAGES)


@asynccontextmanager
async def _opened(
    settings: "Settings", part: str | None, *, create: bool = False
) -> AsyncIterator[tuple["Resources[AgentsSettings]", "Context"]]:
    from gateleg.apps.agents.application import application
    from gateleg.apps.agents.tenancy import RequestedTenant, assemble
    from gateleg.host import LOCAL

    async with open_resources(application, settings, create=create) as resources:
        yield resources, assemble(LOCAL, resources.settings, RequestedTenant(part_id=part))


async def _made(settings: "Settings", part: str | None, name: str, instructions: str, model: str, configuration: dict[str, Any]) -> "Agent":
    from gateleg.apps.agents.catalogue import save_llm
    from gateleg.apps.agents.running.handlers.registry import find_handler
    from gateleg.apps.agents.running.local_model import LOCAL_LLM
    from gateleg.apps.agents.save_checks import save_agent

    async with _opened(settings, part, create=True) as (resources, context):
        provider, _, named = model.partition(":")
        llm = LOCAL_LLM if provider == "local" else (provider, named or provider)
        if provider != "local":
            handler = find_handler(provider, resources.settings.handlers)
            known = {"module_name": handler.__module__, "class_name": handler.__name__}
            await save_llm(resources.store, context, {"llm_provider": llm[0], "llm_name": llm[1], **known, "updated_by": "cli"})
        if named and provider != "local":
            configuration = {**configuration, "model": named}
        values = {
            "agent_name": name,
            "instructions": instructions or None,
            "llm_provider": llm[0],
            "llm_name": llm[1],
            "configuration": configuration,
            "updated_by": "cli",
        }
        return await save_agent(resources, context, values)


async def _listed(settings: "Settings", part: str | None) -> "dict[str, Agent]":
    from gateleg.apps.agents.running.directory import list_agents

    async with _opened(settings, part) as (resources, context):
        return await list_agents(resources.store, context.partition)


async def _chat(settings: "Settings", part: str | None, name: str | None, message: str | None, thread: str | None, *, yes: bool) -> bool:
    """Chat until the user enters an empty line. Returns whether the run of a single message failed."""
    from gateleg.apps.agents.chat_session import ChatSession

    async with _opened(settings, part) as (resources, context), _working(resources):
        agent = await _chosen(resources, context, name)
        talk = ChatSession(resources, context, agent, _shown, _approval(yes=yes), thread)
        if message is not None:
            return not await talk.send(message)
        typer.echo(f"Chatting with {agent.agent_name}. Enter an empty line to exit.", err=True)
        while text := (await asyncio.to_thread(_line)).strip():
            await talk.send(text)
        if talk.thread_uuid is not None:
            typer.echo(f"gateleg agents chat {agent.agent_uuid} --thread {talk.thread_uuid}", err=True)
    return False


def _line() -> str:
    try:
        return input(_PROMPT)
    except EOFError:
        return ""


def _shown(text: str, *, aside: bool = False) -> None:
    typer.echo(text, nl=False, err=aside)


def _approval(*, yes: bool) -> Any:
    async def approve(name: str, arguments: str) -> bool:
        if yes:
            return True
        return await asyncio.to_thread(typer.confirm, f"Call {name} with {arguments}?", err=True)

    return approve


async def _chosen(resources: "Resources[AgentsSettings]", context: "Context", name: str | None) -> "Agent":
    from gateleg.apps.agents.running.directory import find_named_agent, list_agents

    if name is not None:
        return await find_named_agent(resources.store, context.partition, name)
    agents = await list_agents(resources.store, context.partition)
    if not agents:
        fail("there are no agents. Create one with `gateleg agents new NAME`.")
    if len(agents) > 1:
        fail(f"there are several agents. Name one of: {', '.join(agents)}.")
    return next(iter(agents.values()))


@asynccontextmanager
async def _working(resources: "Resources[AgentsSettings]") -> AsyncIterator[None]:
    """Run a worker in this process, unless one with the agents application is running, which also has the tools of other applications."""
    from gateleg.apps.agents.running.job_types import QUEUE
    from gateleg.jobs import Worker

    if any(QUEUE in one.queues and one.state == "running" for one in await resources.queue.workers()):
        yield
        return
    # The user sees the errors of runs; the worker's own log lines would only disturb the chat.
    logging.getLogger("gateleg.jobs").setLevel(logging.CRITICAL)
    worker = Worker(resources.queue, queues={QUEUE: 1}, concurrency=2, capture=False, drain_seconds=2.0)
    running = asyncio.ensure_future(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await running
