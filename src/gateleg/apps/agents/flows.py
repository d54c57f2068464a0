"""Use cases: versioned flows. A new version of a flow is applied to the agents that use it; a duplicate is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.agents import compose
from gateleg.apps.agents.tables import Agent, FlowSnippet, VersionStatus
from gateleg.apps.agents.version_lists import IndexLookup, VersionFilter, list_versions
from gateleg.apps.agents.versions import (
    AGENTS,
    FLOWS,
    create_first,
    create_next,
    delete_version,
    duplicate,
    find_active,
    find_version,
    update_version,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from gateleg.apps.agents.listing import Listing, Paging
    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore, WriteOperation

#: Maximum agents that are moved within the request; more are moved by a job.
FEW = 10


async def find_flow(
    store: AsyncStore, context: Context, *, flow_snippet_uuid: str | None = None, flow_snippet_version_uuid: str | None = None
) -> FlowSnippet | None:
    """Find the active version of a flow, or one version by its own id."""
    if flow_snippet_uuid:
        return await find_active(store, context, FLOWS, flow_snippet_uuid)
    return await find_version(store, context, FLOWS, flow_snippet_version_uuid) if flow_snippet_version_uuid else None


async def list_flows(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    flow_snippet_uuid: str | None = None,
    prompt_uuid: str | None = None,
    flow_name: str | None = None,
    statuses: Sequence[str] | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[FlowSnippet]:
    """List versions of flows, oldest change first."""
    wanted = VersionFilter(flow_snippet_uuid, flow_name, statuses, updated_at_gt, updated_at_lt)
    return await list_versions(store, context, FLOWS, paging, wanted, IndexLookup("of_prompt", "prompt_uuid", prompt_uuid))


async def save_flow(
    store: AsyncStore,
    context: Context,
    values: Mapping[str, Any],
    *,
    copied: bool = False,
    job: Callable[[str, str], Sequence[WriteOperation[Any]]] | None = None,
) -> FlowSnippet:
    """Create a flow, add a version (`flow_snippet_uuid`), change a version, or with `copied` duplicate it.

    A new version moves the active agents that use the previous one. If there are many, `job` (called with the ids of the previous and the
    new version) returns writes that submit a job for it in the same transaction; without `job`, all are moved here.
    """
    version = values.get("flow_snippet_version_uuid")
    if copied and version:
        return await duplicate(store, context, FLOWS, version, {"updated_by": values.get("updated_by")})
    if version:
        return await update_version(store, context, FLOWS, version, values)
    if not values.get("flow_snippet_uuid"):
        return await create_first(store, context, FLOWS, values)
    active = await find_active(store, context, FLOWS, values["flow_snippet_uuid"])
    many = active is not None and job is not None and await _users(store, context, active.flow_snippet_version_uuid) > FEW
    earlier: list[str] = []

    def also(before: FlowSnippet, after: FlowSnippet) -> Sequence[WriteOperation[Any]]:
        earlier[:] = [before.flow_snippet_version_uuid]
        return job(before.flow_snippet_version_uuid, after.flow_snippet_version_uuid) if many and job is not None else ()

    flow = await create_next(store, context, FLOWS, values["flow_snippet_uuid"], values, also=also)
    if not many:
        await move_agents(store, context, earlier[0], flow.flow_snippet_version_uuid)
    return flow


async def _users(store: AsyncStore, context: Context, version: str) -> int:
    """Count the agents that use a version of a flow, up to the limit that decides between request and job."""
    question = Agent.of_flow(partition=context.partition, flow_snippet_version_uuid=version)
    return await store.count(question.filter(Agent.status == VersionStatus.ACTIVE), limit=FEW + 1)


async def move_agents(
    store: AsyncStore, context: Context, before: str, after: str, progress: Callable[[int], Awaitable[None]] | None = None
) -> int:
    """Give every agent whose active version uses one flow version a new version with another; returns their number.

    After an interruption, a second call moves the remaining ones. Inactive versions are not changed.
    """
    moved = 0
    question = Agent.of_flow(partition=context.partition, flow_snippet_version_uuid=before)
    active = question.filter(Agent.status == VersionStatus.ACTIVE)
    async for agent in store.query(active, consistent=True):
        moved += await _moved(store, context, agent, after)
        if progress is not None:
            await progress(moved)
    return moved


async def _moved(store: AsyncStore, context: Context, agent: Agent, flow_version: str) -> bool:
    """Move one agent; False if another version of it became active in the meantime."""
    now = await find_active(store, context, AGENTS, agent.agent_uuid)
    if now is None or now.flow_snippet_version_uuid != agent.flow_snippet_version_uuid:
        return False

    async def complete(one: Agent) -> Agent:
        return await compose(store, context, one)

    values = {"flow_snippet_version_uuid": flow_version, "updated_by": context.principal.name}
    await create_next(store, context, AGENTS, agent.agent_uuid, values, complete=complete)
    return True


async def delete_flow(store: AsyncStore, context: Context, flow_snippet_version_uuid: str) -> bool:
    """Delete a version of a flow that no version of an agent uses."""
    return await delete_version(store, context, FLOWS, flow_snippet_version_uuid)
