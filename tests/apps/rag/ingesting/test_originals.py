"""What was ingested and cited stays what it was: uploads are used once, and a download is the ingested file or an error."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateleg.apps.rag.documents import download_url
from gateleg.apps.rag.errors import SourceChanged, UnknownDocument
from gateleg.apps.rag.ingesting.reingestion import restore_revision, start_reingestion
from gateleg.apps.rag.ingesting.submission import NewDocument
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.service import SearchScope, search
from gateleg.apps.rag.tables import Document, DocumentStatus
from gateleg.net import Credentials
from gateleg.objects.s3_account import BucketClient
from gateleg.web.app import create_app
from tests.apps.rag.ingesting.library import ADMIN, Library, open_library, result
from tests.objects.s3.bucket import MemoryClient

PRICE, OTHER = b"The price is 100 guilders.", b"The price is 999 guilders."


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(params=["folder", "bucket"])
async def library(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Library]:
    """A library on each kind of object store."""
    if request.param == "bucket":
        client = MemoryClient()

        def make(account: Any) -> MemoryClient:
            account._credentials = Credentials("key", "secret")
            return client

        monkeypatch.setattr(BucketClient, "_make", make)
    async with open_library(tmp_path, objects="s3://originals" if request.param == "bucket" else None) as library:
        yield library


@pytest.fixture
async def client(library: Library) -> AsyncIterator[httpx.AsyncClient]:
    key = await library.host.keys.create("ada", ADMIN.principal.role)
    transport = httpx.ASGITransport(create_app(library.host, console=False), client=("127.0.0.1", 50_000))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers={"authorization": f"Bearer {key.token}"}
    ) as client:
        yield client


def in_folder(library: Library) -> bool:
    return library.host.settings.objects.startswith("dir:")


async def uploaded(library: Library, content: bytes = PRICE) -> str:
    """The key of an upload with a signed link, as the link leaves it."""
    key = source_key("books", library.collection_id, "11111111-2222-3333-4444-555555555555", "price.txt")
    await library.resources.objects.put(key, content, content_type="text/plain")
    return key


async def link(library: Library, document: Document, content_hash: str | None = None) -> str:
    return await download_url(library.resources, ADMIN, "books", document.document_id, content_hash)


async def test_an_upload_is_ingested_from_a_key_with_its_digest(library: Library) -> None:
    key = await uploaded(library)
    document, _ = await library.ingest(NewDocument(key=key))
    assert f"/source/{digest(PRICE)}/" in document.source
    assert await library.resources.objects.get(document.source) == PRICE
    assert document.content_hash == digest(PRICE)
    # The upload was used up: its key has nothing to serve, and no link creates it again.
    assert (await library.resources.objects.head(key)).size == 0


async def test_the_key_of_an_upload_can_be_sent_again(library: Library) -> None:
    key = await uploaded(library)
    document, _ = await library.ingest(NewDocument(key=key))
    again, job = await library.ingest(NewDocument(key=key))
    assert (result(job).outcome, again.source, again.content_hash) == ("unchanged", document.source, digest(PRICE))


async def test_writing_to_the_upload_again_changes_nothing_that_was_ingested(library: Library) -> None:
    key = await uploaded(library)
    document, _ = await library.ingest(NewDocument(key=key))
    await library.resources.objects.put(key, OTHER)
    (hit,) = (await search(library.resources, ADMIN.principal, [SearchScope("books", library.collection_id)], asked())).hits
    assert ("100" in hit.text, hit.content_hash, hit.revision) == (True, digest(PRICE), 1)
    assert await library.resources.objects.get(document.source) == PRICE
    await link(library, document, hit.content_hash)


def asked() -> SearchRequest:
    return SearchRequest(query="price in guilders")


async def test_content_that_is_replaced_between_request_and_ingestion_is_refused(library: Library) -> None:
    key = await uploaded(library)
    submitted = await library.submit(NewDocument(key=key))
    await library.resources.objects.put(key, OTHER)
    await library.work(submitted.job.job_id)
    document = await library.document(submitted.document.document_id)
    assert (document.status, document.generation) == (DocumentStatus.FAILED, None)
    assert "replaced after its ingestion was requested" in (document.error_message or "")


async def test_a_replaced_original_is_not_served(library: Library) -> None:
    document, _ = await library.ingest(NewDocument(key=await uploaded(library)))
    await link(library, document)
    await library.resources.objects.put(document.source, OTHER)
    with pytest.raises(SourceChanged, match="not served"):
        await link(library, document)


async def test_a_bucket_that_knows_no_digest_is_read_to_compare(library: Library) -> None:
    if in_folder(library):
        pytest.skip("a folder knows all digests")
    document, _ = await library.ingest(NewDocument(key=await uploaded(library)))
    store: Any = library.resources.objects
    # What a form writes has no digest in its metadata.
    stored = store.objects._account.client.objects[document.source]
    stored.metadata.clear()
    await link(library, document)
    stored.content = OTHER
    with pytest.raises(SourceChanged):
        await link(library, document)


async def test_each_version_is_downloaded_by_its_hash(library: Library) -> None:
    first, _ = await library.ingest(NewDocument(text=PRICE.decode(), name="price.txt"))
    second, _ = await library.ingest(NewDocument(text=OTHER.decode(), name="price.txt"))
    assert first.source != second.source
    for content in (PRICE, OTHER):
        assert digest(content) in await link(library, second, digest(content))
    with pytest.raises(UnknownDocument, match="No kept version"):
        await link(library, second, digest(b"never"))
    submitted = await restore_revision(library.resources, ADMIN, "books", first.document_id, 1)
    await library.work(submitted.job.job_id)
    restored = await library.document(first.document_id)
    assert (restored.source, restored.content_hash) == (first.source, digest(PRICE))


async def test_a_document_of_the_previous_release_is_served_and_moves_with_its_next_ingestion(library: Library) -> None:
    """It refers to the upload itself, under a key without a digest."""
    document, _ = await library.ingest(NewDocument(key=await uploaded(library)))
    key = source_key("books", library.collection_id, document.document_id, "price.txt")
    info = await library.resources.objects.put(key, PRICE)
    await library.resources.objects.delete(document.source)
    old = await library.resources.store.patch(
        document.key, Document.source.set(key), Document.source_etag.set(info.etag), condition=Document.source == document.source
    )
    await link(library, old)
    job = await start_reingestion(library.resources, ADMIN, "books", library.collection_id)
    await library.work(job.job_id)
    moved = await library.document(document.document_id)
    assert (moved.source, moved.content_hash, moved.status) == (document.source, digest(PRICE), DocumentStatus.COMPLETED)
    assert await library.resources.objects.get(moved.source) == PRICE


async def test_a_link_is_used_once_and_a_download_serves_what_was_ingested(library: Library, client: httpx.AsyncClient) -> None:
    if not in_folder(library):
        pytest.skip("links of a bucket do not lead to the host")
    where = "/api/rag/repository/books"
    signed = (await client.post(f"{where}/presigned-url", json={"name": "price.txt", "collectionId": library.collection_id})).json()
    stranger = httpx.AsyncClient(transport=client._transport, base_url="http://127.0.0.1:8000")
    url = signed["response"]["url"]
    assert (await stranger.put(url, content=PRICE)).status_code == 201
    # A response may be lost, so that the same content is sent again.
    assert (await stranger.put(url, content=PRICE)).status_code == 201
    refused = await stranger.put(url, content=OTHER)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "link-used")
    (sent,) = (await client.post(f"{where}/bulk", json={"keys": [signed["key"]], "collectionId": library.collection_id})).json()["jobs"]
    await library.work(sent["jobId"])
    for content in (PRICE, OTHER):
        assert (await stranger.put(url, content=content)).status_code == 409
    download = (await client.get(f"{where}/document/{signed['documentId']}/download")).json()
    assert (await stranger.get(download)).content == PRICE
    document = await library.document(signed["documentId"])
    chunks = (await client.get(f"{where}/document/{signed['documentId']}/chunks")).json()["items"]
    assert [(chunk["contentHash"], chunk["revision"]) for chunk in chunks] == [(digest(PRICE), 1)]
    # Somebody who may write any object replaces it, after the link was given out.
    await library.resources.objects.put(document.source, OTHER)
    late = await stranger.get(download)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "content-differs")
    refused = await client.get(f"{where}/document/{signed['documentId']}/download")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "source-changed")
