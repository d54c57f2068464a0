"""A tenant's agents by model name: the models of the OpenAI API and the tools of MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.model_names import find_by_name, named_pointers
from gateleg.apps.agents.running.agents import active_agent
from gateleg.apps.agents.tables import Agent, VersionPointer, is_identifier

if TYPE_CHECKING:
    from gateleg.apps.agents.partitions import Partition
    from gateleg.store import AsyncStore

__all__ = ["find_named_agent", "list_agents"]

#: Maximum agents that are listed for a tenant. All others are found by their names, too.
_MAX_AGENTS = 500


async def list_agents(store: AsyncStore, partition: Partition) -> dict[str, Agent]:
    """The active versions of a tenant's agents by model name, sorted by it."""
    pointers = await named_pointers(store, partition, _MAX_AGENTS)
    refs = [Agent.key(partition=partition, agent_version_uuid=one.active_version_uuid) for one in pointers]
    agents = await store.batch_get(refs, consistent=True) if refs else []
    return {str(one.model_name): agent for one, agent in zip(pointers, agents, strict=True) if agent is not None}


async def find_named_agent(store: AsyncStore, partition: Partition, name: str) -> Agent:
    """Find an agent by model name, by its id, or by the title that its name was made from. Raises `NotFoundInPartition`."""
    agent_uuid = await find_by_name(store, partition, name)
    if agent_uuid is None and is_identifier(name):
        pointer = await store.find(VersionPointer, partition=partition, kind="agent", logical_uuid=name, consistent=True)
        agent_uuid = None if pointer is None else name
    if agent_uuid is not None:
        return await active_agent(store, partition, agent_uuid)
    names = [str(one.model_name) for one in await named_pointers(store, partition, _MAX_AGENTS)]
    known = f"The tenant's agents are: {', '.join(names[:20])}." if names else "The tenant has no agents yet."
    raise NotFoundInPartition(f"There is no agent {name!r}. {known}")
