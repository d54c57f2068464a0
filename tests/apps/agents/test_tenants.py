"""The tenants of an endpoint, for those who run the host."""

import pytest

from gateleg.apps.agents.errors import NotAHostOperator
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.tenancy import Context, RequestedTenant, assemble
from gateleg.apps.agents.tenants import list_tenants
from gateleg.host import Principal, Role
from gateleg.store import AsyncStore
from tests.apps.agents.conftest import SETTINGS, context_of


async def _agent(store: AsyncStore, part: str, endpoint: str = "aws-prod") -> None:
    partition = Partition(endpoint_id=endpoint, part_id=part)
    await store.create(Agent(partition=partition, agent_uuid="agent-1", agent_name="A", llm_provider="local", llm_name="small"))


async def _listed(store: AsyncStore, context: Context) -> list[str]:
    found: list[str] = []
    page = await list_tenants(store, context)
    while True:
        found += [one.part_id for one in page.items]
        if page.next is None:
            return found
        page = await list_tenants(store, context, page.next)


async def test_every_tenant_is_listed_once_latest_change_first(store: AsyncStore, admin: Context) -> None:
    for number in range(120):
        await _agent(store, f"tenant-{number % 60:02d}")
    await _agent(store, "elsewhere", endpoint="other")
    assert await _listed(store, admin) == [f"tenant-{number:02d}" for number in reversed(range(60))]
    other = assemble(admin.principal, SETTINGS, RequestedTenant(endpoint_id="other"))
    assert await _listed(store, other) == ["elsewhere"]


@pytest.mark.parametrize(
    "context",
    [context_of("ann", "acme"), context_of("vera", None, Role.VIEWER), assemble(Principal("olga", Role.ADMIN, tenant="acme"), SETTINGS)],
)
async def test_nobody_else_sees_which_tenants_there_are(store: AsyncStore, context: Context) -> None:
    with pytest.raises(NotAHostOperator):
        await list_tenants(store, context)
