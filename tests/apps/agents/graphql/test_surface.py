"""The whole surface: every query and every mutation, asked once for everything that it has, against a real store."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import McpServer
from tests.apps.agents.graphql.conftest import Callers, Refused
from tests.apps.agents.graphql.operations import operation, root_fields
from tests.apps.agents.graphql.world import TENANTS_OWN, USERS_OWN, World, arguments_of, make_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The surface of the public engine: 39 queries and 38 mutations.
QUERIES = [
    "ping",
    "llm",
    "llmList",
    "agent",
    "agentList",
    "thread",
    "threadList",
    "run",
    "runList",
    "toolCall",
    "toolCallList",
    "message",
    "messageList",
    "asyncTask",
    "asyncTaskList",
    "fineTuningMessage",
    "fineTuningMessageList",
    "askModel",
    "uploadedFile",
    "outputFile",
    "element",
    "elementList",
    "wizard",
    "wizardList",
    "wizardSchema",
    "wizardSchemaList",
    "wizardGroup",
    "wizardGroupList",
    "wizardGroupFilter",
    "wizardGroupFilterList",
    "mcpServer",
    "mcpServerList",
    "uiComponent",
    "uiComponentList",
    "flowSnippet",
    "flowSnippetList",
    "promptTemplate",
    "promptTemplateList",
    "presignedAwsS3Url",
]
MUTATIONS = [
    "insertUpdateLlm",
    "deleteLlm",
    "insertUpdateAgent",
    "deleteAgent",
    "insertThread",
    "deleteThread",
    "insertUpdateRun",
    "deleteRun",
    "insertUpdateMessage",
    "deleteMessage",
    "insertUpdateToolCall",
    "deleteToolCall",
    "insertUpdateFineTuningMessage",
    "deleteFineTuningMessage",
    "insertUpdateAsyncTask",
    "deleteAsyncTask",
    "executeAskModel",
    "uploadFile",
    "insertUpdateElement",
    "deleteElement",
    "insertUpdateWizard",
    "deleteWizard",
    "insertUpdateWizardSchema",
    "deleteWizardSchema",
    "insertUpdateWizardGroup",
    "deleteWizardGroup",
    "insertUpdateWizardGroupFilter",
    "deleteWizardGroupFilter",
    "insertUpdateMcpServer",
    "deleteMcpServer",
    "insertUpdateUiComponent",
    "deleteUiComponent",
    "insertUpdateFlowSnippet",
    "deleteFlowSnippet",
    "insertUpdatePromptTemplate",
    "deletePromptTemplate",
    "insertUpdateWizardGroupWithWizards",
    "deleteWizardFromWizardGroup",
]
#: Deleting in this order, nothing is needed any more when its turn comes.
DELETIONS = [
    "deleteMessage",
    "deleteToolCall",
    "deleteRun",
    "deleteThread",
    "deleteAsyncTask",
    "deleteFineTuningMessage",
    "deleteAgent",
    "deleteFlowSnippet",
    "deletePromptTemplate",
    "deleteMcpServer",
    "deleteWizardGroupFilter",
    "deleteWizardGroup",
    "deleteWizard",
    "deleteElement",
]
#: The catalogue is deleted by an admin.
CATALOGUE_DELETIONS = ["deleteLlm", "deleteUiComponent", "deleteWizardSchema"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(callers: Callers) -> AsyncIterator[World]:
    yield await make_world(callers)


async def test_the_public_engines_surface_is_there() -> None:
    assert (len(QUERIES), len(MUTATIONS)) == (39, 38)
    assert set(QUERIES) <= set(root_fields("query"))
    assert set(MUTATIONS) <= set(root_fields("mutation"))


@pytest.mark.parametrize("name", [name for name in QUERIES if not name.endswith("List") and name not in ("ping", "askModel")])
async def test_every_query_of_one_thing_answers_with_all_of_it(callers: Callers, world: World, name: str) -> None:
    given = arguments_of(world, "query", name)
    found = await callers.ann.ask(operation("query", name, given), **given)
    assert found is not None
    for argument, value in given.items():
        if argument in found:
            assert found[argument] == value


@pytest.mark.parametrize("name", [name for name in QUERIES if name.endswith("List")])
async def test_every_list_has_what_there_is(callers: Callers, world: World, name: str) -> None:
    # The host has models of its own.
    given = {"llmProvider": world.ids["llmProvider"]} if name == "llmList" else {}
    found = await callers.ann.ask(operation("query", name, given), **given)
    assert (len(found[name]), found["total"], found["pageNumber"], found["pageSize"], found["nextCursor"]) == (1, 1, 1, 100, None)
    filters = {one: world.ids[one] for one in root_fields("query")[name].args if one in world.ids}
    if filters:
        assert (await callers.ann.ask(operation("query", name, filters), **filters))[name] == found[name]
    late = [one for one in root_fields("query")[name].args if one.endswith("Gt")]
    for one in late:
        assert (await callers.ann.ask(operation("query", name, {one: ""}), **{one: "2999-01-01T00:00:00Z"}))[name] == []


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name.startswith("insertUpdate") and "With" not in name])
async def test_every_thing_that_was_created_can_be_changed(callers: Callers, world: World, name: str) -> None:
    given = arguments_of(world, "mutation", name)
    caller = callers.admin if world.written[name].get("partitionKey") is None and name in CATALOGUE_CHANGES else callers.ann
    payload = await caller.ask(operation("mutation", name, given), **given)
    (item,) = [value for key, value in payload.items() if key != "__typename"]
    assert item is not None
    for argument, value in given.items():
        if argument in item and argument not in world.ids and not isinstance(value, list | dict):
            assert item[argument] == value


CATALOGUE_CHANGES = ("insertUpdateLlm", "insertUpdateUiComponent", "insertUpdateWizardSchema")


async def test_a_group_is_written_with_its_wizards(callers: Callers, world: World) -> None:
    given = arguments_of(world, "mutation", "insertUpdateWizardGroupWithWizards")
    del given["wizardGroupUuid"]
    group = (await callers.ann.ask(operation("mutation", "insertUpdateWizardGroupWithWizards", given), **given))["wizardGroup"]
    (wizard,) = group["wizards"]
    assert (wizard["wizardTitle"], wizard["wizardElements"][0]["element"]["elementTitle"]) == (TENANTS_OWN, "Name")
    assert wizard["wizardSchema"]["wizardSchemaName"] == "contact"
    keys = {"wizardGroupUuid": group["wizardGroupUuid"], "wizardUuid": wizard["wizardUuid"]}
    assert (await callers.ann.ask(operation("mutation", "deleteWizardFromWizardGroup", keys), **keys))["ok"] is True
    empty = {"wizardGroupUuid": group["wizardGroupUuid"]}
    assert (await callers.ann.ask(operation("mutation", "deleteWizardGroup", empty), **empty))["ok"] is True


async def test_what_others_need_is_not_deleted(callers: Callers, world: World) -> None:
    for name in ("deleteRun", "deleteThread", "deleteFlowSnippet", "deleteMcpServer", "deleteElement"):
        given = arguments_of(world, "mutation", name)
        found = await callers.ann.ask(operation("mutation", name, given), **given)
        assert (found["ok"], bool(found["reason"])) == (False, True), name
    for name in CATALOGUE_DELETIONS:
        given = arguments_of(world, "mutation", name)
        assert (await callers.admin.ask(operation("mutation", name, given), **given))["ok"] is False


async def test_numbers_names_of_headers_and_references_come_back(callers: Callers, world: World) -> None:
    agent = await callers.ann.ask("query q($v: String) { agent(agentVersionUuid: $v) { configuration } }", v=world.ids["agentVersionUuid"])
    assert {"maxTokens": 5, "topP": 0.5}.items() <= agent["configuration"].items()
    server = await callers.ann.ask("query q($v: String!) { mcpServer(mcpServerUuid: $v) { headers } }", v=world.ids["mcpServerUuid"])
    assert set(server["headers"]) == {"X-Api-Key", "x_plain"}
    assert all(value.startswith("secret:") for value in server["headers"].values())


async def test_null_and_its_text_clear(callers: Callers, world: World) -> None:
    payload = "{ agent { agentDescription } }"
    change = f"mutation m($v: String!, $t: String) {{ insertUpdateAgent(agentVersionUuid: $v, agentDescription: $t) {payload} }}"
    for cleared in (None, "null"):
        for text, answer in (("Kind", "Kind"), (cleared, None)):
            found = await callers.ann.ask(change, v=world.ids["agentVersionUuid"], t=text)
            assert found["agent"]["agentDescription"] == answer
    place = {"threadUuid": world.ids["threadUuid"], "messageUuid": world.ids["messageUuid"], "message": "null"}
    found = await callers.ann.ask(operation("mutation", "insertUpdateMessage", place), **place)
    assert found["message"]["message"] == "null"
    back = place | {"message": USERS_OWN}
    await callers.ann.ask(operation("mutation", "insertUpdateMessage", back), **back)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ('mutation { insertUpdateAgent(agentName: "x") { agent { agentUuid } } }', "missing-field"),
        ('mutation { insertUpdateAgent(agentName: "x", llmProvider: "no", llmName: "no") { agent { agentUuid } } }', "unknown-reference"),
        ('mutation { insertUpdateElement(elementUuid: "gone", elementTitle: "x") { element { elementUuid } } }', "not-found-in-partition"),
        ('mutation { insertThread(agentUuid: "gone") { thread { threadUuid } } }', "unknown-reference"),
        ("{ agent { agentUuid } }", "missing-field"),
        ('{ agentList(statuses: ["gone"]) { total } }', "bad-query"),
    ],
)
async def test_what_is_refused_has_a_code(callers: Callers, world: World, query: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        await callers.ann.ask(query)
    assert refused.value.code == code


async def test_what_is_not_there_is_null_at_once(callers: Callers, world: World) -> None:
    for query in (
        '{ agent(agentUuid: "gone") { agentUuid } }',
        '{ agent(agentVersionUuid: "a#b") { agentUuid } }',
        '{ thread(threadUuid: "a#b") { threadUuid } }',
        '{ run(threadUuid: "a#b", runUuid: "c") { runUuid } }',
        '{ element(elementUuid: "") { elementUuid } }',
        '{ element(elementUuid: "' + "x" * 3000 + '") { elementUuid } }',
        '{ llm(llmProvider: "gone", llmName: "gone") { llmName } }',
    ):
        assert await callers.ann.ask(query) is None
    assert await callers.ann.ask('mutation { deleteAgent(agentVersionUuid: "gone") { ok reason } }') == {
        "ok": False,
        "reason": "There is no item with this id.",
    }


async def test_both_spellings_of_statuses_filter(callers: Callers, world: World) -> None:
    for name in ("statues", "statuses"):
        for status, count in (("initial", 1), ("failed", 0)):
            query = f"query q($s: [String]) {{ toolCallList({name}: $s) {{ total }} }}"
            assert (await callers.ann.ask(query, s=[status]))["total"] == count
            query = f"query q($s: [String]) {{ asyncTaskList({name}: $s) {{ total }} }}"
            assert (await callers.ann.ask(query, s=[status]))["total"] == count


@pytest.mark.parametrize(
    ("arguments", "count"),
    [("greatToken: 6", 1), ("greatToken: 7", 0), ("lessToken: 8", 1), ("lessToken: 7", 0), ("greatToken: 6, lessToken: 8", 1)],
)
async def test_tokens_are_compared_as_the_names_say(callers: Callers, world: World, arguments: str, count: int) -> None:
    assert (await callers.ann.ask(f'{{ runList(tokenType: "total", {arguments}) {{ total }} }}'))["total"] == count


async def test_tool_calls_are_found_by_name_and_type(callers: Callers, world: World) -> None:
    query = "query q($n: String, $t: String) { toolCallList(name: $n, toolType: $t) { total } }"
    assert (await callers.ann.ask(query, n=USERS_OWN, t="function"))["total"] == 1
    assert (await callers.ann.ask(query, n="other"))["total"] == 0


async def test_a_thread_is_read_with_all_that_was_said_and_done(callers: Callers, world: World) -> None:
    thread = await callers.ann.ask(
        "mutation m($a: String!) { insertThread(agentUuid: $a) { thread { threadUuid } } }", a=world.ids["agentUuid"]
    )
    place: dict[str, Any] = {"threadUuid": thread["thread"]["threadUuid"]}
    written: list[tuple[str, dict[str, Any]]] = []
    run = {**place, "totalTokens": 3}
    place["runUuid"] = (await callers.ann.ask(operation("mutation", "insertUpdateRun", run), **run))["run"]["runUuid"]
    for role, text in (("user", "yes"), ("assistant", "ok"), ("user", "yes")):
        given = {**place, "role": role, "message": text}
        written.append(("Message", (await callers.ann.ask(operation("mutation", "insertUpdateMessage", given), **given))["message"]))
    call = {**place, "toolCallId": "c1", "name": "add", "arguments": '{"a": 1}', "content": "2"}
    written.append(("ToolCall", (await callers.ann.ask(operation("mutation", "insertUpdateToolCall", call), **call))["toolCall"]))
    query = "query q($t: String!, $n: Int) { thread(threadUuid: $t) { messages(limit: $n) toolCalls } }"
    found = await callers.ann.ask(query, t=place["threadUuid"])
    said = [(one["message"]["role"], one["message"]["content"]) for one in found["messages"]]
    assert said[:3] == [("user", "yes"), ("assistant", "ok"), ("user", "yes")]
    assert (said[3][0], json.loads(said[3][1])["output"]) == ("developer", "2")
    assert found["messages"][0]["message"]["run"] == {
        "runUuid": place["runUuid"],
        "promptTokens": 0,
        "completionTokens": 0,
        "totalTokens": 3,
    }
    assert [one["toolCallId"] for one in found["toolCalls"]] == ["c1"]
    newest = await callers.ann.ask(query, t=place["threadUuid"], n=2)
    assert (len(newest["messages"]), newest["messages"][0]["message"]["content"]) == (2, "yes")
    for name, item in written:
        keys = {one: item[one] for one in root_fields("mutation")[f"delete{name}"].args}
        assert (await callers.ann.ask(operation("mutation", f"delete{name}", keys), **keys))["ok"] is True
    for name in ("deleteRun", "deleteThread"):
        keys = {one: place[one] for one in root_fields("mutation")[name].args if one in place}
        assert (await callers.ann.ask(operation("mutation", name, keys), **keys))["ok"] is True


async def test_a_thread_is_deleted_with_its_contents_when_that_is_asked_for(callers: Callers, world: World) -> None:
    agent = {"agentUuid": world.ids["agentUuid"]}
    thread = (await callers.ann.ask(operation("mutation", "insertThread", agent), **agent))["thread"]["threadUuid"]
    place = {"threadUuid": thread}
    await callers.ann.ask(operation("mutation", "insertUpdateRun", place), **place)
    refused = await callers.ann.ask(operation("mutation", "deleteThread", place), **place)
    assert (refused["ok"], "still has 1 item" in refused["reason"]) == (False, True)
    whole = {**place, "withContents": True}
    assert (await callers.bob.ask(operation("mutation", "deleteThread", whole), **whole))["ok"] is False
    assert (await callers.ann.ask(operation("mutation", "deleteThread", whole), **whole))["ok"] is True
    assert (await callers.ann.ask(operation("mutation", "deleteThread", whole), **whole))["ok"] is False


async def test_versions_are_compared_and_labelled(callers: Callers, world: World) -> None:
    given = {"agentUuid": world.ids["agentUuid"], "agentDescription": "Next."}
    later = (await callers.ann.ask(operation("mutation", "insertUpdateAgent", given), **given))["agent"]
    place = {"kind": "agent", "logicalUuid": world.ids["agentUuid"]}
    pointer = await callers.ann.ask(operation("query", "versionPointer", place), **place)
    assert (pointer["activeVersionUuid"], pointer["versionCount"]) == (later["agentVersionUuid"], 2)
    two = {"kind": "agent", "before": world.ids["agentVersionUuid"], "after": later["agentVersionUuid"]}
    assert await callers.ann.ask(operation("query", "versionDifferences", two), **two) == {"agentDescription": [None, "Next."]}
    named = {**place, "name": "stable", "versionUuid": later["agentVersionUuid"]}
    labelled = await callers.ann.ask(operation("mutation", "labelVersion", named), **named)
    assert labelled["versionPointer"]["labels"] == {"stable": later["agentVersionUuid"]}
    unnamed = {**place, "name": "stable"}
    assert (await callers.ann.ask(operation("mutation", "labelVersion", unnamed), **unnamed))["versionPointer"]["labels"] == {}
    gone = {"agentVersionUuid": later["agentVersionUuid"]}
    assert (await callers.ann.ask(operation("mutation", "deleteAgent", gone), **gone))["ok"] is True
    assert (await callers.ann.ask(operation("query", "versionPointer", place), **place))["activeVersionUuid"] == two["before"]


async def test_a_thread_is_named_and_keeps_a_version(callers: Callers, world: World) -> None:
    given = {"threadUuid": world.ids["threadUuid"], "title": "Orders", "metadata": {"orderId": 7}}
    thread = (await callers.ann.ask(operation("mutation", "editThread", given), **given))["thread"]
    assert (thread["title"], thread["metadata"]) == ("Orders", {"orderId": 7})
    for version in (world.ids["agentVersionUuid"], None):
        pin = {"threadUuid": world.ids["threadUuid"], "agentVersionUuid": version}
        assert (await callers.ann.ask(operation("mutation", "pinThread", pin), **pin))["thread"]["agentVersionUuid"] == version


async def test_a_prompt_is_shown_before_it_is_used(callers: Callers, world: World) -> None:
    given = {"promptVersionUuid": world.ids["promptVersionUuid"], "values": {"name": "Bob", "more": 1}, "flowContext": "Greet."}
    preview = await callers.ann.ask(operation("query", "promptPreview", given), **given)
    assert (preview["text"], preview["missing"], preview["unused"]) == ("Be kind to Bob. Greet.", [], ["more"])


async def test_wizards_are_chosen_for_somebody_and_answers_checked(callers: Callers, world: World) -> None:
    for plan, count in ((TENANTS_OWN, 1), ("other", 0)):
        given = {"region": TENANTS_OWN, "facts": {"plan": plan}}
        assert len(await callers.ann.ask(operation("query", "chosenWizardGroups", given), **given)) == count
    answers: dict[str, Any] = {"wizardUuid": world.ids["wizardUuid"], "answers": {"mail": TENANTS_OWN}}
    assert await callers.ann.ask(operation("query", "wizardAnswersFit", answers), **answers) is True
    answers["answers"] = {}
    with pytest.raises(Refused) as refused:
        await callers.ann.ask(operation("query", "wizardAnswersFit", answers), **answers)
    assert refused.value.code == "bad-wizard"


async def test_everything_can_be_deleted_in_order(callers: Callers, world: World) -> None:
    for caller, names in ((callers.ann, DELETIONS), (callers.admin, CATALOGUE_DELETIONS)):
        for name in names:
            given: dict[str, Any] = arguments_of(world, "mutation", name)
            found = await caller.ask(operation("mutation", name, given), **given)
            assert found["ok"] is True, (name, found)


async def test_an_address_inside_is_refused_when_a_server_is_saved_and_when_it_is_asked(callers: Callers, world: World) -> None:
    given = {"mcpLabel": "inside", "mcpServerUrl": "http://127.0.0.1:9/mcp"}
    refused = await callers.ann.post(operation("mutation", "insertUpdateMcpServer", given), **given)
    assert refused["errors"][0]["extensions"]["code"] == "address-refused"
    # As one that was stored while the host still allowed it.
    partition = Partition(endpoint_id="local", part_id="acme")
    stored = McpServer(partition=partition, mcp_label="inside", mcp_server_url="http://127.0.0.1:9/mcp")
    uuid = (await callers.host.store.create(stored)).mcp_server_uuid
    answer = await callers.ann.post("query q($u: String!) { mcpServer(mcpServerUuid: $u) { mcpLabel tools } }", u=uuid)
    assert [(error["path"], error["extensions"]["code"]) for error in answer["errors"]] == [(["mcpServer", "tools"], "mcp-failed")]
    assert answer["data"] == {"mcpServer": {"mcpLabel": "inside", "tools": None}}
