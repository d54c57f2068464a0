"""Nested fields take few calls of the store, however many rows there are."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.types import Receive, Scope, Send

from gateleg.apps.agents.application import application
from gateleg.apps.agents.catalogue_tables import TABLES, Llm, UiComponent, WizardSchema
from gateleg.apps.agents.graphql.schema import make_schema
from gateleg.apps.agents.graphql.view import AgentsGraphQL
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import (
    Agent,
    FlowSnippet,
    McpServer,
    PromptTemplate,
    Thread,
    VersionPointer,
    Wizard,
    WizardElement,
    WizardGroup,
    WizardGroupFilter,
)
from gateleg.apps.agents.thread_tables import Message, Run
from gateleg.host import Principal, Role
from gateleg.host.host import settings_only_resources
from gateleg.host.settings import Settings
from gateleg.store import AsyncStore, Metrics

pytestmark = pytest.mark.asyncio(loop_scope="module")
PARTITION = Partition("local", "acme")
ANN = Principal("ann", Role.MEMBER, tenant="acme")
MANY = 100


@dataclass
class Counted:
    """A GraphQL endpoint whose calls of the store are counted."""

    client: httpx.AsyncClient
    metrics: Metrics

    async def ask(self, query: str, **variables: Any) -> tuple[Any, int]:
        """The data of the answer, and how many requests it took."""
        self.metrics.reset()
        answer = (await self.client.post("/", json={"query": query, "variables": variables})).json()
        assert "errors" not in answer, answer
        return answer["data"], sum(tally.requests for tally in self.metrics.reset().values())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def counted() -> AsyncIterator[Counted]:
    metrics = Metrics()
    async with AsyncStore.embedded(hooks=[metrics]) as store:
        await store.create_tables(*TABLES)
        await fill(store)
        view = AgentsGraphQL(make_schema(), replace(settings_only_resources(application, Settings()), store=store))

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await view({**scope, "state": {"principal": ANN}}, receive, send)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
            yield Counted(client, metrics)


async def fill(store: AsyncStore) -> None:
    """A hundred of each, each with parts of its own."""
    names: dict[str, Any] = {"wizard_schema_type": "form", "wizard_schema_name": "contact"}
    await store.put(Llm(llm_provider="local", llm_name="smol", module_name="m", class_name="c"))
    await store.put(WizardSchema(**names))
    await store.put(UiComponent(ui_component_type="card", ui_component_uuid="u1", tag_name="x-card"))
    items: list[Any] = []
    for number in range(MANY):
        own: dict[str, Any] = {"partition": PARTITION}
        items += [
            McpServer(**own, mcp_server_uuid=f"s{number:03}", mcp_label="tools", mcp_server_url="https://tools.example"),
            PromptTemplate(
                **own,
                prompt_uuid=f"p{number:03}",
                prompt_version_uuid=f"pv{number:03}",
                prompt_type="t",
                prompt_name="p",
                template_context="x",
                mcp_servers=[{"mcp_server_uuid": f"s{number:03}"}],
                ui_components=[{"ui_component_type": "card", "ui_component_uuid": "u1"}],
            ),
            FlowSnippet(
                **own,
                flow_snippet_uuid=f"f{number:03}",
                flow_snippet_version_uuid=f"fv{number:03}",
                prompt_uuid=f"p{number:03}",
                flow_name="f",
            ),
            Agent(
                **own,
                agent_uuid=f"a{number:03}",
                agent_version_uuid=f"av{number:03}",
                agent_name="A",
                llm_provider="local",
                llm_name="smol",
                flow_snippet_version_uuid=f"fv{number:03}",
                mcp_server_uuids=[f"s{number:03}", "gone", f"s{(number + 1) % MANY:03}"],
            ),
            *(
                VersionPointer(**own, kind=kind, logical_uuid=f"{letter}{number:03}", active_version_uuid=f"{letter}v{number:03}")
                for kind, letter in (("agent", "a"), ("prompt", "p"))
            ),
            Thread(**own, thread_uuid=f"t{number:03}", agent_uuid=f"a{number:03}", owner_id=ANN.owner),
            Run(**own, thread_uuid="t000", run_uuid=f"r{number:03}", owner_id=ANN.owner),
            Message(
                **own,
                thread_uuid="t000",
                run_uuid=f"r{number:03}",
                message_uuid=f"m{number:03}",
                role="user",
                message="x",
                owner_id=ANN.owner,
            ),
            WizardElement(**own, element_uuid=f"e{number:03}", data_type="t", element_title="E", attribute_name="n", attribute_type="text"),
            Wizard(
                **own,
                **names,
                wizard_uuid=f"w{number:03}",
                wizard_title="W",
                wizard_type="form",
                wizard_elements=[{"element_uuid": f"e{number:03}", "required": True}],
            ),
            WizardGroup(**own, wizard_group_uuid=f"g{number:03}", wizard_group_name="G", wizard_uuids=[f"w{number:03}"]),
            WizardGroupFilter(
                **own, wizard_group_filter_uuid=f"x{number:03}", wizard_group_filter_name="F", region="r", wizard_group_uuid=f"g{number:03}"
            ),
        ]
    counting = (Thread, Run, Message)
    await store.batch_write([one for one in items if not isinstance(one, counting)])
    for kind in counting:
        # One after another: runs are counted by their thread, messages by their run.
        for one in items:
            if isinstance(one, kind):
                await store.create(one)


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        # The threads; pointers to active versions, agents and the model, each in one batch.
        ("threadList { threadUuid agent { agentName llm { llmName } } }", 4),
        ("threadList { agent { llm { llmName } mcpServers { mcpLabel } flowSnippet { promptTemplate { promptName } } } }", 8),
        ("agentList { agentName llm { className } }", 2),
        ("agentList { mcpServers { mcpLabel } flowSnippet { flowName } }", 3),
        ("messageList { message run { totalTokens } }", 2),
        ("runList { thread { agent { llm { llmName } } } }", 5),
        ("wizardList { wizardSchema { wizardSchemaName } wizardElements }", 3),
        ("wizardGroupList { wizards }", 4),
        ("wizardGroupFilterList { wizardGroup { wizardItems { wizardTitle wizardElements } } }", 4),
    ],
)
async def test_what_is_nested_in_a_hundred_rows_is_read_in_batches(counted: Counted, query: str, calls: int) -> None:
    name = query.partition(" ")[0]
    data, found = await counted.ask(f"{{ {name}(limit: {MANY}) {{ {query} }} }}")
    assert len(data[name][name]) == MANY
    # A list of 101 distinct keys is two batches.
    assert found <= calls + 1 if "mcpServers" in query else found == calls


async def test_nested_fields_are_those_of_their_rows(counted: Counted) -> None:
    query = """{ threadList(limit: 100) { threadList { agentUuid agent { agentUuid mcpServers { mcpServerUuid }
        flowSnippet { flowSnippetUuid promptTemplate { promptUuid mcpServers { mcpServerUuid } uiComponents } } } } } }"""
    data, _ = await counted.ask(query)
    for thread in data["threadList"]["threadList"]:
        number = int(thread["agentUuid"][1:])
        agent = thread["agent"]
        assert agent["agentUuid"] == thread["agentUuid"]
        assert [one["mcpServerUuid"] for one in agent["mcpServers"]] == [f"s{number:03}", f"s{(number + 1) % MANY:03}"]
        assert agent["flowSnippet"]["flowSnippetUuid"] == f"f{number:03}"
        prompt = agent["flowSnippet"]["promptTemplate"]
        assert (prompt["promptUuid"], prompt["mcpServers"]) == (f"p{number:03}", [{"mcpServerUuid": f"s{number:03}"}])
        assert prompt["uiComponents"][0]["tagName"] == "x-card"


@pytest.mark.parametrize(
    ("name", "filters", "key"),
    [
        ("agentList", "", "agentUuid"),
        ("elementList", 'dataType: "t", ', "elementUuid"),
        ("promptTemplateList", 'promptType: "t", ', "promptUuid"),
        ("threadList", "", "threadUuid"),
        ("runList", 'threadUuid: "t000", ', "runUuid"),
        ("messageList", "", "messageUuid"),
        ("wizardGroupFilterList", 'region: "r", ', "wizardGroupFilterUuid"),
    ],
)
async def test_a_list_is_walked_by_its_cursor_and_by_page_numbers(counted: Counted, name: str, filters: str, key: str) -> None:
    page = f"{filters}limit: 30, after: $a, pageNumber: $n"
    query = f"query q($a: String, $n: Int) {{ {name}({page}) {{ total nextCursor {name} {{ {key} }} }} }}"
    by_cursor: list[str] = []
    cursor: str | None = None
    while True:
        data, _ = await counted.ask(query, a=cursor)
        assert data[name]["total"] == MANY
        by_cursor += [one[key] for one in data[name][name]]
        cursor = data[name]["nextCursor"]
        if cursor is None:
            break
    assert (len(by_cursor), len(set(by_cursor))) == (MANY, MANY)
    by_number = [one[key] for n in range(1, 6) for one in (await counted.ask(query, n=n))[0][name][name]]
    assert by_number == by_cursor


async def test_a_total_is_counted_only_when_it_is_asked_for(counted: Counted) -> None:
    assert (await counted.ask("{ agentList(limit: 10) { agentList { agentUuid } } }"))[1] == 1
    assert (await counted.ask("{ agentList(limit: 10) { total } }"))[1] == 2
    # The only page has all rows, so nothing is counted.
    assert (await counted.ask("{ agentList(limit: 200) { total } }"))[1] == 1
