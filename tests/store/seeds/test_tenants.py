"""Nine tables under a tenant's composite partition: lookups, local indexes, scope and loaders."""

from typing import Any

import pytest

from gateleg.model import ModelError, spec_of
from gateleg.model.errors import ConsistentOnGlobal, DelimiterInValue
from gateleg.store import OutOfScope, Store
from tests.model.seeds.agents import TENANT_ITEMS, Agent, Partition, TenantItem, Thread

TABLES = [spec_of(entity).table for entity in TENANT_ITEMS]
ACME = Partition(endpoint_id="aws-prod", part_id="acme")
GLOBEX = Partition(endpoint_id="aws-prod", part_id="globex")


@pytest.fixture(autouse=True)
def _tables(store: Store, request: pytest.FixtureRequest) -> None:
    # Nine tables with fifty indexes take a while on a disk: a test of one entity gets that one's.
    entity = getattr(request.node, "callspec", None) and request.node.callspec.params.get("entity")
    store.create_tables(*([spec_of(entity).table] if entity else TABLES))


def item(entity: type[TenantItem], partition: Partition, name: str) -> TenantItem:
    sort = spec_of(entity).key.range[0].names[0]
    values: dict[str, Any] = {source: name for source in spec_of(entity).attributes if source not in ("partition", "updated_at")}
    return entity(**{**values, "partition": partition, sort: name})


def agent(partition: Partition, version: str, of: str = "a1") -> Agent:
    return Agent(partition=partition, agent_version_uuid=version, agent_uuid=of, agent_name="Ada")


@pytest.mark.parametrize("entity", TENANT_ITEMS)
def test_item_is_found_by_partition_and_id(store: Store, entity: type[TenantItem]) -> None:
    sort = spec_of(entity).key.range[0].names[0]
    stored = store.put(item(entity, ACME, "i1"))
    components: dict[str, Any] = {sort: "i1"}
    assert store.get(entity, partition=ACME, **components) == stored
    assert store.find(entity, partition=GLOBEX, **components) is None


@pytest.mark.parametrize("entity", TENANT_ITEMS)
def test_items_of_a_tenant_are_found_by_each_local_index(store: Store, entity: type[TenantItem]) -> None:
    for partition in (ACME, GLOBEX):
        store.put(item(entity, partition, "i1"))
    for pattern in (entity.in_partition, entity.by_endpoint_id, entity.by_part_id, entity.by_update):
        found = list(store.query(pattern, partition=ACME, consistent=True))
        assert [each.partition for each in found] == [ACME]


@pytest.mark.parametrize("entity", TENANT_ITEMS)
def test_items_of_an_endpoint_are_found_over_all_its_tenants(store: Store, entity: type[TenantItem]) -> None:
    for partition in (ACME, GLOBEX, Partition(endpoint_id="other")):
        store.put(item(entity, partition, "i1"))
    found = {each.partition for each in store.query(entity.of_endpoint, endpoint_id="aws-prod")}
    assert found == {ACME, GLOBEX}


def test_versions_of_an_agent_are_read_consistently_from_a_local_index(store: Store) -> None:
    for version, of in (("v1", "a1"), ("v2", "a1"), ("v3", "a2")):
        store.put(agent(ACME, version, of))
    found = store.query(Agent.versions, partition=ACME, agent_uuid="a1", consistent=True)
    assert [each.agent_version_uuid for each in found] == ["v1", "v2"]


def test_consistent_reads_of_a_global_index_are_refused_before_anything_is_sent(store: Store) -> None:
    with pytest.raises(ConsistentOnGlobal):
        store.query(Agent.of_endpoint, endpoint_id="aws-prod", consistent=True)


def test_missing_part_falls_back_to_the_endpoint(store: Store) -> None:
    stored = store.put(agent(Partition(endpoint_id="aws-prod"), "v1"))
    assert stored.partition.part_id == "aws-prod"
    assert store.get(Agent, endpoint_id="aws-prod", agent_version_uuid="v1") == stored


def test_agent_older_than_parts_belongs_to_the_endpoint_and_to_no_tenant(store: Store) -> None:
    item = {
        "partition_key": {"S": "aws-prod"},
        "endpoint_id": {"S": "aws-prod"},
        "agent_version_uuid": {"S": "v1"},
        "agent_uuid": {"S": "a1"},
        "agent_name": {"S": "Ada"},
        "updated_at": {"S": "2025-01-01T00:00:00.000000Z"},
    }
    store.transport.call("PutItem", {"TableName": store.setup.name_of(spec_of(Agent).table), "Item": item})
    assert store.get(Agent, endpoint_id="aws-prod", agent_version_uuid="v1").partition == Partition(endpoint_id="aws-prod")
    assert store.scope(ACME).find(Agent, agent_version_uuid="v1") is None


