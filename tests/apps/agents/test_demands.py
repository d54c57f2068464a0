"""The demands of the public design on data that no other test has in its name: 5, 6, 13 and 19. The others are beside what they are about.

1 to 4 and 17 are in `test_tenancy`, 7 to 12 in `test_tables`, 18, 20 and 21 in `migrations/test_partition_keys`; 14 to 17 are about
handlers and MCP, in `running`.
"""

import inspect
from typing import Any

import pytest

from gateleg.apps.agents import service
from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import Agent
from gateleg.apps.agents.tenancy import Context, RequestedTenant, assemble
from gateleg.apps.agents.versions import AGENTS, create_first
from gateleg.host import Principal, Role
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from tests.apps.agents.conftest import Interleaving

HELPER = {"agent_name": "Helper", "llm_provider": "local", "llm_name": "small"}


@pytest.fixture(autouse=True)
async def llm(store: AsyncStore) -> None:
    await store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))


def test_demand_5_the_connection_is_in_the_context() -> None:
    ann, settings = Principal("ann", Role.MEMBER, tenant="acme"), AgentsSettings()
    assert assemble(ann, settings).connection_id is None
    assert assemble(ann, settings, RequestedTenant(connection_id="socket-9")).connection_id == "socket-9"


async def test_demand_6_what_is_created_has_the_key_and_both_of_its_parts(store: AsyncStore, ann: Context) -> None:
    agent = await create_first(store, ann, AGENTS, HELPER)
    item = spec_of(Agent).encode(agent)
    endpoint_id, part_id = item["partition_key"]["S"].split("#", 1)
    assert (item["endpoint_id"]["S"], item["part_id"]["S"]) == (endpoint_id, part_id) == ("aws-prod", "acme")


def test_demand_13_every_use_case_takes_its_partition_from_the_context() -> None:
    without = {"differences"}
    for name in set(service.__all__) - without:
        parameters = list(inspect.signature(getattr(service, name)).parameters)
        assert "context" in parameters[:3], f"{name} has no context"
        assert not {"partition", "partition_key", "endpoint_id", "part_id"} & set(parameters), f"{name} takes another place"


async def test_demand_13_loaders_read_by_partition_and_id_in_one_batch(
    store: AsyncStore, network: Interleaving, ann: Context, eve: Context
) -> None:
    made = [await create_first(store, ann, AGENTS, HELPER) for _ in range(3)]
    loader = store.using(network).scope(ann.partition).loader(Agent)
    wanted = [one.agent_version_uuid for one in made]
    found = await loader.load_many([Agent.key(partition=ann.partition, agent_version_uuid=uuid) for uuid in wanted])
    assert [one.agent_version_uuid for one in found if one is not None] == wanted
    assert network.calls == ["BatchGetItem"]
    foreign = store.scope(eve.partition).loader(Agent)
    assert await foreign.load(agent_version_uuid=wanted[0]) is None


async def test_demand_19_a_request_creates_reads_changes_and_deletes_within_its_partition(
    store: AsyncStore, secrets: Any, ann: Context
) -> None:
    assert ann.partition_key == str(Partition(endpoint_id="aws-prod", part_id="acme")) == "aws-prod#acme"
    created = await service.save_agent(store, secrets, ann, HELPER)
    fetched = await service.find_agent(store, ann, agent_version_uuid=created.agent_version_uuid)
    assert fetched == created
    assert created.partition == ann.partition
    changed = await service.save_agent(store, secrets, ann, {"agent_version_uuid": created.agent_version_uuid, "agent_name": "Renamed"})
    assert (changed.agent_name, changed.agent_uuid) == ("Renamed", created.agent_uuid)
    assert await service.delete_agent(store, secrets, ann, created.agent_version_uuid)
    assert await service.find_agent(store, ann, agent_uuid=created.agent_uuid) is None
