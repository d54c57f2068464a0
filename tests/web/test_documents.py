import html
import json
import re

import httpx

from gateleg.web.documents import reference_page


async def test_every_operation_is_described_with_its_errors(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    operations = {(verb, path): what for path, verbs in document["paths"].items() for verb, what in verbs.items()}
    assert ("post", "/api/jobs") in operations
    assert ("get", "/api/music/whoami") in operations
    assert not any(path.startswith(("/signin", "/api/docs")) for _, path in operations)
    for (verb, path), what in operations.items():
        assert what.get("description") or "music" in path, (verb, path)
        assert what["responses"]["422"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorEnvelope"}


async def test_operations_have_names_of_their_own(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/openapi.json")).json()
    names = [what["operationId"] for verbs in document["paths"].values() for what in verbs.values()]
    assert len(set(names)) == len(names)


async def test_the_page_needs_no_other_host_and_runs_only_its_own_script(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert re.findall(r"<script[^>]*>[^<]*", answer.text) == ['<script src="/api/docs.js" defer>']
    assert re.findall(r"\son\w+=", re.sub(r'"[^"]*"', "", answer.text)) == []
    assert re.findall(r'(?:src|href)="(https?:)?//', answer.text) == []
    assert "/api/jobs/{job_id}/tree" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; connect-src 'self';")
    assert "unsafe-eval" not in policy
    script = await client.get("/api/docs.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "innerHTML" not in script.text


def test_what_a_document_says_does_not_become_markup() -> None:
    parameter = {"name": "<i>\"'", "in": "query", "schema": {"type": "string"}}
    operation = {"description": "<b>bold</b>", "parameters": [parameter]}
    page = reference_page({"info": {"title": "<x>"}, "paths": {"/a": {"get": operation}}})
    assert "<b>bold" not in page
    assert "<i>" not in page
    assert "<x>" not in page
    assert json.loads(html.unescape(re.findall(r'data-call="([^"]*)"', page)[0]))["parameters"][0]["name"] == "<i>\"'"
