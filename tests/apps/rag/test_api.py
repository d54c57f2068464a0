"""The HTTP API of repositories, collections and documents: names, status codes, ETags and pages."""

from typing import Any

from gateleg.apps.rag.errors import BadSearch, UnknownCollection, UnknownDocument, UnknownRepository
from gateleg.apps.rag.web.mcp_api import tool_advice
from tests.apps.rag.served import ROOT, Served


async def test_repository_over_http(served: Served) -> None:
    made = await served["admin"].post(ROOT, json={"repositoryId": "papers", "repositoryName": "Papers", "metadata": {"tags": ["v2"]}})
    assert (made.status_code, made.headers["location"], made.headers["etag"]) == (201, f"{ROOT}/papers", '"1"')
    body = made.json()
    assert body["embeddingModelId"] == str(served.host.resources["rag"].models.embeddings().model)
    assert (body["status"], body["allowUserCollections"], body["metadata"]["tags"]) == ("CREATE_COMPLETE", True, ["v2"])
    assert (await served["admin"].post(ROOT, json={"repositoryId": "papers"})).status_code == 409
    changed = await served["admin"].put(f"{ROOT}/papers", json={"description": "All"}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"], changed.json()["status"]) == (200, '"2"', "UPDATE_COMPLETE")
    stale = await served["admin"].put(f"{ROOT}/papers", json={"description": "x"}, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["error"]["code"]) == (412, "stale-version")
    fixed = await served["admin"].put(f"{ROOT}/papers", json={"embeddingModelId": "other"})
    assert (fixed.status_code, fixed.json()["error"]["code"]) == (422, "immutable-field")


async def test_repositories_are_listed_page_by_page(served: Served) -> None:
    for number in range(3):
        await served.repository(f"more-{number}")
    found, path = [], f"{ROOT}?pageSize=2"
    while path:
        answer = await served["outsider"].get(path)
        found += [row["repositoryId"] for row in answer.json()]
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert sorted(found) == ["commons", "more-0", "more-1", "more-2"]


async def test_status_of_all_repositories_is_for_those_who_run_the_host(served: Served) -> None:
    assert (await served["viewer"].get(f"{ROOT}/status")).json() == {"commons": "CREATE_COMPLETE", "legal": "CREATE_COMPLETE"}
    assert (await served["lawyer"].get(f"{ROOT}/status")).status_code == 403


async def test_collection_over_http(served: Served) -> None:
    for word in ("collection", "collections"):
        await check_collection(served, word)


async def check_collection(served: Served, word: str) -> None:
    where = f"{ROOT}/legal/{word}"
    body = {"name": f"My {word}", "description": "d", "private": False, "metadata": {"tags": ["legal"], "customFields": {"year": 2026}}}
    made = await served["creator"].post(where, json=body)
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    shown = made.json()
    assert (shown["embeddingModel"], shown["allowedGroups"], shown["default"], shown["status"]) == ("local:minilm", None, False, "ACTIVE")
    assert shown["metadata"] == {"tags": ["legal"], "customFields": {"year": 2026}}
    one = f"{where}/{shown['collectionId']}"
    assert (await served["lawyer"].get(one)).json() == shown
    assert (await served["lawyer"].get(f"{where}/MY {word}")).json()["collectionId"] == shown["collectionId"]
    changed = await served["creator"].put(one, json={"description": None}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.json()["description"], changed.headers["etag"]) == (200, None, '"2"')
    assert (await served["creator"].put(one, json={"name": "x"}, headers={"If-Match": '"1"'})).status_code == 412
    assert (await served["creator"].put(one, json={"name": "x"}, headers={"If-Match": "one"})).status_code == 400
    deleted = await served["creator"].delete(one)
    assert (deleted.status_code, deleted.json()["status"], deleted.json()["deletedAt"] is None) == (200, "DELETED", False)
    restored = await served["creator"].put(one, json={"status": "ACTIVE"})
    assert (restored.json()["status"], restored.json()["deletedAt"]) == ("ACTIVE", None)


async def test_bad_collections_are_refused(served: Served) -> None:
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({}, 422, "invalid"),
        ({"name": "a/b"}, 422, "bad-value"),
        ({"name": "default"}, 409, "name-taken"),
        ({"name": "x", "collectionId": "../evil"}, 422, "invalid"),
        ({"name": "x", "status": "ARCHIVED"}, 422, "invalid"),
        ({"name": "x", "createdBy": "eve"}, 422, "invalid"),
        ({"name": "x", "default": True}, 422, "invalid"),
        ({"name": "x", "allowedGroups": ["engineers"]}, 422, "bad-groups"),
        ({"name": "x", "chunkingStrategy": {"type": "fixed", "size": 200, "overlap": 150}}, 422, "bad-chunking"),
        ({"name": "x", "pipelines": [{"s3Bucket": "b"}] * 11}, 422, "invalid"),
        ({"name": "x", "pipelines": [{"s3Bucket": "b"}]}, 403, "rag-access-denied"),
        ({"name": "x", "metadata": {"tags": [f"t{n}" for n in range(51)]}}, 422, "invalid"),
    ]
    for body, status, code in cases:
        answer = await served["lawyer"].post(f"{ROOT}/legal/collections", json=body)
        assert answer.status_code == status, answer.text
        assert set(answer.json()["error"]) >= {"code", "message", "details"}
        assert code in ("invalid", answer.json()["error"]["code"])
    assert (await served["lawyer"].get(f"{ROOT}/legal/collections")).json()["pagination"]["totalCount"] == 1


