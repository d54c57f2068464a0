"""Agents, prompts, flows and MCP servers as use cases: composed, moved, guarded, with secrets by reference."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from gateleg.apps.agents.agents import delete_agent, find_agent, list_agents, save_agent
from gateleg.apps.agents.catalogue import delete_llm, list_llms, save_llm, save_ui_component
from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import (
    BadField,
    BadTemplate,
    MissingVariables,
    NotACatalogueEditor,
    NotFoundInPartition,
    StillUsed,
    UnknownReference,
)
from gateleg.apps.agents.flows import delete_flow, find_flow, list_flows, move_agents, save_flow
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.prompts import delete_prompt, find_prompt, list_prompts, preview_prompt, save_prompt
from gateleg.apps.agents.secret_references import HIDDEN, redact, redact_headers, reveal
from gateleg.apps.agents.servers import delete_server, find_server, headers_of, list_servers, save_server
from gateleg.apps.agents.tables import Agent, McpServer
from gateleg.apps.agents.tenancy import Context
from gateleg.host.secrets import SecretNotFound, Secrets
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from tests.apps.agents.conftest import Interleaving

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HELPER = {"agent_name": "Helper", "llm_provider": "local", "llm_name": "small"}
ALL = Paging()


@pytest.fixture(autouse=True)
async def llm(store: AsyncStore) -> Llm:
    return await store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))


@pytest.fixture
async def prompt_uuid(store: AsyncStore, ann: Context) -> str:
    values = {"prompt_type": "sales", "prompt_name": "P", "template_context": "TC {name} {flow_snippet}", "variables": [{"name": "name"}]}
    return (await save_prompt(store, ann, values)).prompt_uuid


@pytest.fixture
async def flow(store: AsyncStore, ann: Context, prompt_uuid: str) -> Any:
    values = {"flow_name": "F", "prompt_uuid": prompt_uuid, "flow_context": "FC {name}", "enabled_tools": ["search"]}
    return await save_flow(store, ann, values)


def using(flow: Any, **others: Any) -> dict[str, Any]:
    variables = [{"name": "name", "value": "Bob"}]
    return {**HELPER, "flow_snippet_version_uuid": flow.flow_snippet_version_uuid, "variables": variables, **others}


async def test_an_agent_is_composed_of_its_flow_and_the_flows_prompt(
    store: AsyncStore, secrets: Secrets, ann: Context, prompt_uuid: str, flow: Any
) -> None:
    server = await save_server(store, secrets, ann, {"mcp_label": "S", "mcp_server_url": "https://tools.test/mcp"})
    values = {"prompt_uuid": prompt_uuid, "mcp_servers": [{"mcp_server_uuid": server.mcp_server_uuid}]}
    await save_prompt(store, ann, values)
    agent = await save_agent(store, secrets, ann, using(flow, configuration={"temperature": 0.5}))
    assert agent.instructions == "TC Bob FC Bob"
    assert agent.configuration == {"temperature": 0.5, "enabled_tools": ["search"]}
    assert agent.mcp_server_uuids == [server.mcp_server_uuid]
    with pytest.raises(MissingVariables, match="without a value: name"):
        await save_agent(store, secrets, ann, using(flow, variables=[]))
    with pytest.raises(UnknownReference):
        await save_agent(store, secrets, ann, {**HELPER, "flow_snippet_version_uuid": "none"})


async def test_a_flow_without_steps_is_nothing_in_its_prompt(store: AsyncStore, secrets: Secrets, ann: Context, prompt_uuid: str) -> None:
    flow = await save_flow(store, ann, {"flow_name": "F", "prompt_uuid": prompt_uuid})
    assert (await save_agent(store, secrets, ann, using(flow))).instructions == "TC Bob "


async def test_a_new_version_of_a_flow_moves_each_active_agent_once(store: AsyncStore, secrets: Secrets, ann: Context, flow: Any) -> None:
    first = await save_agent(store, secrets, ann, using(flow))
    for _ in range(2):
        await save_agent(store, secrets, ann, {"agent_uuid": first.agent_uuid})
    other = await save_agent(store, secrets, ann, HELPER)
    newer = await save_flow(store, ann, {"flow_snippet_uuid": flow.flow_snippet_uuid, "flow_context": "NEW {name}"})
    moved = await find_agent(store, ann, agent_uuid=first.agent_uuid)
    assert moved is not None
    assert (moved.flow_snippet_version_uuid, moved.instructions) == (newer.flow_snippet_version_uuid, "TC Bob NEW Bob")
    listed = await list_agents(store, ann, ALL, agent_uuid=first.agent_uuid)
    assert (len(listed.items), [one.status.value for one in listed.items].count("active")) == (4, 1)
    assert await find_agent(store, ann, agent_uuid=other.agent_uuid) == other


async def test_a_duplicate_of_a_flow_moves_nobody(store: AsyncStore, secrets: Secrets, ann: Context, flow: Any) -> None:
    agent = await save_agent(store, secrets, ann, using(flow))
    copy = await save_flow(store, ann, {"flow_snippet_version_uuid": flow.flow_snippet_version_uuid}, copied=True)
    assert copy.flow_snippet_uuid != flow.flow_snippet_uuid
    assert await find_agent(store, ann, agent_uuid=agent.agent_uuid) == agent


async def test_an_interrupted_move_goes_on_with_those_that_are_left(store: AsyncStore, secrets: Secrets, ann: Context, flow: Any) -> None:
    made = [await save_agent(store, secrets, ann, using(flow)) for _ in range(4)]
    newer = await save_flow(store, ann, {"flow_snippet_version_uuid": flow.flow_snippet_version_uuid}, copied=True)
    place = (flow.flow_snippet_version_uuid, newer.flow_snippet_version_uuid)

    async def stop_after_two(count: int) -> None:
        if count == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await move_agents(store, ann, *place, stop_after_two)
    assert await move_agents(store, ann, *place) == 2
    assert await move_agents(store, ann, *place) == 0
    users = await list_agents(store, ann, ALL, flow_snippet_version_uuid=newer.flow_snippet_version_uuid, statuses=["active"])
    assert {one.agent_uuid for one in users.items} == {one.agent_uuid for one in made}


async def test_what_is_used_cannot_be_deleted(store: AsyncStore, secrets: Secrets, ann: Context, admin: Context, flow: Any) -> None:
    server = await save_server(store, secrets, ann, {"mcp_label": "S", "mcp_server_url": "https://tools.test/mcp"})
    agent = await save_agent(store, secrets, ann, using(flow, mcp_server_uuids=[server.mcp_server_uuid]))
    prompt = await find_prompt(store, ann, prompt_uuid=flow.prompt_uuid)
    assert prompt is not None
    guarded: list[Callable[[], Awaitable[bool]]] = [
        lambda: delete_flow(store, ann, flow.flow_snippet_version_uuid),
        lambda: delete_prompt(store, ann, prompt.prompt_version_uuid),
        lambda: delete_server(store, secrets, ann, server.mcp_server_uuid),
        lambda: delete_llm(store, admin, "local", "small"),
    ]
    for attempt in guarded:
        with pytest.raises(StillUsed):
            await attempt()
    assert await delete_agent(store, secrets, ann, agent.agent_version_uuid)
    for attempt in guarded:
        assert await attempt()
        assert not await attempt()


async def test_a_server_and_an_agent_that_names_it_cannot_pass_each_other(
    store: AsyncStore, network: Interleaving, secrets: Secrets, ann: Context
) -> None:
    for _ in range(10):
        server = await save_server(store, secrets, ann, {"mcp_label": "S", "mcp_server_url": "https://tools.test/mcp"})
        many = store.using(network)
        wanted = {**HELPER, "mcp_server_uuids": [server.mcp_server_uuid]}
        found = await asyncio.gather(
            save_agent(many, secrets, ann, wanted), delete_server(many, secrets, ann, server.mcp_server_uuid), return_exceptions=True
        )
        kept = await find_server(store, ann, server.mcp_server_uuid) is not None
        assert isinstance(found[0], Agent) == kept
        assert isinstance(found[1], StillUsed) == kept


async def test_the_values_of_headers_are_secrets_and_their_names_stay(
    store: AsyncStore, secrets: Secrets, ann: Context, eve: Context
) -> None:
    values = {
        "mcp_label": "S",
        "mcp_server_url": "https://tools.test/mcp",
        "headers": {"X-Api-Key": "hunter2", "x-part_id": "v"},
    }
    server = await save_server(store, secrets, ann, values)
    assert list(server.headers) == ["X-Api-Key", "x-part_id"]
    assert all(value.startswith("secret:mcp.") for value in server.headers.values())
    assert "hunter2" not in str(spec_of(McpServer).encode(server))
    assert (await headers_of(secrets, ann, server))["X-Api-Key"] == "hunter2"
    with pytest.raises(SecretNotFound):
        await headers_of(secrets, eve, server)
    again = await save_server(store, secrets, ann, {"mcp_server_uuid": server.mcp_server_uuid, "headers": dict(server.headers)})
    assert (again.headers, again.mcp_label) == (server.headers, "S")
    assert await delete_server(store, secrets, ann, server.mcp_server_uuid)
    assert await secrets.list(tenant=ann.partition_key) == []


@pytest.mark.parametrize(
    "values",
    [
        {"headers": {"bad name": "x"}},
        {"headers": {"X": "a\r\nY: b"}},
        {"headers": {"X": 5}},
        {"mcp_server_url": "file:///etc/passwd"},
        {"mcp_server_url": "https://user:pass@tools.test"},
        {"mcp_server_url": "https://tools.test/mcp?apiKey=hunter2"},
        {"mcp_server_url": "https://tools.test/mcp?page=1&access_token="},
        {"headers": {"X": "secret:nothing"}},
        {"mcp_server_url": "tools.test"},
    ],
)
async def test_servers_that_no_request_can_go_to_are_refused_and_leave_no_secret(
    store: AsyncStore, secrets: Secrets, ann: Context, values: dict[str, Any]
) -> None:
    with pytest.raises(BadField):
        await save_server(store, secrets, ann, {"mcp_label": "S", "mcp_server_url": "https://tools.test", **values})
    assert await secrets.list(tenant=ann.partition_key) == []


CONFIGURATION = {
    "model": "m",
    "max_tokens": 5,
    "temperature": 0.5,
    "api_key": "k1",
    "nested": {"clientSecret": "k2", "tools": [{"headers": {"Authorization": "k3"}, "name": "t"}], "token_type": "bearer"},
    "reference": "secret:mine",
}


async def test_secrets_of_a_configuration_are_kept_apart_and_everything_else_stays(
    store: AsyncStore, secrets: Secrets, ann: Context
) -> None:
    await secrets.put("mine", "own", tenant=ann.partition_key)
    agent = await save_agent(store, secrets, ann, {**HELPER, "configuration": CONFIGURATION})
    text = str(agent.configuration)
    assert not any(f"'{value}'" in text for value in ("k1", "k2", "k3"))
    assert (agent.configuration["max_tokens"], agent.configuration["temperature"]) == (5, 0.5)
    assert agent.configuration["nested"]["token_type"] == "bearer"
    assert await reveal(secrets, ann, agent.configuration) == {**CONFIGURATION, "reference": "own"}


async def test_secrets_that_came_in_the_clear_are_hidden_and_kept_apart_by_the_next_change(
    store: AsyncStore, secrets: Secrets, ann: Context
) -> None:
    plain = {"X-Api-Key": "hunter2"}
    server = await store.create(McpServer(partition=ann.partition, mcp_label="S", mcp_server_url="https://tools.test", headers=plain))
    assert redact_headers(server.headers) == {"X-Api-Key": HIDDEN}
    assert await headers_of(secrets, ann, server) == plain
    values = {"mcp_server_uuid": server.mcp_server_uuid, "mcp_label": "T", "headers": redact_headers(server.headers)}
    changed = await save_server(store, secrets, ann, values)
    assert changed.headers["X-Api-Key"].startswith("secret:mcp.")
    assert await headers_of(secrets, ann, changed) == plain
    agent = await save_agent(store, secrets, ann, HELPER)
    await store.patch(agent, Agent.configuration.set({"api_key": "k1", "deep": [{"token": "k2", "n": 1}]}))
    agent = await store.get(agent, consistent=True)
    hidden = redact(agent.configuration)
    assert hidden == {"api_key": HIDDEN, "deep": [{"token": HIDDEN, "n": 1}]}
    again = await save_agent(store, secrets, ann, {"agent_uuid": agent.agent_uuid, "configuration": {**hidden, "new": 1}})
    assert "k1" not in str(again.configuration)
    assert "k2" not in str(again.configuration)
    assert await reveal(secrets, ann, again.configuration) == {**agent.configuration, "new": 1}


async def test_a_duplicate_has_secrets_of_its_own(store: AsyncStore, secrets: Secrets, ann: Context) -> None:
    agent = await save_agent(store, secrets, ann, {**HELPER, "configuration": {"api_key": "k1"}})
    newer = await save_agent(store, secrets, ann, {"agent_uuid": agent.agent_uuid, "instructions": "x"})
    assert newer.configuration == agent.configuration
    copy = await save_agent(store, secrets, ann, {"agent_version_uuid": newer.agent_version_uuid}, copied=True)
    assert copy.agent_uuid != agent.agent_uuid
    assert copy.configuration != agent.configuration
    for version in (agent, newer):
        assert await delete_agent(store, secrets, ann, version.agent_version_uuid)
    assert await reveal(secrets, ann, copy.configuration) == {"api_key": "k1"}
    assert len(await secrets.list(tenant=ann.partition_key)) == 1


async def test_an_agent_that_is_refused_leaves_no_secret(store: AsyncStore, secrets: Secrets, ann: Context) -> None:
    with pytest.raises(UnknownReference):
        await save_agent(store, secrets, ann, {**HELPER, "llm_name": "none", "configuration": {"api_key": "k"}})
    assert await secrets.list(tenant=ann.partition_key) == []


async def test_a_configuration_matches_the_schema_of_its_model(store: AsyncStore, secrets: Secrets, ann: Context, admin: Context) -> None:
    schema = {
        "type": "object",
        "required": ["model"],
        "properties": {
            "model": {"enum": ["a", "b"]},
            "temperature": {"type": "number", "minimum": 0, "maximum": 2},
            "stop": {"items": {"type": "string"}},
        },
        "additionalProperties": False,
    }
    await save_llm(store, admin, {"llm_provider": "local", "llm_name": "small", "configuration_schema": schema})
    assert await save_agent(store, secrets, ann, {**HELPER, "configuration": {"model": "a", "temperature": 1}})
    wrong: list[dict[str, Any]] = [
        {},
        {"model": "c"},
        {"model": "a", "temperature": 3},
        {"model": "a", "x": 1},
        {"model": "a", "stop": [1]},
    ]
    for configuration in wrong:
        with pytest.raises(BadField, match="configuration: "):
            await save_agent(store, secrets, ann, {**HELPER, "configuration": configuration})


async def test_the_catalogue_is_written_by_operators_without_a_tenant(
    store: AsyncStore, ann: Context, operator: Context, admin: Context
) -> None:
    for context in (ann, operator):
        with pytest.raises(NotACatalogueEditor):
            await save_llm(store, context, {"llm_provider": "x", "llm_name": "y", "module_name": "m", "class_name": "C"})
        with pytest.raises(NotACatalogueEditor):
            await delete_llm(store, context, "local", "small")
    component = await save_ui_component(store, admin, {"ui_component_type": "card", "tag_name": "x-card"})
    prompt = {"prompt_type": "t", "prompt_name": "P", "template_context": ""}
    components = [{"ui_component_type": "card", "ui_component_uuid": component.ui_component_uuid}]
    assert (await save_prompt(store, ann, {**prompt, "ui_components": components})).ui_components == components
    assert len((await list_llms(store, ann, ALL)).items) == 1


async def test_prompts_declare_variables_that_can_be_rendered_and_are_previewed(store: AsyncStore, ann: Context, eve: Context) -> None:
    values = {"prompt_type": "t", "prompt_name": "P", "template_context": "Hi {who}", "variables": [{"name": "who", "type": "string"}]}
    prompt = await save_prompt(store, ann, values)
    found = await preview_prompt(store, ann, prompt.prompt_version_uuid, {})
    assert found is not None
    assert (found.text, found.missing) == ("Hi {who}", ("who",))
    assert await preview_prompt(store, eve, prompt.prompt_version_uuid, {}) is None
    with pytest.raises(BadTemplate):
        await save_prompt(store, ann, {**values, "variables": [{"name": "a b"}]})


async def test_lists_are_filtered_and_paged_by_cursor_and_by_number(store: AsyncStore, secrets: Secrets, ann: Context) -> None:
    made = [
        await save_agent(store, secrets, ann, {**HELPER, "agent_name": f"Agent {number}", "configuration": {"model": f"m{number % 2}"}})
        for number in range(7)
    ]
    newest = [one.agent_name for one in reversed(made)]
    first = await list_agents(store, ann, Paging(limit=3))
    assert [one.agent_name for one in first.items] == newest[:3]
    second = await list_agents(store, ann, Paging(limit=3, cursor=first.next))
    assert [one.agent_name for one in second.items] == newest[3:6]
    by_number = await list_agents(store, ann, Paging(limit=3, page_number=3))
    assert [one.agent_name for one in by_number.items] == newest[6:]
    assert (await list_agents(store, ann, Paging(limit=3, page_number=9))).items == []
    assert await by_number.total() == 7
    odd = await list_agents(store, ann, Paging(limit=2), model="m1")
    assert ([one.agent_name for one in odd.items], await odd.total()) == (["Agent 5", "Agent 3"], 3)
    assert [one.agent_name for one in (await list_agents(store, ann, ALL, agent_name="nt 4")).items] == ["Agent 4"]
    later = await list_agents(store, ann, ALL, updated_at_gt=made[4].updated_at)
    assert [one.agent_name for one in later.items] == ["Agent 6", "Agent 5"]
    inner = await list_agents(store, ann, ALL, updated_at_gt=made[1].updated_at, updated_at_lt=made[4].updated_at)
    assert [one.agent_name for one in inner.items] == ["Agent 3", "Agent 2"]


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": 1001}, {"page_number": 0}, {"page_number": 2, "cursor": "x"}, {"page_number": 999}]
)
def test_pages_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadField):
        Paging(**wrong)


async def test_prompts_flows_and_servers_are_listed_by_their_indexes(
    store: AsyncStore, secrets: Secrets, ann: Context, prompt_uuid: str, flow: Any
) -> None:
    await save_prompt(store, ann, {"prompt_type": "other", "prompt_name": "Q", "template_context": ""})
    await save_server(store, secrets, ann, {"mcp_label": "S", "mcp_server_url": "https://tools.test"})
    assert [one.prompt_name for one in (await list_prompts(store, ann, ALL)).items] == ["P", "Q"]
    assert [one.prompt_name for one in (await list_prompts(store, ann, ALL, prompt_type="other")).items] == ["Q"]
    late = datetime.now(UTC) + timedelta(days=1)
    assert (await list_prompts(store, ann, ALL, prompt_type="other", updated_at_gt=late)).items == []
    assert (await list_prompts(store, ann, ALL, prompt_uuid=prompt_uuid, prompt_type="other")).items == []
    assert [one.flow_name for one in (await list_flows(store, ann, ALL, prompt_uuid=prompt_uuid)).items] == ["F"]
    assert [one.flow_name for one in (await list_flows(store, ann, ALL, flow_snippet_uuid=flow.flow_snippet_uuid)).items] == ["F"]
    assert (await list_servers(store, ann, ALL, mcp_label="T")).items == []


async def test_what_is_changed_by_its_id_must_be_there(store: AsyncStore, secrets: Secrets, ann: Context, eve: Context, flow: Any) -> None:
    with pytest.raises(NotFoundInPartition):
        await save_server(store, secrets, ann, {"mcp_server_uuid": "none", "mcp_label": "x"})
    with pytest.raises(NotFoundInPartition):
        await save_agent(store, secrets, ann, {"agent_version_uuid": "none"})
    with pytest.raises(NotFoundInPartition):
        await save_flow(store, eve, {"flow_snippet_version_uuid": flow.flow_snippet_version_uuid, "flow_name": "mine"})
    assert await find_flow(store, eve, flow_snippet_uuid=flow.flow_snippet_uuid) is None
    assert await find_agent(store, ann) is None
