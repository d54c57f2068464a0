"""Seed 003: tables of many tenants with a composite partition key and local indexes, with PynamoDB."""

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from pynamodb.attributes import UnicodeAttribute
from pynamodb.exceptions import DoesNotExist
from pynamodb.indexes import AllProjection, LocalSecondaryIndex
from pynamodb.models import Model

from tests.seeds.conftest import KEY, REGION, SECRET

TABLES = {
    "AgentModel": ("aace-agents", "agent_version_uuid"),
    "ThreadModel": ("aace-threads", "thread_uuid"),
    "PromptTemplateModel": ("aace-prompt_templates", "prompt_version_uuid"),
    "FlowSnippetModel": ("aace-flow_snippets", "flow_snippet_version_uuid"),
    "MCPServerModel": ("aace-mcp_servers", "mcp_server_uuid"),
    "ElementModel": ("aace-elements", "element_uuid"),
    "WizardModel": ("aace-wizards", "wizard_uuid"),
    "WizardGroupModel": ("aace-wizard_groups", "wizard_group_uuid"),
    "WizardGroupFilterModel": ("aace-wizard_group_filters", "wizard_group_filter_uuid"),
}


def local_index(name: str, attribute: str) -> Any:
    """A local index on an attribute, as the seed's classes have it."""
    meta = type("Meta", (), {"index_name": name, "projection": AllProjection()})
    keys = {"partition_key": UnicodeAttribute(hash_key=True), attribute: UnicodeAttribute(range_key=True)}
    return type(f"{attribute}_index", (LocalSecondaryIndex,), {"Meta": meta, **keys})()


def model(url: str, name: str) -> Any:
    """A model with the seed's key, its denormalised attributes and its indexes."""
    table_name, range_key = TABLES[name]
    meta = {
        "table_name": table_name,
        "host": url,
        "region": REGION,
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
        "billing_mode": "PAY_PER_REQUEST",
    }
    attributes: dict[str, Any] = {
        "partition_key": UnicodeAttribute(hash_key=True),
        range_key: UnicodeAttribute(range_key=True),
        "endpoint_id": UnicodeAttribute(),
        "part_id": UnicodeAttribute(),
        "updated_at": UnicodeAttribute(default="2025-12-11T00:00:00.000000Z"),
        "endpoint_id_index": local_index("endpoint_id-index", "endpoint_id"),
        "part_id_index": local_index("part_id-index", "part_id"),
        "updated_at_index": local_index("updated_at-index", "updated_at"),
    }
    if name == "AgentModel":
        attributes |= {
            "agent_uuid": UnicodeAttribute(),
            "agent_name": UnicodeAttribute(null=True),
            "agent_uuid_index": local_index("agent_uuid-index", "agent_uuid"),
        }
    return type(name, (Model,), {"Meta": type("Meta", (), meta), **attributes})


@pytest.fixture(scope="module", params=TABLES)
def each_model(request: pytest.FixtureRequest, url: str) -> Any:
    made = model(url, request.param)
    if not made.exists():
        made.create_table(wait=True)
    return made


@pytest.fixture(scope="module")
def AgentModel(url: str) -> Any:
    made = model(url, "AgentModel")
    if not made.exists():
        made.create_table(wait=True)
    return made


@pytest.fixture(scope="module")
def seed(AgentModel: Any) -> Any:
    """The seed's functions."""

    def get_agent(logger, partition_key: str, agent_version_uuid: str):  # type: ignore[no-untyped-def]
        agent = AgentModel.get(partition_key, agent_version_uuid)
        return agent  # noqa: RET504

    def create_agent(logger, partition_key: str, **kwargs):  # type: ignore[no-untyped-def]
        # Parse partition_key to extract components
        endpoint_id, part_id = partition_key.split('#', 1)  # fmt: skip

        agent = AgentModel()
        agent.partition_key = partition_key
        agent.endpoint_id = endpoint_id  # Denormalized  # fmt: skip
        agent.part_id = part_id  # Denormalized  # fmt: skip
        agent.agent_version_uuid = str(uuid.uuid4())
        for name, value in kwargs.items():
            setattr(agent, name, value)
        agent.save()
        return agent

    return SimpleNamespace(get_agent=get_agent, create_agent=create_agent)


