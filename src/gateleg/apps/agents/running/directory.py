"""A tenant's agents by slug: the model names of the OpenAI API and the tool names of MCP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.tables import Agent, VersionPointer

if TYPE_CHECKING:
    from gateleg.apps.agents.partitions import Partition
    from gateleg.store import AsyncStore

__all__ = ["find_named_agent", "list_agents", "slug_of"]

#: Maximum agents that are listed for a tenant.
_MAX_AGENTS = 500
_NON_SLUG_CHARACTERS = re.compile(r"[^a-z0-9]+")


def slug_of(name: str) -> str:
    """Convert a name to lower-case letters, digits and underscores."""
    return _NON_SLUG_CHARACTERS.sub("_", name.lower()).strip("_")[:60] or "agent"


async def list_agents(store: AsyncStore, partition: Partition) -> dict[str, Agent]:
    """The active versions of a tenant's agents by unique slug, in order of creation."""
    question = VersionPointer.of_kind(partition=partition, kind="agent")
    pointers = [one async for one in store.query(question, limit=_MAX_AGENTS)]
    refs = [Agent.key(partition=partition, agent_version_uuid=one.active_version_uuid) for one in pointers]
    agents = [one for one in await store.batch_get(refs) if one is not None] if refs else []
    found: dict[str, Agent] = {}
    for agent in sorted(agents, key=lambda one: (one.created_at, one.agent_uuid)):
        name, number = slug_of(agent.agent_name), 2
        while name in found:
            name = f"{slug_of(agent.agent_name)}_{number}"
            number += 1
        found[name] = agent
    return found


async def find_named_agent(store: AsyncStore, partition: Partition, name: str) -> Agent:
    """Find an agent by slug or id. Raises `NotFoundInPartition`, which lists the known slugs."""
    pointer = await store.find(VersionPointer, partition=partition, kind="agent", logical_uuid=name) if _is_id(name) else None
    if pointer is not None:
        return await store.get(Agent, partition=partition, agent_version_uuid=pointer.active_version_uuid)
    agents = await list_agents(store, partition)
    found = agents.get(name) or next((one for one in agents.values() if one.agent_name == name), None)
    if found is None:
        known = f"The tenant's agents are: {', '.join(list(agents)[:20])}." if agents else "The tenant has no agents yet."
        raise NotFoundInPartition(f"There is no agent {name!r}. {known}")
    return found


def _is_id(name: str) -> bool:
    return 0 < len(name) <= 128 and "#" not in name and name.isprintable()
