"""Everybody at every route: nothing of a collection reaches people who may not read it, and nobody reaches through another repository.

The routes are taken from the application itself, so that a new one without an entry here fails.
"""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from gateleg.apps.rag.evaluating.service import QuestionDraft, SetDraft, create_set
from gateleg.apps.rag.ingesting.job_types import REINGEST, ReingestConfig
from gateleg.jobs import Submission
from gateleg.web.app import flat_routes
from tests.apps.rag.people import PEOPLE
from tests.apps.rag.served import ROOT, Served

#: What must not be seen: it is in the name, the description, the document's name and text, and the job.
SECRET = "zanzibar"
HOST = {"admin", "operator", "viewer"}
LAWYERS = {"rag admin", "creator", "namesake", "lawyer", "partner"}
#: Who reads the collection, by how it is shared; and who changes it. The document is the partner's.
SHARED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "with its repository": ({}, HOST | LAWYERS),
    "with a group": ({"allowedGroups": ["partners"]}, HOST | {"rag admin", "creator", "partner"}),
    "with nobody": ({"private": True}, HOST | {"rag admin", "creator"}),
}
#: Surfaces that speak another protocol have a test of their own: `searching/test_rights.py`.
#: What of their protocol uploads speak is the same for everybody.
ELSEWHERE = {("GET", "/mcp/rag"), ("OPTIONS", "/uploads/{kind}")}
CHANGERS = {"admin", "operator", "rag admin", "creator"}
Kind = Literal["repository", "collection", "document", "job", "list", "own", "host"]


@dataclass(frozen=True)
class Entry:
    """How a route is asked, and who may."""

    #: what it is about, which decides whether a refusal is 403 or 404
    about: Kind
    #: who may, of those who can read it; everybody without a set
    may: Iterable[str] | None = None
    params: dict[str, str] = field(default_factory=dict)
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: whether it changes something, so that it is not done by those who may: other tests do
    changes: bool = False
    #: statuses for those who may
    good: tuple[int, ...] = (200,)


@dataclass(frozen=True)
class Target:
    """What everybody asks for."""

    collection_id: str
    document_id: str
    job_id: str
    set_id: str
    pipeline_id: str
    readers: set[str]

    def path(self, template: str, repository_id: str = "legal") -> str:
        ids = {name: getattr(self, name) for name in ("collection_id", "document_id", "job_id", "set_id", "pipeline_id")}
        return template.format(
            repository_id=repository_id, conversation_id="c1", number=1, page=1, run_id="none", kind="document", upload_id="u" * 32, **ids
        )


def beginning(target: Target) -> dict[str, str]:
    """The headers with which an upload into the collection begins."""
    details = {"filename": "x.txt", "repositoryId": "legal", "collectionId": target.collection_id}
    pairs = (f"{name} {b64encode(value.encode()).decode()}" for name, value in details.items())
    return {"upload-length": "1", "upload-metadata": ",".join(pairs)}


