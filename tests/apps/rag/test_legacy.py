"""Documents from before there were collections: under the bare repository, without a collection, seen by every reader."""

from typing import Any

import pytest

from gateleg.apps.rag.tables import Document
from tests.apps.rag.served import ROOT, Served


async def old_document(served: Served, repository_id: str, document_id: str, **attributes: Any) -> None:
    """A row as the design's example has it."""
    item = {"pk": {"S": repository_id}, "document_id": {"S": document_id}, "repository_id": {"S": repository_id}, **attributes}
    await served.host.store.transport.call("PutItem", {"TableName": "LisaRagDocumentTable", "Item": item})


async def names(served: Served, who: str, repository_id: str, **params: Any) -> list[str]:
    found: list[str] = []
    token: str | None = None
    while True:
        asked = {**params, "pageSize": 2} | ({} if token is None else {"lastEvaluatedKey": token})
        page = (await served[who].get(f"{ROOT}/{repository_id}/document", params=asked)).json()
        found += [row["document_id"] for row in page["documents"]]
        if (token := page["lastEvaluated"]) is None:
            return found


@pytest.fixture
async def mixed(served: Served) -> Served:
    """Old and new documents of the default collection, in two repositories with the same embedding model."""
    for repository_id in ("legal", "commons"):
        for number in (1, 3, 5):
            when = {"upload_date": {"N": str(number)}, "document_name": {"S": f"old {number}"}, "username": {"S": "lena"}}
            await old_document(served, repository_id, f"{repository_id}-old-{number}", **when)
        for number in (2, 4):
            await served.document(repository_id, "local:minilm", document_id=f"{repository_id}-new-{number}", upload_date=number)
    return served


ORDER = ["old-5", "new-4", "old-3", "new-2", "old-1"]


async def test_every_reader_sees_old_documents_under_the_default_collection(mixed: Served) -> None:
    expected = [f"legal-{one}" for one in ORDER]
    for collection_id in ("default", "local:minilm"):
        assert await names(mixed, "lawyer", "legal", collectionId=collection_id) == expected
    assert await names(mixed, "lawyer", "legal") == expected
    assert await names(mixed, "lawyer", "legal", sortOrder="asc", collectionId="default") == expected[::-1]
    page = (await mixed["lawyer"].get(f"{ROOT}/legal/document", params={"collectionId": "default"})).json()
    assert page["totalDocuments"] == 5
    one = (await mixed["lawyer"].get(f"{ROOT}/legal/document/legal-old-3")).json()
    assert (one["collection_id"], one["status"], one["document_name"]) == ("local:minilm", "INGESTION_COMPLETED", "old 3")
    numbers = (await mixed["lawyer"].get(f"{ROOT}/legal/collections/default/statistics")).json()
    assert numbers["documents"] == 5


async def test_old_documents_do_not_cross_repositories(mixed: Served) -> None:
    assert await names(mixed, "outsider", "commons", collectionId="default") == [f"commons-{one}" for one in ORDER]
    assert (await mixed["outsider"].get(f"{ROOT}/commons/document/legal-old-3")).status_code == 404


async def test_other_collections_have_none_of_them(mixed: Served) -> None:
    await mixed.collection("creator", "legal", "Contracts")
    assert await names(mixed, "lawyer", "legal", collectionId="Contracts") == []


async def test_change_moves_an_old_document_and_leaves_one(mixed: Served) -> None:
    changed = await mixed["lawyer"].patch(f"{ROOT}/legal/document/legal-old-1", json={"metadata": {"tags": ["moved"]}})
    assert changed.status_code == 200, changed.text
    found = await mixed.host.store.transport.call("Scan", {"TableName": "LisaRagDocumentTable"})
    (item,) = [one for one in found["Items"] if one["document_id"] == {"S": "legal-old-1"}]
    assert (item["pk"], item["collectionId"]) == ({"S": "legal#local:minilm"}, {"S": "local:minilm"})
    assert await names(mixed, "lawyer", "legal", collectionId="default") == [f"legal-{one}" for one in ORDER]


async def test_deletions_remove_old_documents_too(mixed: Served) -> None:
    one = await mixed["lawyer"].delete(f"{ROOT}/legal/document/legal-old-5")
    assert one.status_code == 202, one.text
    await mixed.work(one.json()["jobId"])
    assert await names(mixed, "lawyer", "legal") == [f"legal-{one}" for one in ORDER[1:]]
    rest = await mixed["admin"].delete(f"{ROOT}/legal/collections/default", params={"hardDelete": "true"})
    assert rest.json()["summary"]["lisaManagedDocuments"] == 4
    await mixed.work(rest.json()["jobId"])
    left = await mixed.host.store.transport.call("Scan", {"TableName": "LisaRagDocumentTable"})
    assert {item["repository_id"]["S"] for item in left["Items"]} == {"commons"}
    assert len(await names(mixed, "outsider", "commons")) == 5


async def test_row_without_a_date_is_seen_as_the_oldest(served: Served) -> None:
    await old_document(served, "commons", "bare")
    await served.document("commons", "local:minilm", document_id="new", upload_date=1)
    assert await names(served, "outsider", "commons", collectionId="default") == ["new", "bare"]
    assert await names(served, "outsider", "commons") == ["new", "bare"]
    assert await served.host.store.count(Document.in_collection, repository_id="commons", collection_id="local:minilm") == 2
