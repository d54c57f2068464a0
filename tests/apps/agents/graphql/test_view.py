"""The endpoint: who may call it and for whom, and what refused requests are answered with."""

import logging
from dataclasses import replace
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
        asked = await nobody.get("/graphql", headers={"accept": "application/json"})
    for one in (answer, asked):
        assert (one.status_code, one.json()["error"]["code"]) == (401, "not-signed-in")


async def test_a_browser_without_a_session_is_sent_to_sign_in_and_back(callers: Callers) -> None:
    async with client_of(callers.app) as nobody:
        answer = await nobody.get("/graphql", headers={"accept": "text/html,*/*"}, follow_redirects=False)
        script = await nobody.get("/graphql/page.js", headers={"accept": "text/html,*/*"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/signin?next=%2Fgraphql")
    assert script.status_code == 401


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


@pytest.mark.parametrize("expiration", [0, -1, 604_801])
async def test_a_signed_address_is_absolute_and_valid_for_a_time_that_makes_sense(callers: Callers, expiration: int) -> None:
    query = 'query q($e: Int) { presignedAwsS3Url(objectKey: "a/b.txt", expiration: $e) { url expiration } }'
    found = await callers.ann.ask(query)
    assert (found["url"].partition("/objects/")[0], found["expiration"]) == ("http://127.0.0.1:8000", 3600)
    assert (await callers.ann.ask(query, e=60))["expiration"] == 60
    (error,) = (await callers.ann.post(query, e=expiration))["errors"]
    assert (error["extensions"]["code"], "1 to 604,800 seconds" in error["message"]) == ("bad-field", True)


async def test_a_file_is_found_by_its_owner_and_through_a_thread_by_operators_and_nobody_else(callers: Callers) -> None:
    llm = 'insertUpdateLlm(llmName: "f", llmProvider: "files", moduleName: "m", className: "LocalHandler") { llm { llmName } }'
    await callers.admin.ask(f"mutation {{ {llm} }}")
    made = 'insertUpdateAgent(agentName: "A", llmProvider: "files", llmName: "f") { agent { agentUuid } }'
    agent = (await callers.ann.ask(f"mutation {{ {made} }}"))["agent"]["agentUuid"]
    begun = "mutation m($a: String!) { insertThread(agentUuid: $a) { thread { threadUuid } } }"
    thread = (await callers.ann.ask(begun, a=agent))["thread"]["threadUuid"]
    upload = "mutation m($a: String!, $g: JSONCamelCase!) { uploadFile(agentUuid: $a, arguments: $g) { uploadedFile { value } } }"
    file = (await callers.ann.ask(upload, a=agent, g={"filename": "a.txt", "encodedContent": "SGk="}))["uploadedFile"]["value"]
    query = "query q($a: String!, $g: JSONCamelCase!) { uploadedFile(agentUuid: $a, arguments: $g) { value fileDetail } }"
    through = {"fileId": file, "threadUuid": thread, "encodedContent": True}
    operator = replace(callers.admin, headers={"X-Part-ID": "acme"})
    for caller in (callers.ann, operator):
        assert (await caller.ask(query, a=agent, g=through))["fileDetail"]["encodedContent"] == "SGk="
    assert await operator.ask(query, a=agent, g={"fileId": file}) is None
    assert await callers.bob.ask(query, a=agent, g=through) is None


@pytest.mark.parametrize(
    "query",
    [
        "{ " + "agentList(limit: 1) { total } " * 200 + "}",
        "{ " + " ".join(f"...F{n}" for n in range(250)) + " }" + " ".join(f"fragment F{n} on Query {{ ping }}" for n in range(250)),
        "{ ...F0 }" + " ".join(f"fragment F{n} on Query {{ ...F{n + 1} }}" for n in range(250)) + "fragment F250 on Query { ping }",
    ],
)
async def test_documents_that_take_long_to_validate_are_not_validated(
    callers: Callers, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strawberry.schema.schema.validate_document", _unreachable)
    answer = await callers.ann.client.post("/graphql", json={"query": query})
    assert answer.json()["errors"][0]["extensions"]["code"] == "query-too-complex"


def _unreachable(*args: object) -> None:
    raise AssertionError("the document was validated")


async def test_a_body_that_is_nested_too_deeply_is_refused(callers: Callers) -> None:
    deep = '{"query": "{ ping }", "variables": {"a": ' + "[" * 5_000 + "]" * 5_000 + "}}"
    answer = await callers.ann.client.post("/graphql", content=deep, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "bad-request")
