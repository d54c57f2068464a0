"""The tables as the public design has them, and what is added to them."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.apps.agents.catalogue_tables import TABLES, Llm, UiComponent, WizardSchema
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import TENANT_ITEMS, TENANT_TABLES, Agent, McpServer, TenantItem, Thread
from gateleg.apps.agents.thread_tables import THREAD_ITEMS, Message, Run
from gateleg.model import Table, spec_of
from gateleg.model.inspection import lint
from gateleg.store import NotFound, Store

ACME = Partition(endpoint_id="aws-prod", part_id="acme")
#: Table, sort key, and the local indexes of the public design beside endpoint_id-index and part_id-index.
DESIGN = {
    "aace-agents": ("agent_version_uuid", {"agent_uuid-index", "updated_at-index"}),
    "aace-threads": ("thread_uuid", {"agent_uuid-index", "updated_at-index"}),
    "aace-prompt_templates": ("prompt_version_uuid", {"prompt_uuid-index", "prompt_type-index", "updated_at-index"}),
    "aace-flow_snippets": ("flow_snippet_version_uuid", {"flow_snippet_uuid-index", "prompt_uuid-index", "updated_at-index"}),
    "aace-mcp_servers": ("mcp_server_uuid", {"updated_at-index"}),
    "aace-elements": ("element_uuid", {"data_type-index", "updated_at-index"}),
    "aace-wizards": ("wizard_uuid", {"updated_at-index"}),
    "aace-wizard_groups": ("wizard_group_uuid", {"updated_at-index"}),
    "aace-wizard_group_filters": ("wizard_group_filter_uuid", {"updated_at-index"}),
}


def local_indexes(table: Table) -> set[str]:
    return {index.name for index in table.indexes if index.local}


def test_demand_12_the_nine_tables_of_the_design_and_the_rest_of_the_engine() -> None:
    assert {table.name for table in TENANT_TABLES} == set(DESIGN)
    others = {"runs", "messages", "tool_calls", "async_tasks", "fine_tuning_messages", "llms", "ui_components", "wizard_schemas"}
    assert {table.name for table in TABLES} - set(DESIGN) == {f"aace-{name}" for name in (*others, "version_pointers", "model_names")}


@pytest.mark.parametrize("table", TENANT_TABLES, ids=lambda table: table.name)
def test_demands_7_8_and_9_keys_and_local_indexes(table: Table) -> None:
    sort, kept = DESIGN[table.name]
    assert (table.hash, table.range) == ("partition_key", sort)
    assert local_indexes(table) >= {"endpoint_id-index", "part_id-index", *kept}
    assert len(local_indexes(table)) <= 5
    definition = table.definition()
    for index in definition["LocalSecondaryIndexes"]:
        assert index["Projection"] == {"ProjectionType": "ALL"}
        assert index["KeySchema"][0] == {"AttributeName": "partition_key", "KeyType": "HASH"}
    (across,) = definition["GlobalSecondaryIndexes"]
    assert across["IndexName"] == "endpoint-index"
    assert [entry["AttributeName"] for entry in across["KeySchema"]] == ["endpoint_id", "updated_at"]


@pytest.mark.parametrize("entity", TENANT_ITEMS, ids=lambda entity: entity.__name__)
def test_demand_7_the_parts_are_stored_beside_the_partition_key(entity: type[TenantItem]) -> None:
    spec = spec_of(entity)
    values: dict[str, Any] = {
        name: "1" for name, attribute in spec.attributes.items() if entity.model_fields[name].is_required() and name != "partition"
    }
    item = spec.encode(entity(partition=ACME, **values))
    assert (item["partition_key"], item["endpoint_id"], item["part_id"]) == ({"S": "aws-prod#acme"}, {"S": "aws-prod"}, {"S": "acme"})


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_linter_finds_nothing_but_the_local_indexes_that_the_design_demands(table: Table) -> None:
    found = {(finding.code, finding.where) for finding in lint(table)}
    demanded = {("constant-local-index", f"{table.name} {name}-index") for name in ("endpoint_id", "part_id")}
    assert found == (demanded if table in TENANT_TABLES else set())


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.embedded() as store:
        store.create_tables(*TABLES)
        yield store


def test_demands_10_and_11_get_and_strongly_consistent_queries_by_endpoint_and_part(store: Store) -> None:
    agent = store.create(Agent(partition=ACME, agent_uuid="a", agent_name="A", llm_provider="local", llm_name="small"))
    assert store.get(Agent, partition=ACME, agent_version_uuid=agent.agent_version_uuid) == agent
    for pattern, part in ((Agent.by_endpoint_id, {"endpoint_id": "aws-prod"}), (Agent.by_part_id, {"part_id": "acme"})):
        question = pattern(partition=ACME, **part)
        assert [request["ConsistentRead"] for request in question.requests(consistent=True)] == [True]
        assert list(store.query(question, consistent=True)) == [agent]
    assert list(store.query(Agent.by_part_id(partition=Partition(endpoint_id="aws-prod")), consistent=True)) == []


def test_the_tenants_of_an_endpoint_are_found_across_partitions(store: Store) -> None:
    for part in ("one", "two"):
        store.create(McpServer(partition=Partition(endpoint_id="wide", part_id=part), mcp_label=part, mcp_server_url="https://x.test"))
    store.create(McpServer(partition=Partition(endpoint_id="far", part_id="one"), mcp_label="far", mcp_server_url="https://x.test"))
    assert {found.partition.part_id for found in store.query(McpServer.of_endpoint, endpoint_id="wide")} == {"one", "two"}


@pytest.mark.parametrize("entity", THREAD_ITEMS, ids=lambda entity: entity.__name__)
def test_what_happens_in_a_thread_is_keyed_by_tenant_and_thread(entity: Any) -> None:
    key = entity.key(partition=ACME, thread_uuid="t1", **{str(spec_of(entity).table.range): "x"}).key
    assert key["thread_key"] == {"S": "aws-prod#acme#t1"}


def test_history_of_a_thread_is_in_the_order_of_its_ids_and_one_bounded_query(store: Store) -> None:
    thread = store.create(Thread(partition=ACME, agent_uuid="a", owner_id="acme/ann"))
    place: dict[str, Any] = {"partition": ACME, "thread_uuid": thread.thread_uuid, "owner_id": "acme/ann"}
    run = store.create(Run(**place))
    for number in range(30):
        store.create(Message(**place, run_uuid=run.run_uuid, role="user", message=f"m{number}"))
    newest = list(store.query(Message.newest, partition=ACME, thread_uuid=thread.thread_uuid, limit=3, consistent=True))
    assert [found.message for found in newest] == ["m29", "m28", "m27"]
    assert store.get(Thread, partition=ACME, thread_uuid=thread.thread_uuid).run_count == 1
    assert store.get(Run, partition=ACME, thread_uuid=thread.thread_uuid, run_uuid=run.run_uuid).item_count == 30


def test_a_message_of_a_run_that_does_not_exist_is_refused(store: Store) -> None:
    orphan = Message(partition=ACME, thread_uuid="none", owner_id="x", run_uuid="none", role="user", message="hello")
    with pytest.raises(NotFound):
        store.create(orphan)


def test_the_catalogue_is_listed_whole_without_a_scan(store: Store) -> None:
    store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))
    store.create(UiComponent(ui_component_type="card", tag_name="x-card"))
    store.create(WizardSchema(wizard_schema_type="t", wizard_schema_name="n"))
    for entity in (Llm, UiComponent, WizardSchema):
        assert len(list(store.query(entity.everything))) == 1


def test_json_keeps_numbers_and_names(store: Store) -> None:
    configuration = {"X-Api-Key": "secret:k", "temperature": 0.5, "max_tokens": 5, "stop": [None, True, {"camelCase": 1}], "empty": {}}
    agent = store.create(
        Agent(partition=ACME, agent_uuid="j", agent_name="J", llm_provider="local", llm_name="small", configuration=configuration)
    )
    assert store.get(Agent, partition=ACME, agent_version_uuid=agent.agent_version_uuid).configuration == configuration
