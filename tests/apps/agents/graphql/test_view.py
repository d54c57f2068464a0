"""The endpoint: who may call it and for whom, and what refused requests are answered with."""

import logging
from typing import Any

import pytest

from gateleg.apps.agents.graphql import agent_types
from tests.apps.agents.graphql.conftest import Callers
from tests.web.conftest import client_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
PING = "{ ping }"


async def test_a_member_asks_by_post(callers: Callers) -> None:
    assert (await callers.ann.ask(PING)).startswith("Hello at ")


async def test_a_caller_without_a_key_is_refused_in_the_envelope(callers: Callers) -> None:
    async with client_of(callers.app) as nobody:
        answer = await nobody.post("/graphql", json={"query": PING})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not-signed-in")


async def test_nothing_runs_by_get(callers: Callers) -> None:
    answer = await callers.ann.client.get("/graphql", params={"query": PING})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "bad-request")


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'[{"query": "{ ping }"}]', "application/json", 400),
        (b"{}", "application/json", 400),
        (b"{ ping }", "text/plain", 400),
        (b'{"query": "{ ping }", "variables": 5}', "application/json", 400),
        (b'{"query": "{ ping }", "part_id": 5}', "application/json", 400),
        (b'{"query": 5}', "application/json", 400),
    ],
)
async def test_a_request_that_is_no_operation_is_refused_in_the_shape_of_graphql(
    callers: Callers, content: bytes, kind: str, status: int
) -> None:
    answer = await callers.ann.client.post("/graphql", content=content, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (status, "bad-request"), answer.text


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{", "bad-query"),
        ("{ nothing }", "bad-query"),
        ("{" * 5000, "bad-query"),
        ("{ " + "ping " * 20_000 + "}", "bad-query"),
        ("{ ping(a: 1) }", "bad-query"),
        ("query a { ping } query b { ping }", "bad-query"),
        ("{ agentList(limit: 1001) { total } }", "bad-field"),
        ("{ agentList(limit: 0) { total } }", "bad-field"),
        ("{ agentList(pageNumber: 0) { total } }", "bad-field"),
        ('{ agentList(after: "nonsense") { total } }', "cursor-rejected"),
        ("{ " + " ".join(f"a{n}: ping" for n in range(31)) + " }", "too-many-aliases"),
        ("{ agentList(limit: 1000) { agentList { mcpServers { tools } } } }", "query-too-complex"),
        ("{ agentList { agentList { flowSnippet { promptTemplate { mcpServers { mcpLabel } } } } } }", None),
    ],
)
async def test_every_error_has_a_code(callers: Callers, query: str, code: str | None) -> None:
    answer = await callers.ann.post(query)
    found = [error["extensions"]["code"] for error in answer.get("errors") or []]
    assert found == ([] if code is None else [code])


async def test_an_unforeseen_failure_says_nothing_of_itself(
    callers: Callers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **key: Any) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("gateleg.apps.agents.graphql.loaders.Loaders.find", fail)
    with caplog.at_level(logging.ERROR):
        answer = await callers.ann.post('{ element(elementUuid: "x") { elementUuid } }')
    (error,) = answer["errors"]
    assert (error["extensions"]["code"], error["path"], "swordfish" in str(answer)) == ("internal", ["element"], False)
    assert "swordfish" in caplog.text


@pytest.mark.parametrize("where", ["header", "body"])
async def test_a_request_names_a_part_only_where_its_key_may(callers: Callers, where: str) -> None:
    def named(part: str) -> dict[str, Any]:
        body = {"query": "{ agentList { total } }"}
        return {"json": body, "headers": {"X-Part-ID": part}} if where == "header" else {"json": body | {"part_id": part}}

    allowed = await callers.admin.client.post("/graphql", **named("acme"))
    assert allowed.json()["data"]["agentList"]["total"] == 0
    refused = await callers.ann.client.post("/graphql", **named("umbrella"))
    assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (403, "foreign-part")


async def test_a_document_that_is_sent_again_is_read_once(callers: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    await callers.ann.ask(PING)
    monkeypatch.setattr("strawberry.schema.schema.parse", None)
    assert (await callers.ann.ask(PING)).startswith("Hello at ")


async def test_introspection_is_answered(callers: Callers) -> None:
    from graphql import get_introspection_query

    found = await callers.ann.ask(get_introspection_query())
    assert {"AgentType", "JSONCamelCase"} <= {one["name"] for one in found["types"]}
    assert agent_types.AgentType is not None


async def test_browsers_get_a_page_that_needs_no_other_host(callers: Callers) -> None:
    page = await callers.ann.client.get("/graphql", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for name in ("page.css", "page.js", "documents.js", "explorer.js"):
        part = await callers.ann.client.get(f"/graphql/{name}")
        assert part.status_code == 200
        assert "http" not in part.text.replace("/^http/", "")
    for name in ("view.py", "%2e%2e/view.py", "__init__.py", "nothing"):
        missing = await callers.ann.client.get(f"/graphql/{name}")
        assert missing.status_code == 404


@pytest.mark.parametrize(
    ("operation", "field"),
    [
        ('insertUpdateAgent(agentName: "a", llmProvider: "p", llmName: "l", configuration: [1]) { agent { agentUuid } }', "configuration"),
        ('insertUpdateAgent(agentName: "a", llmProvider: "p", llmName: "l", configuration: "x") { agent { agentUuid } }', "configuration"),
        ('insertUpdateMcpServer(mcpLabel: "m", mcpServerUrl: "https://a.example", headers: [1]) { mcpServer { mcpLabel } }', "headers"),
        ('insertUpdateWizardGroupWithWizards(wizardGroupName: "g", wizards: [5]) { wizardGroup { wizardGroupUuid } }', "wizards.0"),
        (
            'insertUpdateWizardGroupWithWizards(wizardGroupName: "g", wizards: [{wizardElements: [{element: 5}]}]) { ok: __typename }',
            "wizards.0.wizard_elements.element",
        ),
        (
            'insertUpdateWizardGroupWithWizards(wizardGroupName: "g", wizards: [{wizardElements: 5}]) { wizardGroup { weight } }',
            "wizards.0.wizard_elements",
        ),
    ],
)
async def test_json_that_is_not_an_object_is_refused_by_its_name(callers: Callers, operation: str, field: str) -> None:
    (error,) = (await callers.ann.post(f"mutation {{ {operation} }}"))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("bad-field", field)


async def test_a_part_has_one_name_in_the_header_and_in_the_body(callers: Callers) -> None:
    query = '{ presignedAwsS3Url(objectKey: "x") { url } }'
    by_header = await callers.admin.client.post("/graphql", json={"query": query}, headers={b"X-Part-ID": "Zoé".encode()})
    by_body = await callers.admin.client.post("/graphql", json={"query": query, "part_id": "Zoé"})
    paths = [answer.json()["data"]["presignedAwsS3Url"]["url"].partition("?")[0] for answer in (by_header, by_body)]
    assert paths[0] == paths[1]
