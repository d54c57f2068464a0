from datetime import UTC, datetime

import pytest

from gateleg.model import spec_of
from gateleg.model.errors import DelimiterInValue, MissingComponent
from gateleg.model.inspection import lint
from tests.model.seeds.agents import TENANT_ITEMS, Agent, Partition, TenantItem

ACME = Partition("aws-prod-us-east-1", "acme-corp")
AT = datetime(2025, 12, 11, tzinfo=UTC)
TEXT = "aws-prod-us-east-1#acme-corp"


def agent() -> Agent:
    return Agent(partition=ACME, agent_version_uuid="v1", agent_uuid="a1", agent_name="Ann", updated_at=AT)


def test_the_partition_is_assembled_once() -> None:
    assert str(ACME) == TEXT
    assert Partition.parse(TEXT) == ACME


@pytest.mark.parametrize("part_id", [None, ""])
def test_a_missing_part_falls_back_to_the_endpoint(part_id: str | None) -> None:
    assert Partition("aws", part_id) == Partition("aws") == Partition("aws", "aws")  # type: ignore[arg-type]  # pyright: ignore


def test_a_delimiter_in_the_endpoint_is_refused() -> None:
    with pytest.raises(DelimiterInValue):
        Partition("aws#evil", "acme")


def test_the_partition_and_its_fields_are_stored() -> None:
    item = spec_of(Agent).encode(agent())
    assert item["partition_key"] == {"S": TEXT}
    assert item["endpoint_id"] == {"S": "aws-prod-us-east-1"}
    assert item["part_id"] == {"S": "acme-corp"}
    assert spec_of(Agent).decode(item) == agent()


def test_the_key_is_made_of_the_partition_or_of_its_fields() -> None:
    expected = {"partition_key": {"S": TEXT}, "agent_version_uuid": {"S": "v1"}}
    assert Agent.key(partition=ACME, agent_version_uuid="v1").key == expected
    assert Agent.key(partition=TEXT, agent_version_uuid="v1").key == expected
    assert Agent.key(endpoint_id="aws-prod-us-east-1", part_id="acme-corp", agent_version_uuid="v1").key == expected
    assert agent().key.key == expected


def test_the_endpoint_alone_is_the_key_of_a_tenant_without_parts() -> None:
    assert Agent.key(endpoint_id="aws", agent_version_uuid="v1").key["partition_key"] == {"S": "aws#aws"}
    with pytest.raises(MissingComponent, match="endpoint_id"):
        Agent.key(part_id="acme", agent_version_uuid="v1")


def test_the_key_before_the_migration_is_known() -> None:
    ref = Agent.key(partition=ACME, agent_version_uuid="v1")
    assert ref.legacy() == [{"partition_key": {"S": "aws-prod-us-east-1"}, "agent_version_uuid": {"S": "v1"}}]


@pytest.mark.parametrize("entity", TENANT_ITEMS)
def test_every_table_has_the_partition_and_its_indexes(entity: type[TenantItem]) -> None:
    table = spec_of(entity).table
    assert table.hash == "partition_key"
    local = [index.name for index in table.indexes if index.local]
    assert {"endpoint_id-index", "part_id-index", "updated_at-index"} <= set(local)
    assert len(local) <= 5
    assert table.index("endpoint-index").hash == ("endpoint_id",)


@pytest.mark.parametrize("entity", TENANT_ITEMS)
def test_every_table_is_queried_by_partition(entity: type[TenantItem]) -> None:
    (request,) = entity.in_partition(partition=ACME).requests(consistent=True)
    assert request["KeyConditionExpression"] == "#partition_key = :0"
    assert request["ExpressionAttributeValues"] == {":0": {"S": TEXT}}


def test_the_local_indexes_read_consistently() -> None:
    (request,) = Agent.versions(partition=ACME, agent_uuid="a1").requests(consistent=True)
    assert request["IndexName"] == "agent_uuid-index"
    assert request["KeyConditionExpression"] == "#partition_key = :0 AND #agent_uuid = :1"


def test_the_documents_query_by_endpoint_within_a_partition() -> None:
    (request,) = Agent.by_endpoint_id(partition=ACME).requests()
    assert request["IndexName"] == "endpoint_id-index"
    assert request["KeyConditionExpression"].startswith("#partition_key = :0")


def test_items_of_an_endpoint_over_all_tenants() -> None:
    (request,) = Agent.of_endpoint(endpoint_id="aws-prod-us-east-1").requests()
    assert request["IndexName"] == "endpoint-index"
    assert request["KeyConditionExpression"] == "#endpoint_id = :0"


def test_lint_explains_the_indexes_that_select_nothing() -> None:
    found = [finding.where for finding in lint(spec_of(Agent).table) if finding.code == "constant-local-index"]
    assert found == ["aace-agents endpoint_id-index", "aace-agents part_id-index"]


def test_a_partition_is_text_in_json() -> None:
    assert agent().model_dump(mode="json")["partition"] == TEXT
    assert Agent.model_validate_json(agent().model_dump_json()) == agent()
