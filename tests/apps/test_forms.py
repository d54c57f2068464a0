"""Forms of all applications: their fields are described, and a field that nobody declared is refused before anything is stored."""

import ast
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateleg.apps.agents.application import application as agents
from gateleg.apps.delphi.application import application as delphi
from gateleg.apps.mv.application import application as mv
from gateleg.apps.rag.application import application as rag
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import load_settings
from gateleg.web.app import create_app
from tests.test_rooms import MODULES

FORM = "multipart/form-data"
READERS = {"receive_files", "receive_form"}
#: Each route that takes a form, with what its path needs, and its fields.
ROUTES = {
    ("put", "/api/agents/files/{name}"): set[str](),
    ("post", "/api/delphi/conversations/{conversation}/files"): {"topic", "description", "group", "scale", "inverted", "new"},
    ("put", "/api/mv/projects/{project_id}/{asset}"): set[str](),
    ("post", "/api/mv/projects/{project_id}/scenes/{sequence}/upload_video"): set[str](),
    ("post", "/api/mv/projects/{project_id}/scenes/{sequence}/references"): set[str](),
    ("post", "/api/mv/references"): {"description"},
    ("post", "/api/rag/repository/{repository_id}/document"): {"collectionId"},
}


@pytest.fixture
async def admin(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    flags = {"store": "embedded::memory:", "objects": f"dir:{tmp_path}/objects", "data": tmp_path}
    async with Host.open(load_settings(flags=flags, environ={}), [delphi, mv, agents, rag]) as host:
        app, key = create_app(host, console=False), await host.keys.create("ada", Role.ADMIN)
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
        headers = {"authorization": f"Bearer {key.token}", "X-Part-ID": "acme"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", headers=headers) as client:
            yield client


def handlers() -> Iterator[tuple[str, ast.AsyncFunctionDef]]:
    """The functions of the package that receive forms."""
    for module, path in MODULES.items():
        if module == "gateleg.web.uploads.receiver":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AsyncFunctionDef) and READERS & {getattr(call.func, "id", "") for call in calls(node)}:
                yield f"{module}.{node.name}", node


def calls(node: ast.AST) -> list[ast.Call]:
    return [child for child in ast.walk(node) if isinstance(child, ast.Call)]


def test_every_route_that_receives_a_form_describes_it() -> None:
    described = {}
    for name, node in handlers():
        decorators = [call for decorator in node.decorator_list for call in calls(decorator)]
        extras = [word.value for call in decorators for word in call.keywords if word.arg == "openapi_extra"]
        described[name] = [getattr(getattr(extra, "func", None), "id", None) for extra in extras]
    assert len(described) == len(ROUTES)
    assert {name: how for name, how in described.items() if how != ["form_body"]} == {}


async def test_the_fields_and_the_file_of_every_form_are_described(admin: httpx.AsyncClient) -> None:
    document = (await admin.get("/api/openapi.json")).json()
    found: dict[tuple[str, str], set[str]] = {}
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            content = operation.get("requestBody", {}).get("content", {})
            if FORM in content:
                schema = content[FORM]["schema"]
                assert (schema["additionalProperties"], "file" in schema["required"]) == (False, True)
                found[verb, path] = set(schema["properties"]) - {"file"}
                query = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"}
                assert found[verb, path] == query, path
    assert found == ROUTES


async def places(admin: httpx.AsyncClient) -> dict[str, Any]:
    project = {"prompt": "A lighthouse at night.", "characterDescription": "A sailor in a yellow coat."}
    made = await admin.post("/api/mv/projects", json=project)
    assert made.status_code == 201, made.text
    repository = await admin.post("/api/rag/repository", json={"repositoryId": "papers"})
    assert repository.status_code == 201, repository.text
    return {
        "name": "a.txt",
        "conversation": "town",
        "project_id": made.json()["projectId"],
        "asset": "lyrics",
        "sequence": 1,
        "repository_id": "papers",
    }


@pytest.mark.parametrize("media_type", [FORM, "application/x-www-form-urlencoded"])
async def test_a_field_that_nobody_declared_is_refused_by_every_form(admin: httpx.AsyncClient, media_type: str) -> None:
    known = await places(admin)
    for (verb, path), fields in ROUTES.items():
        if "scenes" in path:
            # It needs a planned film; the kit reads its form as all others.
            continue
        address = path.format(**known)
        if media_type == FORM:
            refused = await admin.request(verb, address, data={"collectionID": "secret"}, files={"file": ("a.txt", b"Hello there.")})
            assert refused.status_code == 422, (path, refused.text)
            message = refused.json()["error"]["message"]
            assert message.startswith("There is no field 'collectionID'."), path
            assert all(field in message for field in fields), path
        else:
            refused = await admin.request(verb, address, data={"collectionID": "secret"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad-form"), path


async def test_unknown_details_of_an_upload_in_parts_are_refused(admin: httpx.AsyncClient) -> None:
    await places(admin)
    sent = {"filename": "a.txt", "filetype": "text/plain", "repositoryId": "papers", "collectionid": "secret"}
    header = ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in sent.items())
    begun = await admin.post("/api/rag/uploads/document", headers={"upload-length": "3", "upload-metadata": header})
    assert (begun.status_code, begun.json()["error"]["code"]) == (422, "invalid")
    assert "Did you mean 'collectionId'?" in begun.json()["error"]["message"]
    direct = {"name": "a.txt", "details": {"repositoryId": "papers", "collectionid": "secret"}}
    assert (await admin.post("/api/rag/uploads/document/links", json=direct)).status_code == 422
    known = {"name": "a.txt", "details": {"repositoryId": "papers", "collectionId": "default"}}
    assert (await admin.post("/api/rag/uploads/document/links", json=known)).status_code == 201


async def test_a_form_names_the_collection(admin: httpx.AsyncClient) -> None:
    await places(admin)
    secret = (await admin.post("/api/rag/repository/papers/collections", json={"name": "Secret", "private": True})).json()["collectionId"]
    where, file = "/api/rag/repository/papers/document", {"file": ("a.txt", b"The price is 77 million.")}
    for query, data in (
        ("", {"collectionId": "Secret"}),
        (f"?collectionId={secret}", {}),
        ("?collectionId=Secret", {"collectionId": "Secret"}),
    ):
        sent = await admin.post(where + query, data=data, files=file)
        assert (sent.status_code, sent.json().get("collectionId")) == (202, secret), sent.text
    for query, data in (("?collectionId=default", {"collectionId": "Secret"}), ("?collection=Secret", {}), ("?collectionID=Secret", {})):
        refused = await admin.post(where + query, data=data, files=file)
        assert refused.status_code == 422, (query, refused.text)
    listed = (await admin.get("/api/rag/repository/papers/document")).json()["documents"]
    assert {document["collection_id"] for document in listed} == {secret}


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("ingest", {"documents": [{"text": "77 million", "documentName": "a"}]}),
        ("bulk", {"keys": ["a"]}),
        ("presigned-url", {"name": "a.txt"}),
    ],
)
async def test_other_ways_in_refuse_what_forms_refuse(admin: httpx.AsyncClient, route: str, body: dict[str, Any]) -> None:
    await places(admin)
    secret = (await admin.post("/api/rag/repository/papers/collections", json={"name": "Secret", "private": True})).json()["collectionId"]
    where = f"/api/rag/repository/papers/{route}"
    for query, sent in (
        ("?collectionID=Secret", {}),
        ("?collectionId=default", {"collectionId": "Secret"}),
        ("", {"collectionID": "Secret"}),
    ):
        refused = await admin.post(where + query, json=body | sent)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid"), (query, refused.text)
    for query, sent in (
        ("?collectionId=Secret", {}),
        ("", {"collectionId": "Secret"}),
        (f"?collectionId={secret}", {"collectionId": secret}),
    ):
        answered = await admin.post(where + query, json=body | sent)
        if route == "bulk":
            # The object of this key does not exist in the collection.
            assert answered.json()["error"]["code"] != "invalid", answered.text
        else:
            assert (answered.is_success, answered.json()["collectionId"]) == (True, secret), answered.text
