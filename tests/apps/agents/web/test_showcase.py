"""What the overview and the search of the console show of agents: what the caller's tenant has."""

from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import Agent, McpServer, VersionStatus
from gateleg.apps.agents.tenancy import Context
from gateleg.apps.agents.web.showcase import find_by_name, newest_agents
from gateleg.store import AsyncStore
from tests.apps.agents.conftest import context_of


async def _agent(store: AsyncStore, part: str, name: str, uuid: str, status: VersionStatus = VersionStatus.ACTIVE) -> None:
    partition = Partition(endpoint_id="aws-prod", part_id=part)
    await store.create(Agent(partition=partition, agent_uuid=uuid, agent_name=name, llm_provider="local", llm_name="small", status=status))


async def found(store: AsyncStore, context: Context, text: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.title, one.href) for one in await find_by_name(store, context, text)]


async def test_tiles_and_search_show_the_callers_tenant_alone(store: AsyncStore) -> None:
    await _agent(store, "acme", "Harbour guide", "guide")
    await _agent(store, "acme", "Harbour guide of last year", "old", status=VersionStatus.INACTIVE)
    await _agent(store, "globex", "Harbour master", "master")
    partition = Partition(endpoint_id="aws-prod", part_id="acme")
    await store.create(
        McpServer(partition=partition, mcp_server_uuid="tides", mcp_label="HARBOUR tides", mcp_server_url="https://x.example/mcp")
    )
    ann, gil = context_of("ann", "acme"), context_of("gil", "globex")
    assert [(one.title, one.href) for one in await newest_agents(store, ann)] == [("Harbour guide", "/agents/agent/guide")]
    assert await found(store, ann, "harbour") == [
        ("Agent", "Harbour guide", "/agents/agent/guide"),
        ("Tool server", "HARBOUR tides", "/agents/server/tides"),
    ]
    assert await found(store, gil, "harbour") == [("Agent", "Harbour master", "/agents/agent/master")]
    assert await found(store, gil, "guide") == []
