"""Who finds what, by every way of searching and asking. Nothing crosses."""

import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gateleg.apps.rag.errors import RagAccessDenied, UnknownCollection, UnknownRepository
from tests.apps.rag.people import PEOPLE
from tests.apps.rag.served import ROOT, Served

#: Who may search which collection of the repository of the lawyers; nobody else may.
OPEN = {"admin", "operator", "viewer", "rag admin", "creator", "namesake", "lawyer", "partner"}
SEARCHERS: dict[str, set[str]] = {
    "Open": OPEN,
    "Partners": OPEN - {"lawyer", "namesake"},
    "Private": OPEN - {"lawyer", "namesake", "partner"},
    "Deleted": set(),
}


@pytest.fixture
async def legal_world(served: Served) -> dict[str, str]:
    """The collections of the lawyers, each with a document of its own name; their ids."""
    await served.repository("elsewhere", allowedGroups=["engineers"])
    found = {
        "Open": await served.collection("creator", "legal", "Open"),
        "Partners": await served.collection("creator", "legal", "Partners", allowedGroups=["partners"]),
        "Private": await served.collection("creator", "legal", "Private", private=True),
        "Deleted": await served.collection("creator", "legal", "Deleted"),
    }
    for name, collection in found.items():
        await served.document("legal", collection, f"{name}.txt")
    assert (await served["creator"].delete(f"{ROOT}/legal/collections/{found['Deleted']}")).status_code in (200, 202, 204)
    return found


async def searched(served: Served, who: str, collection: str) -> list[str] | None:
    """The documents that a search of one collection finds; None if it is not found, or found and not to be searched since it is deleted."""
    answer = await served[who].post(
        f"{ROOT}/legal/search", json={"query": "passage", "searchMode": "keyword", "collectionIds": [collection]}
    )
    if answer.status_code in (403, 404):
        return None
    assert answer.status_code == 200, answer.text
    return sorted({hit["documentName"] for hit in answer.json()["hits"]})


async def everything(served: Served, who: str, path: str, **body: Any) -> set[str] | None:
    """The documents that are found in the whole repository."""
    answer = await served[who].post(f"{ROOT}/legal/{path}", json={"searchMode": "keyword", **body})
    if answer.status_code == 404:
        return None
    assert answer.status_code == 200, answer.text
    return {hit["documentName"] for hit in answer.json()["hits"]}


async def by_tool(served: Served, who: str, collection: str) -> list[str] | None:
    tool = next(one for one in served.host.tools_for(PEOPLE[who]) if one.name == "rag.search")
    given = tool.tool.input.model_validate({"repository": "legal", "collection": collection, "query": "passage"})
    try:
        found = await tool.tool.call(PEOPLE[who], given)
    except (RagAccessDenied, UnknownCollection, UnknownRepository):
        return None
    return sorted({passage["document"] for passage in found["passages"]})


async def test_each_way_finds_what_somebody_may_search_and_nothing_else(served: Served, legal_world: dict[str, str]) -> None:
    for who in PEOPLE:
        seen = {f"{name}.txt" for name, people in SEARCHERS.items() if who in people}
        for name, collection in legal_world.items():
            expected = [f"{name}.txt"] if f"{name}.txt" in seen else None
            assert await searched(served, who, collection) == expected, (who, name)
            assert await by_tool(served, who, collection) == expected, (who, name)
        whole = await everything(served, who, "search", query="passage")
        assert (whole or set()) == seen, who
        asked = await everything(served, who, "ask", question="Which passage?")
        assert (asked or set()) == seen, who


async def test_a_document_of_another_repository_is_not_found(served: Served, legal_world: dict[str, str]) -> None:
    answer = await served["engineer"].post(f"{ROOT}/elsewhere/search", json={"query": "passage", "collectionIds": [legal_world["Open"]]})
    assert answer.status_code == 404
    document = (await served["admin"].post(f"{ROOT}/legal/search", json={"query": "passage", "topK": 1})).json()["hits"][0]["documentId"]
    answer = await served["engineer"].post(f"{ROOT}/elsewhere/search", json={"query": "passage", "documentIds": [document]})
    assert answer.json()["hits"] == []