def test_delimiter_in_an_endpoint_is_refused() -> None:
    with pytest.raises(DelimiterInValue):
        Partition(endpoint_id="aws#prod", part_id="acme")


def test_scope_supplies_the_partition(store: Store) -> None:
    acme = store.scope(ACME)
    stored = acme.put(agent(ACME, "v1"))
    assert acme.get(Agent, agent_version_uuid="v1") == stored
    assert list(acme.query(Agent.versions, agent_uuid="a1", consistent=True)) == [stored]
    assert acme.count(Agent.in_partition) == 1
    assert acme.page(Agent.by_update, limit=5).items == [stored]
    assert list(acme.query(acme.ask(Agent.in_partition).filter(Agent.agent_name == "Ada"))) == [stored]


def test_scope_does_not_see_other_tenants(store: Store) -> None:
    store.put(agent(GLOBEX, "v1"))
    acme = store.scope(ACME)
    assert acme.find(Agent, agent_version_uuid="v1") is None
    assert list(acme.query(Agent.in_partition)) == []


def test_scope_cannot_be_left(store: Store) -> None:
    acme = store.scope(ACME)
    theirs = store.put(agent(GLOBEX, "v1"))
    with pytest.raises(OutOfScope):
        acme.put(agent(GLOBEX, "v2"))
    with pytest.raises(OutOfScope):
        acme.get(Agent, partition=GLOBEX, agent_version_uuid="v1")
    with pytest.raises(OutOfScope):
        acme.get(theirs)
    with pytest.raises(OutOfScope):
        acme.delete(theirs)
    with pytest.raises(OutOfScope):
        acme.patch(theirs.key, Agent.agent_name.set("Eve"))
    with pytest.raises(OutOfScope):
        acme.query(Agent.in_partition(partition=GLOBEX))
    with pytest.raises(OutOfScope):
        acme.batch_get([theirs.key])
    with pytest.raises(OutOfScope):
        acme.transact_get([theirs.key])
    with pytest.raises(OutOfScope), acme.transaction() as tx:
        tx.delete(theirs)
    with pytest.raises(OutOfScope):
        acme.scope(GLOBEX)
    assert store.get(theirs) == theirs


def test_scope_refuses_an_index_that_crosses_tenants(store: Store) -> None:
    with pytest.raises(OutOfScope, match="part_id"):
        store.scope(ACME).query(Agent.of_endpoint, endpoint_id="aws-prod")


def test_scope_refuses_whole_tables(store: Store) -> None:
    acme = store.scope(ACME)
    with pytest.raises(OutOfScope):
        acme.scan(TABLES[0])
    with pytest.raises(OutOfScope):
        acme.export(Agent)
    with pytest.raises(OutOfScope):
        acme.delete_tables(*TABLES)


def test_scope_may_be_narrowed(store: Store) -> None:
    endpoint = store.scope(endpoint_id="aws-prod")
    acme = endpoint.scope(ACME)
    stored = acme.put(agent(ACME, "v1"))
    assert acme.get(Agent, agent_version_uuid="v1") == stored
    assert list(endpoint.query(Agent.of_endpoint)) == [stored]


def test_loader_of_a_scope_reads_each_item_once_in_order(store: Store) -> None:
    acme = store.scope(ACME)
    acme.batch_write([agent(ACME, f"v{number}") for number in range(120)])
    loader = acme.loader(Agent)
    refs = [Agent.key(partition=ACME, agent_version_uuid=f"v{number % 120}") for number in range(150)]
    found = loader.load_many(refs)
    assert [each.agent_version_uuid for each in found if each] == [f"v{number % 120}" for number in range(150)]
    assert loader.load(agent_version_uuid="nobody") is None
    assert loader.load(agent_version_uuid="v7") is found[7]


def test_loader_of_a_scope_refuses_other_tenants(store: Store) -> None:
    with pytest.raises(OutOfScope):
        store.scope(ACME).loader(Agent).load_many([Agent.key(partition=GLOBEX, agent_version_uuid="v1")])


def test_thread_without_a_scope_needs_its_partition(store: Store) -> None:
    with pytest.raises(ModelError, match="partition"):
        store.get(Thread, thread_uuid="t1")