def entries(target: Target) -> dict[tuple[str, str], Entry]:
    """An entry for every route."""
    one, many = "/repository/{repository_id}/collections/{collection_id}", "/repository/{repository_id}/collections"
    document = "/repository/{repository_id}/document/{document_id}"
    pipeline = "/repository/{repository_id}/pipelines/{pipeline_id}"
    owners, adders, managers = CHANGERS | {"partner"}, set(PEOPLE) - {"viewer"}, CHANGERS - {"creator"}
    places = [{"repositoryId": "legal", "collectionId": target.collection_id}]
    query: dict[str, Any] = {"query": SECRET, "searchMode": "keyword"}
    question: dict[str, Any] = {"question": SECRET, "searchMode": "keyword"}
    found: dict[tuple[str, str], Entry] = {
        ("GET", "/repository"): Entry("list"),
        ("GET", "/repository/status"): Entry("host", HOST),
        ("POST", "/repository"): Entry("host", {"admin"}, body={"repositoryId": "new"}, changes=True),
        ("GET", "/repository/{repository_id}"): Entry("repository"),
        ("PUT", "/repository/{repository_id}"): Entry("repository", {"admin", "operator", "rag admin"}, body={}),
        ("DELETE", "/repository/{repository_id}"): Entry("repository", {"admin"}, changes=True),
        ("GET", "/repository/collections"): Entry("list", params={"filter": SECRET}),
        ("GET", many): Entry("repository", params={"filter": SECRET}),
        ("POST", many): Entry("repository", adders, body={"name": "new"}, changes=True),
        ("GET", one): Entry("collection"),
        ("PUT", one): Entry("collection", CHANGERS, body={}),
        ("PATCH", one): Entry("collection", CHANGERS, body={}),
        ("DELETE", one): Entry("collection", CHANGERS, changes=True),
        ("GET", one + "/access"): Entry("collection"),
        ("GET", one + "/statistics"): Entry("collection"),
        ("POST", one + "/reingest"): Entry("collection", CHANGERS, changes=True),
        ("GET", one + "/golden-sets"): Entry("collection"),
        ("POST", one + "/golden-sets"): Entry("collection", CHANGERS, body={"name": "x", "make": 1}, changes=True),
        ("GET", one + "/golden-sets/{set_id}"): Entry("collection"),
        ("DELETE", one + "/golden-sets/{set_id}"): Entry("collection", CHANGERS, changes=True),
        ("POST", one + "/evaluations"): Entry("collection", body={"setId": "s", "configurations": [{"name": "x"}]}, good=(404,)),
        ("GET", one + "/evaluations"): Entry("collection"),
        ("GET", one + "/evaluations/{run_id}"): Entry("collection", good=(404,)),
        ("GET", "/repository/{repository_id}/jobs"): Entry("repository"),
        ("GET", "/repository/{repository_id}/jobs/{job_id}"): Entry("job", CHANGERS | {"viewer"}),
        ("POST", "/search"): Entry("collection", body={**query, "places": places}),
        ("POST", "/repository/{repository_id}/search"): Entry("collection", body={**query, "collectionIds": [target.collection_id]}),
        ("GET", "/repository/{repository_id}/similaritySearch"): Entry(
            "collection", params={"query": SECRET, "collectionId": target.collection_id, "searchMode": "keyword"}
        ),
        ("POST", "/ask"): Entry("collection", body={**question, "places": places}),
        ("POST", "/repository/{repository_id}/ask"): Entry("collection", body={**question, "collectionIds": [target.collection_id]}),
        ("GET", "/conversation/{conversation_id}"): Entry("own"),
        ("DELETE", "/conversation/{conversation_id}"): Entry("own"),
        ("POST", "/repository/{repository_id}/bulk"): Entry(
            "collection", adders, body={"keys": ["x"], "collectionId": target.collection_id}, changes=True
        ),
        ("POST", "/repository/{repository_id}/ingest"): Entry(
            "collection",
            adders,
            body={"documents": [{"text": "x", "documentName": "x"}], "collectionId": target.collection_id},
            changes=True,
        ),
        ("POST", "/repository/{repository_id}/document"): Entry(
            "collection", adders, params={"collectionId": target.collection_id}, changes=True
        ),
        ("POST", "/repository/{repository_id}/presigned-url"): Entry(
            "collection", adders, body={"name": "x.txt", "collectionId": target.collection_id}, good=(201,)
        ),
        ("POST", "/repository/presigned-url"): Entry(
            "collection",
            adders,
            params={"repositoryId": "legal"},
            body={"name": "x.txt", "collectionId": target.collection_id},
            good=(201,),
        ),
        # Uploads in parts: who begins one may add to the collection, and it is theirs alone.
        ("POST", "/uploads/{kind}"): Entry("collection", adders, headers=beginning(target), good=(201,)),
        ("POST", "/uploads/{kind}/links"): Entry(
            "collection",
            adders,
            body={"name": "x.txt", "details": {"repositoryId": "legal", "collectionId": target.collection_id}},
            good=(201,),
        ),
        ("HEAD", "/uploads/{kind}/{upload_id}"): Entry("own"),
        ("GET", "/uploads/{kind}/{upload_id}"): Entry("own"),
        ("PATCH", "/uploads/{kind}/{upload_id}"): Entry("own", headers={"upload-offset": "0"}),
        ("DELETE", "/uploads/{kind}/{upload_id}"): Entry("own"),
        ("POST", "/uploads/{kind}/{upload_id}/finish"): Entry("own"),
        ("POST", "/chunking/preview"): Entry("list", body={"text": "x"}),
        ("GET", "/repository/{repository_id}/document"): Entry("collection", params={"collectionId": target.collection_id}),
        ("DELETE", "/repository/{repository_id}/document"): Entry(
            "document", owners, body={"documentIds": [target.document_id]}, changes=True
        ),
        ("GET", document): Entry("document"),
        ("PATCH", document): Entry("document", owners, body={"metadata": {}}, changes=True),
        ("DELETE", document): Entry("document", owners, changes=True),
        ("GET", document + "/download"): Entry("document"),
        ("GET", document + "/chunks"): Entry("document"),
        # It is a text: those who may read it are told that its pages cannot be drawn.
        ("GET", document + "/pages/{page}"): Entry("document", good=(404,)),
        ("GET", document + "/pages/{page}/image"): Entry("document", good=(404,)),
        ("POST", document + "/reingest"): Entry("document", owners, changes=True),
        ("POST", document + "/revisions/{number}/restore"): Entry("document", owners, good=(422,)),
        ("GET", pipeline): Entry("repository", managers, params={"collectionId": target.collection_id}),
        ("POST", pipeline + "/run"): Entry("repository", managers, params={"collectionId": target.collection_id}, changes=True),
        ("GET", "/repository/{repository_id}/{document_id}"): Entry("document"),
        ("GET", "/repository/{repository_id}/{document_id}/download"): Entry("document"),
        ("GET", "/jobs"): Entry("list", params={"subject": f"rag/legal/{target.collection_id}"}),
        ("GET", "/jobs/{job_id}"): Entry("job", CHANGERS | {"viewer"}),
        ("GET", "/jobs/{job_id}/tree"): Entry("job", CHANGERS | {"viewer"}),
        ("GET", "/jobs/{job_id}/logs"): Entry("job", CHANGERS | {"viewer"}),
        ("GET", "/jobs/{job_id}/artifacts"): Entry("job", CHANGERS | {"viewer"}),
        ("POST", "/jobs/{job_id}/cancel"): Entry("job", CHANGERS, changes=True),
        ("POST", "/jobs/{job_id}/tree/cancel"): Entry("job", CHANGERS, changes=True),
        ("POST", "/jobs/{job_id}/retry"): Entry("job", CHANGERS, changes=True),
        # It does not end by itself for those who may follow it.
        ("GET", "/events/rag/jobs/{job_id}"): Entry("job", CHANGERS | {"viewer"}, changes=True),
    }
    for method, path in list(found):
        if path in (one, many) and method != "PATCH":
            found[method, path.replace("/collections", "/collection")] = found[method, path]
    return found


