"""`/mcp/agents`: the agents of a tenant as tools of the Model Context Protocol, over streamable HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.errors import MissingField
from gateleg.apps.agents.running.directory import find_named_agent, list_agents
from gateleg.apps.agents.running.frame_stream import wait_for_run
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import RunStatus
from gateleg.apps.agents.web.contexts import context_of
from gateleg.errors import GatelegError
from gateleg.host import Surface

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.host import Resources

__all__ = ["mcp_surface"]

_INPUT = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "The message to the agent."},
        "thread_uuid": {"type": "string", "description": "The thread of an earlier answer, to continue it."},
    },
    "required": ["message"],
}


def mcp_surface(resources: Resources[AgentsSettings]) -> Surface:
    """The surface at `/mcp/agents`."""
    # Imported here, so that declaring the application does not load MCP.
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        context = context_of(ctx.request, resources)
        agents = await list_agents(resources.store, context.partition)
        return types.ListToolsResult(tools=[_tool(name, agent) for name, agent in agents.items()])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            context = context_of(ctx.request, resources)
            run, text = await _answer(resources, context, params.name, params.arguments or {})
        except GatelegError as error:
            text = error.public_text
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
        found = {"thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid, "status": str(run.status), "answer": text}
        failed = run.status is not RunStatus.COMPLETED
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=found, is_error=failed)

    server: Server[Any] = Server("gateleg-agents", on_list_tools=list_tools, on_call_tool=call_tool)
    # The host has checked the Origin and Host headers of each request.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(streamable_http_path="/", json_response=True, stateless_http=True, transport_security=security)
    return Surface("/mcp/agents", app, body_limit=1_000_000)


def _tool(name: str, agent: Agent) -> Any:
    import mcp_types as types

    description = agent.agent_description or f"Ask the agent {agent.agent_name}."
    return types.Tool(name=name, title=agent.agent_name, description=description, input_schema=_INPUT)


async def _answer(resources: Resources[AgentsSettings], context: Context, name: str, arguments: dict[str, Any]) -> tuple[Run, str]:
    """Ask an agent by its tool name, and wait for its answer."""
    agent = await find_named_agent(resources.store, context.partition, name)
    message, thread = arguments.get("message"), arguments.get("thread_uuid")
    if not isinstance(message, str) or not message.strip():
        raise MissingField("message must be a non-empty string.", fix="Send the message to the agent as `message`.")
    question = Question(
        agent_uuid=agent.agent_uuid,
        user_query=message,
        thread_uuid=str(thread) if thread else None,
        updated_by=context.principal.name,
    )
    asked = await ask(resources, context, question)
    run = await wait_for_run(resources, context, asked.thread_uuid, asked.run_uuid)
    if run.status is RunStatus.COMPLETED:
        transcript = await read_run(resources.store, run.partition, run.thread_uuid, run.run_uuid)
        return run, transcript.messages[-1].message
    if run.status is RunStatus.REQUIRES_ACTION:
        return run, f"The run {run.run_uuid} of the thread {run.thread_uuid} is waiting for approval of tool calls."
    return run, run.error or f"The run is {run.status}."