async def test_rights_that_are_taken_away_hold_at_once(served: Served, legal_world: dict[str, str]) -> None:
    assert await searched(served, "lawyer", legal_world["Open"]) == ["Open.txt"]
    changed = await served["creator"].put(f"{ROOT}/legal/collections/{legal_world['Open']}", json={"private": True})
    assert changed.status_code == 200
    assert await searched(served, "lawyer", legal_world["Open"]) is None


async def test_conversations_are_their_owners_alone(served: Served, legal_world: dict[str, str]) -> None:
    body = {"question": "Which passage?", "searchMode": "keyword", "conversationId": "mine", "collectionIds": [legal_world["Open"]]}
    assert (await served["lawyer"].post(f"{ROOT}/legal/ask", json=body)).status_code == 200
    assert len((await served["lawyer"].get("/api/rag/conversation/mine")).json()["items"]) == 1
    for who in ("creator", "namesake", "admin"):
        assert (await served[who].get("/api/rag/conversation/mine")).status_code == 404


async def test_golden_sets_are_for_those_who_may_search_and_written_by_those_who_may_change(
    served: Served, legal_world: dict[str, str]
) -> None:
    path = f"{ROOT}/legal/collections/{legal_world['Partners']}/golden-sets"
    draft = {"name": "Mine", "questions": [{"question": "passage", "documents": ["Partners.txt"]}]}
    codes = {who: (await served[who].post(path, json=draft)).status_code for who in PEOPLE}
    assert {who for who, code in codes.items() if code == 201} == {"admin", "operator", "rag admin", "creator"}
    codes = {who: (await served[who].get(path)).status_code for who in PEOPLE}
    assert {who for who, code in codes.items() if code == 200} == SEARCHERS["Partners"]
    assert {code for code in codes.values() if code != 200} == {404}


async def test_an_evaluation_is_a_job_whose_run_is_kept(served: Served, legal_world: dict[str, str]) -> None:
    path = f"{ROOT}/legal/collections/{legal_world['Open']}"
    questions = [{"question": "passage", "documents": ["Open.txt"]}, {"question": "What is the speed of light?"}]
    made = (await served["creator"].post(f"{path}/golden-sets", json={"name": "Mine", "questions": questions})).json()
    configurations = [{"name": "words", "request": {"searchMode": "keyword"}}, {"name": "both"}]
    body = {"setId": made["setId"], "configurations": configurations, "answers": True}
    started = await served["lawyer"].post(f"{path}/evaluations", json=body)
    assert started.status_code == 202, started.text
    await served.work(started.json()["jobId"])
    (run,) = (await served["lawyer"].get(f"{path}/evaluations")).json()["items"]
    assert run["runId"] == started.json()["runId"]
    assert [result["name"] for result in run["results"]] == ["words", "both"]
    assert [(result["ndcg"], result["mrr"], result["hitRate"]) for result in run["results"]] == [(1.0, 1.0, 1.0)] * 2
    assert run["results"][0]["refused"] == 1.0
    assert run["comparisons"][0]["equal"] == 1
    wrong = await served["lawyer"].post(f"{path}/evaluations", json={**body, "setId": "unknown"})
    assert wrong.status_code == 404
    strange = {**body, "configurations": [{"name": "x", "request": {"searchMode": "magic"}}]}
    assert (await served["lawyer"].post(f"{path}/evaluations", json=strange)).status_code == 422


async def test_the_mcp_tools_have_the_rights_of_the_key(served: Served, legal_world: dict[str, str]) -> None:
    async def called(who: str, tool: str, arguments: dict[str, Any]) -> Any:
        transport = httpx2.ASGITransport(served.app, client=("127.0.0.1", 50_000))
        headers = {"Authorization": served[who].headers["authorization"]}
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers) as http,
            Client(streamable_http_client("http://127.0.0.1:8000/mcp/rag", http_client=http), mode="auto", cache=None) as client,
        ):
            assert {one.name for one in (await client.list_tools()).tools} == {"search", "ask"}
            return await client.call_tool(tool, arguments)

    async with served.app.router.lifespan_context(served.app):
        found = await called("lawyer", "search", {"repository": "legal", "query": "passage"})
        assert {passage["document"] for passage in json.loads(found.content[0].text)["passages"]} == {"Open.txt"}
        assert (await called("engineer", "search", {"repository": "legal", "query": "passage"})).is_error
        assert (await called("lawyer", "ask", {"repository": "legal", "collection": "Private", "question": "passage"})).is_error
        assert (await called("lawyer", "search", {"repository": "legal"})).is_error
