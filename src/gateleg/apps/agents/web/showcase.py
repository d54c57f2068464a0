"""Agents on the console's overview and in its search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.agents import list_agents
from gateleg.apps.agents.flows import list_flows
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.prompts import list_prompts
from gateleg.apps.agents.servers import list_servers
from gateleg.apps.agents.web.urls import FLOW, PROMPT, SERVER, agent_place, item_place
from gateleg.host import SearchHit, Tile

if TYPE_CHECKING:
    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

_SHOWN = 4
#: How many items of each kind a search shows, and how many it reads.
_FOUND, _SEARCHED = 5, 200
_ACTIVE = ("active",)


async def newest_agents(store: AsyncStore, context: Context) -> list[Tile]:
    """The most recently changed agents of the caller's tenant."""
    found = await list_agents(store, context, Paging(limit=_SHOWN), statuses=_ACTIVE)
    return [
        Tile(one.agent_name, agent_place(context, one.agent_uuid), one.agent_description or "", at=one.updated_at) for one in found.items
    ]


async def find_by_name(store: AsyncStore, context: Context, text: str) -> list[SearchHit]:
    """Agents, prompts, flows and tool servers of the caller's tenant whose names contain a text."""
    some = Paging(limit=_SEARCHED)
    agents = await list_agents(store, context, some, statuses=_ACTIVE)
    prompts = await list_prompts(store, context, some, statuses=_ACTIVE)
    flows = await list_flows(store, context, some, statuses=_ACTIVE)
    servers = await list_servers(store, context, some)
    kinds = (
        [SearchHit(one.agent_name, agent_place(context, one.agent_uuid), "Agent", one.agent_description or "") for one in agents.items],
        [SearchHit(one.prompt_name, item_place(context, PROMPT, one.prompt_uuid), "Prompt") for one in prompts.items],
        [SearchHit(one.flow_name, item_place(context, FLOW, one.flow_snippet_uuid), "Flow") for one in flows.items],
        [SearchHit(one.mcp_label, item_place(context, SERVER, one.mcp_server_uuid), "Tool server") for one in servers.items],
    )
    return [hit for kind in kinds for hit in [one for one in kind if text.casefold() in one.title.casefold()][:_FOUND]]