async def test_what_is_not_there_is_404_and_what_is_not_allowed_403(served: Served) -> None:
    await served.collection("creator", "legal", "Contracts")
    cases = [
        ("lawyer", "GET", "/nowhere", 404),
        ("outsider", "GET", "/legal", 404),
        ("lawyer", "GET", "/legal/collections/nothing", 404),
        ("lawyer", "PUT", "/legal/collections/Contracts", 403),
        ("lawyer", "DELETE", "/legal/collections/Contracts", 403),
        ("lawyer", "DELETE", "/legal/collections/default", 403),
        ("admin", "DELETE", "/legal/collections/default", 409),
        ("lawyer", "GET", "/legal/document/nothing", 404),
        ("lawyer", "GET", "/legal/document/nothing/download", 404),
        ("lawyer", "DELETE", "/legal", 403),
    ]
    for who, method, path, status in cases:
        answer = await served[who].request(method, ROOT + path, json={} if method == "PUT" else None)
        assert answer.status_code == status, (who, method, path, answer.text)


async def test_list_of_collections_has_the_envelope_of_the_public_system(served: Served) -> None:
    for number in range(4):
        await served.collection("creator", "legal", f"c{number}")
    first = (await served["lawyer"].get(f"{ROOT}/legal/collection", params={"pageSize": 2, "sortBy": "name", "sortOrder": "asc"})).json()
    assert set(first) == {"collections", "pagination", "lastEvaluatedKey", "hasNextPage", "hasPreviousPage"}
    assert [row["name"] for row in first["collections"]] == ["c0", "c1"]
    assert first["pagination"] == {"totalCount": 5, "currentPage": 1, "totalPages": 3}
    assert (first["hasNextPage"], first["hasPreviousPage"]) == (True, False)
    following = {"pageSize": 2, "sortBy": "name", "sortOrder": "asc", "lastEvaluatedKey": first["lastEvaluatedKey"]}
    second = (await served["lawyer"].get(f"{ROOT}/legal/collection", params=following)).json()
    assert [row["name"] for row in second["collections"]] == ["c2", "c3"]
    assert (second["pagination"]["currentPage"], second["hasPreviousPage"]) == (2, True)


async def test_parameters_of_lists(served: Served) -> None:
    cases: list[tuple[dict[str, str], int]] = [
        ({"pageSize": "abc"}, 422),
        ({"pageSize": "0"}, 200),
        ({"pageSize": "1000"}, 200),
        ({"sortBy": "size"}, 422),
        ({"sortOrder": "up"}, 422),
        ({"status": "GONE"}, 422),
        ({"lastEvaluatedKey": "nonsense"}, 400),
        ({"filter": "x" * 201}, 422),
    ]
    for path in ("/legal/collections", "/collections"):
        for params, status in cases:
            assert (await served["lawyer"].get(ROOT + path, params=params)).status_code == status, params


