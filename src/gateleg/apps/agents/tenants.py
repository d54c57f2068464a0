"""Use cases for host operators: the tenants of an endpoint, with counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.agents.access import check_host_operator
from gateleg.apps.agents.references import AGENT, FLOW, PROMPT
from gateleg.apps.agents.tables import Agent, McpServer, Thread, VersionPointer

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore

__all__ = ["COUNTED", "TenantPage", "TenantRow", "list_tenants"]

#: Upper limit of the counts.
COUNTED = 1_000
#: Minimum tenants per page, agent versions per read, and maximum agent versions read for one page.
_PAGE_SIZE, _READ_AT_ONCE, _MAX_READ = 20, 50, 2_000


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant, with counts up to `COUNTED`."""

    part_id: str
    agents: int
    prompts: int
    flows: int
    servers: int
    threads: int
    #: time of the latest change of an agent
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class TenantPage:
    """A page of tenants. It may be empty and still have a next page."""

    items: list[TenantRow]
    next: str | None


async def list_tenants(store: AsyncStore, context: Context, cursor: str | None = None) -> TenantPage:
    """List the tenants of an endpoint that have an agent, latest change first. Raises `NotAHostOperator`.

    The index across tenants lists versions of agents; a tenant is listed where its newest version is, so it is listed once.
    """
    check_host_operator(context)
    question = Agent.of_endpoint(endpoint_id=context.endpoint_id)
    found: list[TenantRow] = []
    read = 0
    while True:
        page = await store.page(question, limit=_READ_AT_ONCE, cursor=cursor)
        read += len(page.items)
        found += [await _counted(store, one.partition, one.updated_at) for one in page.items if await _is_newest(store, one)]
        cursor = page.next
        if cursor is None or len(found) >= _PAGE_SIZE or read >= _MAX_READ:
            return TenantPage(found, cursor)


async def _is_newest(store: AsyncStore, agent: Agent) -> bool:
    newest = await store.page(Agent.by_update(partition=agent.partition), limit=1)
    return [one.agent_version_uuid for one in newest.items] == [agent.agent_version_uuid]


async def _counted(store: AsyncStore, partition: Partition, changed_at: datetime) -> TenantRow:
    async def of_kind(kind: str) -> int:
        return await store.count(VersionPointer.of_kind(partition=partition, kind=kind), limit=COUNTED)

    return TenantRow(
        part_id=partition.part_id,
        agents=await of_kind(AGENT),
        prompts=await of_kind(PROMPT),
        flows=await of_kind(FLOW),
        servers=await store.count(McpServer.in_partition(partition=partition), limit=COUNTED),
        threads=await store.count(Thread.in_partition(partition=partition), limit=COUNTED),
        changed_at=changed_at,
    )
