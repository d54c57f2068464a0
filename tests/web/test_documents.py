import re

import httpx
import pytest

from gateleg.extras import MissingPackage
from gateleg.web.documents import viewer_folder


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


async def test_the_page_needs_no_other_host_and_nothing_inline(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert re.findall(r"<script[^>]*>([^<]*)", answer.text) == ["", ""]
    assert "<style" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:;")
    assert "unsafe" not in policy
    files = re.findall(r'(?:src|href)="(/api/docs[^"]*)"', answer.text)
    assert len(files) == 4
    for file in files:
        part = await client.get(file)
        assert part.status_code == 200
        assert part.headers["content-type"].startswith("text/css" if ".css" in file else "text/javascript")
    assert re.findall(r'(?:src|href)="(https?:)?//', answer.text) == []
    # With the version in its address, a file may be kept.
    assert "max-age" in (await client.get(files[0])).headers["cache-control"]


@pytest.mark.parametrize("name", ["redoc.standalone.js", "..%2F__init__.py", "%2Fetc%2Fpasswd", "nothing.js"])
async def test_only_the_files_of_the_viewer_are_served(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.get(f"/api/docs/{name}")).status_code == 404


async def test_a_host_without_the_viewer_says_which_extra_brings_it(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.web.documents.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="extra `web`"):
        viewer_folder()