async def test_collections_of_all_repositories_and_of_one_creator(served: Served) -> None:
    await served.collection("creator", "legal", "Contracts")
    await served.collection("creator", "commons", "Notes")
    everything = (await served["lawyer"].get(f"{ROOT}/collections")).json()["collections"]
    assert {row["name"] for row in everything} == {"Contracts", "Notes", "Default"}
    assert {row["repositoryName"] for row in everything} == {"legal", "commons"}
    own = (await served["creator"].get(f"{ROOT}/collections", params={"createdBy": "me"})).json()["collections"]
    assert [row["name"] for row in own] == ["Notes", "Contracts"]
    trail = (await served["outsider"].get(f"{ROOT}/collections", params={"createdBy": "ann"})).json()["collections"]
    assert [row["name"] for row in trail] == ["Notes"]


async def test_access_is_explained(served: Served) -> None:
    await served.collection("creator", "legal", "Contracts", allowedGroups=["partners"])
    found = (await served["partner"].get(f"{ROOT}/legal/collections/Contracts/access")).json()
    assert "members of partners can read it" in found["readers"][-1]
    assert found["caller"]["read"] == {"allowed": True, "reason": "members of a group of the collection can read it"}
    assert found["caller"]["change-collection"]["allowed"] is False
    assert (await served["lawyer"].get(f"{ROOT}/legal/collections/Contracts/access")).status_code == 404