def test_agent_crud_with_partition_key(seed: Any) -> None:
    logger, create_agent, get_agent = None, seed.create_agent, seed.get_agent
    partition_key = "aws-prod#acme-corp"

    # Create
    agent = create_agent(logger, partition_key, agent_uuid="test-agent")
    assert agent.partition_key == partition_key

    # Read
    fetched = get_agent(logger, partition_key, agent.agent_version_uuid)
    assert fetched.agent_uuid == "test-agent"


def test_agents_by_endpoint(AgentModel: Any, seed: Any) -> None:
    seed.create_agent(None, "aws-prod#by-endpoint", agent_uuid="one")
    # Query all agents with specific endpoint_id within a partition
    partition_key = "aws-prod#by-endpoint"
    agents = AgentModel.endpoint_id_index.query(
        hash_key=partition_key,
        range_key_condition=AgentModel.endpoint_id == "aws-prod"
    )  # fmt: skip
    assert [agent.agent_uuid for agent in agents] == ["one"]


def test_agents_by_part(AgentModel: Any, seed: Any) -> None:
    seed.create_agent(None, "aws-prod#by-part", agent_uuid="two")
    # Query all agents with specific part_id within a partition
    partition_key = "aws-prod#by-part"
    agents = AgentModel.part_id_index.query(
        hash_key=partition_key,
        range_key_condition=AgentModel.part_id == "by-part"
    )  # fmt: skip
    assert [(agent.agent_uuid, agent.endpoint_id) for agent in agents] == [("two", "aws-prod")]


def test_local_indexes_are_read_consistently(AgentModel: Any, seed: Any) -> None:
    seed.create_agent(None, "aws-prod#consistent", agent_uuid="three")
    found = AgentModel.agent_uuid_index.query("aws-prod#consistent", AgentModel.agent_uuid == "three", consistent_read=True)
    assert [agent.agent_uuid for agent in found] == ["three"]


def test_one_tenant_does_not_see_another(AgentModel: Any, seed: Any) -> None:
    agent = seed.create_agent(None, "aws-prod#globex", agent_uuid="hidden")
    with pytest.raises(DoesNotExist):
        seed.get_agent(None, "aws-prod#initech", agent.agent_version_uuid)
    assert list(AgentModel.query("aws-prod#initech")) == []


def test_every_table_has_the_two_local_indexes(each_model: Any) -> None:
    range_key = next(table[1] for table in TABLES.values() if table[0] == each_model.Meta.table_name)
    partition_key = "aws-prod-us-east-1#acme-corp"
    for number in ("2", "1"):
        each_model(
            partition_key,
            number,
            endpoint_id="aws-prod-us-east-1",
            part_id="acme-corp",
            **({"agent_uuid": "a"} if range_key.startswith("agent") else {}),
        ).save()
    assert [getattr(item, range_key) for item in each_model.query(partition_key)] == ["1", "2"]
    for index, attribute, value in (
        (each_model.endpoint_id_index, each_model.endpoint_id, "aws-prod-us-east-1"),
        (each_model.part_id_index, each_model.part_id, "acme-corp"),
    ):
        assert {getattr(item, range_key) for item in index.query(partition_key, attribute == value)} == {"1", "2"}


def test_a_missing_part_falls_back_to_the_endpoint(seed: Any) -> None:
    params: dict[str, Any] = {"endpoint_id": "acme-corp-prod"}
    endpoint_id = params.get("endpoint_id")
    part_id = params.get("part_id")
    if not part_id:
        part_id = endpoint_id
    partition_key = f"{endpoint_id}#{part_id}"
    agent = seed.create_agent(None, partition_key, agent_uuid="old")
    assert (agent.endpoint_id, agent.part_id) == ("acme-corp-prod", "acme-corp-prod")
