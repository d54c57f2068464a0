"""Pictures of pages over HTTP: drawn once, kept with the document, and gone with it."""

import asyncio
from typing import Any

from gateleg.apps.rag.inspecting.page_images import page_image
from gateleg.apps.rag.object_keys import document_prefix
from gateleg.apps.rag.tables import Document, DocumentStatus
from tests.apps.rag.parsing import samples
from tests.apps.rag.served import ROOT, Served
from tests.apps.rag.test_story import ready

PAGES = [[f"Sentence {line} of page {page} is about ships." for line in range(12)] for page in (1, 2, 3)]


async def sent(served: Served) -> dict[str, Any]:
    await served["admin"].post(ROOT, json={"repositoryId": "papers"})
    chunking = {"type": "FIXED", "chunkSize": 150, "chunkOverlap": 0}
    await served.collection("creator", "papers", "Ships", chunkingStrategy=chunking)
    headers = {"content-disposition": 'attachment; filename="ships.pdf"'}
    where = {"collectionId": "Ships"}
    answer = await served["creator"].post(f"{ROOT}/papers/document", params=where, content=samples.pdf(PAGES), headers=headers)
    return await ready(served, "creator", answer)


async def kept(served: Served, document: dict[str, Any]) -> list[str]:
    prefix = document_prefix("papers", document["collection_id"], document["document_id"])
    return [one.key.removeprefix(prefix) for one in (await served.host.objects.list(prefix)).objects if "/pages/" in one.key]


async def test_a_page_is_drawn_once_and_goes_with_its_document(served: Served) -> None:
    document = await sent(served)
    where = f"{ROOT}/papers/document/{document['document_id']}"
    first, second = await asyncio.gather(*(served["lawyer"].get(f"{where}/pages/2/image") for _ in range(2)))
    assert (first.status_code, first.headers["content-type"], first.content[8:12]) == (200, "image/webp", b"WEBP")
    assert first.content == second.content
    again = await served["lawyer"].get(f"{where}/pages/2/image", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert await kept(served, document) == ["pages/000001/00002.webp"]
    await passages_are_on_their_pages(served, where, document)
    for page in ("0", "4", "x"):
        assert (await served["lawyer"].get(f"{where}/pages/{page}/image")).status_code in (404, 422)
    await a_new_generation_forgets_the_old_pictures(served, document)
    gone = await served["creator"].delete(where)
    await served.work(gone.json()["jobId"])
    assert await kept(served, document) == []


async def passages_are_on_their_pages(served: Served, where: str, document: dict[str, Any]) -> None:
    chunks = (await served["lawyer"].get(f"{where}/chunks", params={"limit": 100})).json()["items"]
    assert len(chunks) > 6
    for page in (1, 2, 3):
        found = (await served["lawyer"].get(f"{where}/pages/{page}")).json()
        assert (found["width"], found["height"], found["pages"]) == (612, 792, 3)
        expected = [one["ordinal"] for one in chunks if any(box[0] == page for box in one["boxes"])]
        assert [one["ordinal"] for one in found["chunks"]] == expected


async def a_new_generation_forgets_the_old_pictures(served: Served, document: dict[str, Any]) -> None:
    answer = await served["creator"].post(f"{ROOT}/papers/document/{document['document_id']}/reingest", params={"force": True})
    await served.work(answer.json()["jobId"])
    assert await kept(served, document) == []
    drawn = await served["creator"].get(f"{ROOT}/papers/document/{document['document_id']}/pages/1/image")
    assert drawn.status_code == 200
    assert await kept(served, document) == ["pages/000002/00001.webp"]


async def test_a_picture_of_a_document_that_is_deleted_meanwhile_is_taken_back(served: Served) -> None:
    document = await sent(served)
    store, resources = served.host.store, served.host.resources["rag"]
    row = await store.get(Document, repository_id="papers", collection_id=document["collection_id"], document_id=document["document_id"])
    await store.patch(row.key, Document.status.to(DocumentStatus.DELETE_IN_PROGRESS))
    # Whoever asks has read the row before.
    (found,) = await asyncio.gather(page_image(resources, row, 1), return_exceptions=True)
    assert "deleted or replaced" in str(found)
    assert await kept(served, document) == []