async def test_documents_over_http(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    made = [await served.document("legal", collection_id, f"{number}.txt", upload_date=number, size=10) for number in range(5)]
    where = f"{ROOT}/legal/document"
    first = (await served["lawyer"].get(where, params={"collectionId": "Contracts", "pageSize": 2})).json()
    assert set(first) == {"documents", "lastEvaluated", "totalDocuments", "hasNextPage", "hasPreviousPage"}
    assert [row["document_name"] for row in first["documents"]] == ["4.txt", "3.txt"]
    assert (first["totalDocuments"], first["hasNextPage"]) == (5, True)
    rest = {"collectionId": "Contracts", "pageSize": 100, "lastEvaluatedKey": first["lastEvaluated"]}
    second = (await served["lawyer"].get(where, params=rest)).json()
    assert [row["document_name"] for row in second["documents"]] == ["2.txt", "1.txt", "0.txt"]
    oldest = (await served["lawyer"].get(where, params={"sortOrder": "asc", "filter": "2.TXT"})).json()
    assert [row["document_name"] for row in oldest["documents"]] == ["2.txt"]
    one = await served["lawyer"].get(f"{where}/{made[0].document_id}")
    assert (one.json()["collection_id"], one.json()["chunks"], one.headers["etag"]) == (collection_id, 2, '"1"')
    assert (await served["lawyer"].get(f"{ROOT}/legal/{made[0].document_id}")).json() == one.json()
    chunks = (await served["lawyer"].get(f"{where}/{made[0].document_id}/chunks", params={"limit": 1})).json()
    assert (chunks["items"][0]["text"], chunks["items"][0]["page"], chunks["next"] is None) == ("Passage 0", 1, False)
    numbers = (await served["lawyer"].get(f"{ROOT}/legal/collections/Contracts/statistics")).json()
    assert numbers == {"documents": 5, "chunks": 10, "size": 50, "lastUpload": 4, "byStatus": {"INGESTION_COMPLETED": 5}}


async def test_documents_of_a_repository_are_those_of_readable_collections(served: Served) -> None:
    hidden = await served.collection("creator", "legal", "Secret", private=True)
    shown = await served.collection("creator", "legal", "Open")
    for collection_id in (hidden, shown):
        for number in range(3):
            await served.document("legal", collection_id, upload_date=number)
    await served.document("commons", "local:minilm", upload_date=9)
    token, seen = None, []
    while True:
        params = {"pageSize": "2", **({} if token is None else {"lastEvaluatedKey": token})}
        page = (await served["lawyer"].get(f"{ROOT}/legal/document", params=params)).json()
        seen += [row["collection_id"] for row in page["documents"]]
        if (token := page["lastEvaluated"]) is None:
            break
    assert seen == [shown] * 3


async def test_download_is_a_link_that_expires(served: Served) -> None:
    document = await served.document("legal", "local:minilm", "Größe.txt")
    link = await served["lawyer"].get(f"{ROOT}/legal/document/{document.document_id}/download")
    assert link.status_code == 200
    content = await served["nobody"].get(link.json())
    assert (content.status_code, content.text) == (200, "The text of Größe.txt.")
    assert "attachment" in content.headers["content-disposition"]


async def test_document_whose_file_is_elsewhere_has_no_link(served: Served) -> None:
    document = await served.document("legal", "local:minilm")
    await served.host.objects.put("secret/keys.txt", b"secret")
    moved = await served.host.store.patch(document, type(document).source.set("secret/keys.txt"))
    assert (await served["admin"].get(f"{ROOT}/legal/document/{moved.document_id}/download")).status_code == 404


async def test_metadata_of_a_document(served: Served) -> None:
    document = await served.document("legal", "local:minilm", username="lena")
    where = f"{ROOT}/legal/document/{document.document_id}"
    assert (await served["partner"].patch(where, json={"metadata": {"tags": ["x"]}})).status_code == 403
    changed = await served["lawyer"].patch(where, json={"metadata": {"tags": ["x"], "customFields": {"a": 1}}}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.json()["metadata"]) == (200, {"tags": ["x"], "customFields": {"a": 1}})
    assert (await served["lawyer"].patch(where, json={"metadata": None}, headers={"If-Match": '"1"'})).status_code == 412
    assert (await served["lawyer"].patch(where, json={"metadata": {"tags": ["a b"]}})).status_code == 422
    assert (await served["lawyer"].patch(where, json={"source": "x"})).status_code == 422
    cleared = await served["lawyer"].patch(where, json={"metadata": None, "documentName": "b.txt"})
    assert (cleared.json()["metadata"]["tags"], cleared.json()["document_name"]) == ([], "b.txt")


async def test_upload_link_is_for_one_new_object_of_the_collection(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    body = {"name": "../../other/key.pdf", "collectionId": "Contracts"}
    signed = await served["lawyer"].post(f"{ROOT}/legal/presigned-url", json=body)
    assert signed.status_code == 201
    found = signed.json()
    assert found["key"].startswith(f"rag/repositories/legal/{collection_id}/{found['documentId']}/source/")
    assert ".." not in found["key"]
    sent = await served["nobody"].request(found["response"]["method"], found["response"]["url"], content=b"hello")
    assert sent.status_code in (200, 201, 204), sent.text
    assert await served.host.objects.get(found["key"]) == b"hello"
    other = found["response"]["url"].replace(found["documentId"], "another")
    assert (await served["nobody"].request(found["response"]["method"], other, content=b"x")).status_code == 403
    assert (await served["outsider"].post(f"{ROOT}/legal/presigned-url", json=body)).status_code == 404
    await served["creator"].put(f"{ROOT}/legal/collections/Contracts", json={"status": "ARCHIVED"})
    assert (await served["lawyer"].post(f"{ROOT}/legal/presigned-url", json=body)).status_code == 409


async def test_jobs_of_a_repository(served: Served) -> None:
    collection_id = await served.collection("creator", "legal", "Contracts")
    other = await served.collection("creator", "commons", "Notes")
    ids = {}
    for repository, one in (("legal", collection_id), ("commons", other)):
        begun = await served["creator"].delete(f"{ROOT}/{repository}/collections/{one}", params={"hardDelete": "true"})
        ids[repository] = begun.json()["jobId"]
    found = (await served["creator"].get(f"{ROOT}/legal/jobs")).json()
    assert [job["job_id"] for job in found["jobs"]] == [ids["legal"]]
    assert (await served["creator"].get(f"{ROOT}/legal/jobs/{ids['legal']}")).status_code == 200
    assert (await served["creator"].get(f"{ROOT}/legal/jobs/{ids['commons']}")).status_code == 404
    assert (await served["lawyer"].get(f"{ROOT}/legal/jobs/{ids['legal']}")).status_code == 404
    assert (await served["lawyer"].get(f"{ROOT}/legal/jobs")).json()["jobs"] == []
    assert (await served["rag admin"].get(f"{ROOT}/legal/jobs/{ids['legal']}")).status_code == 200
    assert (await served["rag admin"].get(f"/api/rag/jobs/{ids['legal']}")).status_code == 200
    assert (await served["lawyer"].get(f"/api/rag/jobs/{ids['legal']}")).status_code == 404


async def test_administrators_list_the_jobs_of_everybody_page_by_page(served: Served) -> None:
    wanted = set()
    for who, name in (("creator", "Mine"), ("lawyer", "Hers"), ("admin", "Ours")):
        collection = await served.collection(who, "legal", name)
        for _ in range(2):
            wanted.add((await served[who].post(f"{ROOT}/legal/collections/{collection}/reingest")).json()["jobId"])
    for who in ("admin", "rag admin"):
        found: list[dict[str, Any]] = []
        params = {"pageSize": "4"}
        while True:
            page = (await served[who].get(f"{ROOT}/legal/jobs", params=params)).json()
            found += page["jobs"]
            if not page["hasNextPage"]:
                break
            params["lastEvaluatedKey"] = page["lastEvaluatedKey"]
        assert [job["job_id"] for job in found] == list(dict.fromkeys(job["job_id"] for job in found))
        assert {job["job_id"] for job in found} == wanted
        assert [job["created_at"] for job in found] == sorted((job["created_at"] for job in found), reverse=True)
    assert len((await served["lawyer"].get(f"{ROOT}/legal/jobs")).json()["jobs"]) == 2
    assert (await served["admin"].get(f"{ROOT}/commons/jobs")).json()["jobs"] == []


async def test_what_this_host_cannot_do_is_refused_when_it_is_asked_for(served: Served) -> None:
    new = {"repositoryId": "papers", "embeddingModelId": "local:nope"}
    unknown = await served["admin"].post(ROOT, json=new)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (422, "bad-value")
    assert "local:nope" in unknown.json()["error"]["message"]
    other = await served["admin"].post(f"{ROOT}/legal/collections", json={"name": "Other", "embeddingModel": "nonsense"})
    assert other.status_code == 422
    folder = {"name": "Files", "pipelines": [{"folder": "/etc"}]}
    refused = [
        await served["admin"].post(ROOT, json={"repositoryId": "papers", "pipelines": [{"folder": "/etc"}]}),
        await served["admin"].put(f"{ROOT}/legal", json={"pipelines": [{"folder": "/etc"}]}),
        await served["admin"].post(f"{ROOT}/legal/collections", json=folder),
        await served["admin"].put(f"{ROOT}/legal/collections/default", json={"pipelines": folder["pipelines"]}),
    ]
    assert [(one.status_code, one.json()["error"]["code"]) for one in refused] == [(400, "folder-refused")] * 4
    assert (await served["admin"].get(f"{ROOT}/papers")).status_code == 404


async def test_a_repository_names_its_tenant(served: Served) -> None:
    assert (await served.repository("papers", tenant="north"))["tenant"] == "north"
    assert (await served["admin"].get(f"{ROOT}/legal")).json()["tenant"] is None


async def test_a_query_with_a_nul_is_refused(served: Served) -> None:
    for path, name in (("search", "query"), ("ask", "question")):
        answer = await served["lawyer"].post(f"{ROOT}/legal/{path}", json={name: "a\x00b"})
        assert answer.status_code == 422, answer.text
        assert "NUL" in answer.text
    assert (await served["lawyer"].get(f"{ROOT}/legal/similaritySearch", params={"query": "a\x00b"})).status_code == 422


def test_tools_are_not_advised_to_use_routes() -> None:
    for error in (UnknownRepository("x"), UnknownCollection("x"), UnknownDocument("x"), BadSearch("x", fix="See POST .../search.")):
        assert not any(verb in tool_advice(error) for verb in ("GET", "POST"))
    assert tool_advice(BadSearch("x", fix="Ask for fewer.")) == "Ask for fewer."