def routes_of(served: Served) -> set[tuple[str, str]]:
    """All routes of the application, those for jobs and events too."""
    found = set()
    for route in flat_routes(served.app.routes):
        path = getattr(route, "path", "")
        if path.startswith(("/api/rag/", "/events/rag/", "/mcp/rag")):
            path = path.replace(":path}", "}")
            found |= {(method, path.removeprefix("/api/rag")) for method in getattr(route, "methods", None) or ["GET"]}
    return found


async def prepare(served: Served, shared: dict[str, Any], readers: set[str]) -> Target:
    collection_id = await served.collection("creator", "legal", SECRET, description=SECRET, **shared)
    document = await served.document("legal", collection_id, f"{SECRET}.txt", username="paul", text=SECRET)
    config = ReingestConfig(repository_id="legal", collection_id=collection_id, username=SECRET)
    submission = Submission(REINGEST, config, subject=f"rag/legal/{collection_id}", created_by="ann")
    job = (await served.host.queue.submit(submission)).job
    pipelines = {"pipelines": [{"s3Bucket": SECRET, "s3Prefix": SECRET, "paused": True}]}
    changed = await served["admin"].put(f"{ROOT}/legal/collections/{collection_id}", json=pipelines)
    draft = SetDraft(name=SECRET, questions=[QuestionDraft(question=f"Where is {SECRET}?", documents=[document.document_id])])
    golden = await create_set(served.host.resources["rag"], PEOPLE["creator"], "legal", collection_id, draft)
    return Target(
        collection_id, document.document_id, str(job.job_id), golden.set_id, changed.json()["pipelines"][0]["pipelineId"], readers
    )


