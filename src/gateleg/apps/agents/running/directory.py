"""The agents of a tenant by the names that other programs call them by: models of OpenAI's API, tools of MCP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.tables import Agent, VersionPointer

if TYPE_CHECKING:
    from gateleg.apps.agents.tenancy import Partition
    from gateleg.store import AsyncStore

__all__ = ["find_named_agent", "list_agents", "slug_of"]

#: Agents of a tenant that are offered at most.
_MOST = 500
_UNFIT = re.compile(r"[^a-z0-9]+")


def slug_of(name: str) -> str:
    """A name in lower-case letters, digits and underscores."""
    return _UNFIT.sub("_", name.lower()).strip("_")[:60] or "agent"


async def list_agents(store: AsyncStore, partition: Partition) -> dict[str, Agent]:
    """The active versions of a tenant's agents, each under a name of its own, in the order of their making."""
    question = VersionPointer.of_kind(partition=partition, kind="agent")
    pointers = [one async for one in store.query(question, limit=_MOST)]
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
    """The agent of a name or an id. Raises `NotFoundInPartition`, with the names that there are."""
    pointer = await store.find(VersionPointer, partition=partition, kind="agent", logical_uuid=name) if _is_id(name) else None
    if pointer is not None:
        return await store.get(Agent, partition=partition, agent_version_uuid=pointer.active_version_uuid)
    agents = await list_agents(store, partition)
    found = agents.get(name) or next((one for one in agents.values() if one.agent_name == name), None)
    if found is None:
        known = ", ".join(list(agents)[:20]) or "none"
        raise NotFoundInPartition(f"There is no agent {name!r}; agents: {known}.")
    return found


def _is_id(name: str) -> bool:
    return 0 < len(name) <= 128 and "#" not in name and name.isprintable()
