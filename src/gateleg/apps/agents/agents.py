"""Use cases: versioned agents.

An agent with a flow version is composed from it when it is saved: its instructions are the flow's prompt, rendered with the flow and the
agent's variables; the prompt's MCP servers are added to its own; and the flow's enabled tools go into its configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.configurations import check_configuration
from gateleg.apps.agents.errors import UnknownReference
from gateleg.apps.agents.listing import matching
from gateleg.apps.agents.rendering import render, values_of
from gateleg.apps.agents.secret_references import AGENT, delete_secrets, restore_hidden, secret_prefix, storing_secrets
from gateleg.apps.agents.tables import Agent, new_id
from gateleg.apps.agents.version_lists import IndexLookup, VersionFilter, list_versions
from gateleg.apps.agents.versions import (
    AGENTS,
    FLOWS,
    PROMPTS,
    create_first,
    create_next,
    delete_version,
    duplicate,
    find_active,
    find_pointer,
    find_version,
    get_version,
    update_version,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from gateleg.apps.agents.listing import Listing, Paging
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host.secrets import Secrets
    from gateleg.store import AsyncStore

#: Configuration member with the tools of the agent's flow.
ENABLED_TOOLS = "enabled_tools"


async def find_agent(
    store: AsyncStore, context: Context, *, agent_uuid: str | None = None, agent_version_uuid: str | None = None
) -> Agent | None:
    """Find the active version of an agent, or one version by its own id."""
    if agent_uuid:
        return await find_active(store, context, AGENTS, agent_uuid)
    return await find_version(store, context, AGENTS, agent_version_uuid) if agent_version_uuid else None


async def list_agents(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    agent_uuid: str | None = None,
    agent_name: str | None = None,
    llm_provider: str | None = None,
    llm_name: str | None = None,
    model: str | None = None,
    statuses: Sequence[str] | None = None,
    flow_snippet_version_uuid: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[Agent]:
    """List versions of agents, latest change first."""
    conditions = matching(Agent, {"llm_provider": llm_provider, "llm_name": llm_name})
    if model:
        conditions.append(Agent.configuration["model"] == model)
    wanted = VersionFilter(agent_uuid, agent_name, statuses, updated_at_gt, updated_at_lt)
    flow = IndexLookup("of_flow", "flow_snippet_version_uuid", flow_snippet_version_uuid)
    return await list_versions(store, context, AGENTS, paging, wanted, flow, conditions=conditions, newest_first=True)


async def save_agent(
    store: AsyncStore,
    secrets: Secrets,
    context: Context,
    values: Mapping[str, Any],
    *,
    copied: bool = False,
    check: Callable[[Agent], Awaitable[None]] | None = None,
) -> Agent:
    """Create an agent, add a version (`agent_uuid`), change a version (`agent_version_uuid`), or with `copied` duplicate it.

    `check` receives the agent as it would be stored, and raises to refuse it.
    """
    check_editor(context)
    version = values.get("agent_version_uuid")
    original = await get_version(store, context, AGENTS, version) if version else None
    known = values.get("agent_uuid") if original is None else original.agent_uuid
    agent_uuid = known if known and not copied else f"agent-{new_id()}"

    async def complete(agent: Agent) -> Agent:
        composed = await compose(store, context, agent) if values.get("flow_snippet_version_uuid") else agent
        await check_configuration(store, composed)
        if check is not None:
            await check(composed)
        return composed

    async with storing_secrets(secrets, context, secret_prefix(AGENT, agent_uuid)) as keeper:
        if copied and original is not None:
            own = await keeper.copy(original.configuration, secret_prefix(AGENT, original.agent_uuid))
            changed = {"configuration": own, "agent_uuid": agent_uuid, "updated_by": values.get("updated_by")}
            return await duplicate(store, context, AGENTS, original.agent_version_uuid, changed)
        given = dict(values)
        if given.get("configuration"):
            before = original if original is not None else await find_active(store, context, AGENTS, agent_uuid)
            whole = restore_hidden(given["configuration"], {} if before is None else before.configuration)
            given["configuration"] = await keeper.conceal(whole)
        if original is not None:
            return await update_version(store, context, AGENTS, original.agent_version_uuid, given, complete)
        if known:
            return await create_next(store, context, AGENTS, agent_uuid, given, complete=complete)
        return await create_first(store, context, AGENTS, {**given, "agent_uuid": agent_uuid}, complete)


async def compose(store: AsyncStore, context: Context, agent: Agent) -> Agent:
    """Fill in an agent's instructions, servers and tools from its flow and prompt. Raises `UnknownReference` and `MissingVariables`."""
    flow = await find_version(store, context, FLOWS, agent.flow_snippet_version_uuid or "")
    if flow is None:
        raise UnknownReference(f"There is no flow version {agent.flow_snippet_version_uuid!r}.")
    prompt = await find_active(store, context, PROMPTS, flow.prompt_uuid)
    if prompt is None:
        raise UnknownReference(f"There is no prompt {flow.prompt_uuid!r}, which the flow {flow.flow_name!r} refers to.")
    text = render(prompt.template_context, values_of(agent.variables), prompt.variables, flow.flow_context).text
    servers = [one["mcp_server_uuid"] for one in prompt.mcp_servers if one.get("mcp_server_uuid")]
    changes: dict[str, Any] = {"instructions": text, "mcp_server_uuids": list(dict.fromkeys((*agent.mcp_server_uuids, *servers)))}
    if flow.enabled_tools:
        changes["configuration"] = {**agent.configuration, ENABLED_TOOLS: list(flow.enabled_tools)}
    return agent.model_copy(update=changes)


async def delete_agent(store: AsyncStore, secrets: Secrets, context: Context, agent_version_uuid: str) -> bool:
    """Delete a version of an agent; the last one only if there are no threads. Secrets are deleted with the last version."""
    agent = await find_version(store, context, AGENTS, agent_version_uuid)
    if agent is None or not await delete_version(store, context, AGENTS, agent_version_uuid):
        return False
    if await find_pointer(store, context, AGENTS, agent.agent_uuid) is None:
        await delete_secrets(secrets, context, secret_prefix(AGENT, agent.agent_uuid))
    return True