def expected(who: str, entry: Entry, target: Target) -> tuple[int, ...] | None:
    """The statuses that somebody may get; None for what is not done."""
    reads = {
        "repository": HOST | LAWYERS,
        "collection": target.readers,
        "document": target.readers,
        "job": target.readers & (CHANGERS | {"viewer"}),
        "list": set(PEOPLE),
        "own": set(),
        "host": set(PEOPLE),
    }[entry.about]
    if who not in reads:
        return (404,)
    if entry.may is not None and who not in entry.may:
        return (403,)
    return None if entry.changes else entry.good


async def send(served: Served, who: str, method: str, path: str, entry: Entry, target: Target, repository_id: str = "legal") -> Any:
    where = target.path(path, repository_id)
    whole = where if where.startswith("/events") else f"/api/rag{where}"
    options: dict[str, Any] = {"params": entry.params} if entry.params else {}
    if entry.headers:
        options["headers"] = entry.headers
    if entry.body is not None:
        options["json"] = entry.body
    elif method == "POST" and path.endswith("/document"):
        options["content"] = b"x"
    return await served[who].request(method, whole, **options)


@pytest.mark.parametrize("how", SHARED)
async def test_nothing_reaches_those_who_may_not_read_it(served: Served, how: str) -> None:
    shared, readers = SHARED[how]
    target = await prepare(served, shared, readers)
    wrong: list[str] = []
    for (method, path), entry in entries(target).items():
        for who in PEOPLE:
            statuses = expected(who, entry, target)
            if statuses is None:
                continue
            answer = await send(served, who, method, path, entry, target)
            if answer.status_code not in statuses:
                wrong.append(f"{who}: {method} {path} is {answer.status_code}, not {statuses}: {answer.text[:200]}")
            asked = str(entry.params) + str(entry.body)
            if who not in readers and answer.text.replace(asked, "").count(SECRET) > asked.count(SECRET):
                wrong.append(f"{who}: {method} {path} tells: {answer.text[:300]}")
        nobody = await send(served, "nobody", method, path, entry, target)
        if nobody.status_code != 401:
            wrong.append(f"nobody: {method} {path} is {nobody.status_code}")
    assert wrong == []


async def test_nothing_is_reached_through_another_repository(served: Served) -> None:
    target = await prepare(served, {}, HOST | LAWYERS)
    wrong: list[str] = []
    for (method, path), entry in entries(target).items():
        if entry.about not in ("collection", "document", "job") or "{repository_id}" not in path:
            continue
        for who in ("admin", "creator", "outsider"):
            answer = await send(served, who, method, path, entry, target, "commons")
            if answer.status_code != 404 or SECRET in answer.text.replace(SECRET + "'", ""):
                wrong.append(f"{who}: {method} {path} is {answer.status_code}: {answer.text[:200]}")
    assert wrong == []


async def test_documents_of_default_collections_with_one_id_are_kept_apart(served: Served) -> None:
    document = await served.document("legal", "local:minilm", f"{SECRET}.txt", username="olga", text=SECRET)
    target = Target("local:minilm", document.document_id, "none", "none", "none", HOST | LAWYERS)
    wrong: list[str] = []
    for (method, path), entry in entries(target).items():
        words = ("/search", "/similaritySearch", "/ask", "/document")
        if "{repository_id}" in path and (entry.about == "document" or path.endswith(words)):
            for who in ("admin", "outsider"):
                answer = await send(served, who, method, path, entry, target, "commons")
                told = SECRET in answer.text.replace(f'"{SECRET}"', "")
                if told or (entry.about == "document" and answer.status_code != 404):
                    wrong.append(f"{who}: {method} {path} is {answer.status_code}: {answer.text[:200]}")
    assert wrong == []


async def test_every_route_is_in_the_matrix(served: Served) -> None:
    known = set(entries(Target("c", "d", "j", "s", "p", set())))
    assert routes_of(served) == known | ELSEWHERE


async def test_missing_rights_are_those_of_the_moment(served: Served) -> None:
    """A right that is taken away is gone with the next request, whoever had it and whichever route is asked."""
    target = await prepare(served, {}, HOST | LAWYERS)
    assert (await served["lawyer"].get(f"{ROOT}/legal/collections/{target.collection_id}")).status_code == 200
    await served["creator"].put(f"{ROOT}/legal/collections/{target.collection_id}", json={"private": True})
    for (method, path), entry in entries(target).items():
        if entry.about in ("collection", "document", "job"):
            answer = await send(served, "lawyer", method, path, entry, target)
            assert answer.status_code == 404, (method, path, answer.text)
