"""Documents from their source to chunks that are found, by the jobs of a real worker."""

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.chunking import BadChunking
from gateleg.apps.rag.drafts import CollectionChanges
from gateleg.apps.rag.errors import BadValue, OverrideRefused, RagAccessDenied, SourceMissing, UnknownCollection
from gateleg.apps.rag.ingesting.fingerprints import delete_fingerprint
from gateleg.apps.rag.ingesting.generations import text_key
from gateleg.apps.rag.ingesting.job_types import DocumentMetadata
from gateleg.apps.rag.ingesting.premade import PremadeChunk
from gateleg.apps.rag.ingesting.reingestion import restore_revision, retry_document, start_reingestion
from gateleg.apps.rag.ingesting.submission import NewDocument, SubmittedDocument, ingest_batch
from gateleg.apps.rag.object_keys import source_key
from gateleg.apps.rag.tables import Chunk, Document, DocumentStatus, Fingerprint
from gateleg.host import Principal, Role
from gateleg.jobs import Job, Worker, follow_async
from gateleg.net.errors import AddressRefused
from tests.apps.rag.ingesting.library import ADMIN, Library, open_library, result
from tests.apps.rag.parsing import samples

SHIPS = "# Ships\n\nThe Vasa sank in 1628.\n\n## Harbours\n\nRotterdam is the largest harbour of Europe.\n"


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with open_library(tmp_path, chunking_strategy={"type": "MARKDOWN", "chunkSize": 100, "chunkOverlap": 0}) as library:
        yield library


async def count_chunks(library: Library) -> int:
    return await library.resources.store.count(Chunk.in_collection, repository_id="books", collection_id=library.collection_id)


async def test_a_text_becomes_chunks_that_are_found(library: Library) -> None:
    document, job = await library.ingest(
        NewDocument(text=SHIPS, name="ships.md", metadata=DocumentMetadata(tags=["sea"], custom_fields={"year": 1628}))
    )
    assert (document.status, document.generation, document.chunks, document.revision) == (DocumentStatus.COMPLETED, 1, 2, 1)
    assert (document.content_type, document.title, document.username) == ("text/markdown", "Ships", "ada")
    chunks = await library.chunks(document)
    assert [chunk.heading for chunk in chunks] == ["Ships", "Ships > Harbours"]
    assert [chunk.metadata["tags"] for chunk in chunks] == [["sea"], ["sea"]]
    assert (chunks[0].metadata["year"], chunks[0].metadata["documentName"]) == (1628, "ships.md")
    assert all(len(chunk.vector or b"") == 384 * 4 for chunk in chunks)
    kept = json.loads(gzip.decompress(await library.resources.objects.get(text_key(document, 1))))
    assert [kept["text"][chunk.start : chunk.end] for chunk in chunks] == [chunk.text for chunk in chunks]
    assert await library.indexed() == {document.document_id: {1}}
    assert (result(job).outcome, result(job).chunks) == ("ingested", 2)
    assert job.progress is not None
    assert job.progress.message.startswith("index")


async def test_the_same_again_costs_nothing_and_a_change_replaces_it(library: Library) -> None:
    document, _ = await library.ingest(NewDocument(text=SHIPS, name="ships.md"))
    same, job = await library.ingest(NewDocument(text=SHIPS, name="ships.md"))
    assert (result(job).outcome, same.generation, same.revision) == ("unchanged", 1, 1)
    changed, job = await library.ingest(NewDocument(text=SHIPS.replace("1628", "the year 1628"), name="ships.md"))
    assert (changed.document_id, changed.generation, changed.revision) == (document.document_id, 2, 2)
    assert (result(job).outcome, result(job).reused) == ("ingested", 1)
    assert [one.number for one in changed.revisions] == [1]
    assert await count_chunks(library) == 2
    assert await library.indexed() == {document.document_id: {2}}
    assert (changed.first_generation, await library.resources.objects.exists(text_key(changed, 1))) == (2, False)


async def test_an_earlier_content_can_be_restored(library: Library) -> None:
    document, _ = await library.ingest(NewDocument(text=SHIPS, name="ships.md"))
    await library.ingest(NewDocument(text="# Planes\n\nThey fly.\n", name="ships.md"))
    submitted = await restore_revision(library.resources, ADMIN, "books", document.document_id, 1)
    await library.work(submitted.job.job_id)
    restored = await library.document(document.document_id)
    assert (restored.revision, [one.number for one in restored.revisions]) == (3, [2])
    assert "Vasa" in (await library.chunks(restored))[0].text
    with pytest.raises(BadValue, match="no revision 7"):
        await restore_revision(library.resources, ADMIN, "books", document.document_id, 7)


async def test_duplicates_are_known_also_those_that_are_almost_the_same(library: Library) -> None:
    whole = {"type": "NONE"}
    text = " ".join(f"Sentence number {number} is about the harbour and its ships." for number in range(60))
    first, _ = await library.ingest(NewDocument(text=text, name="one.txt", strategy=whole))
    second, job = await library.ingest(NewDocument(text=text, name="two.txt", strategy=whole))
    assert (result(job).duplicates, result(job).similar) == ([first.document_id], [])
    _, job = await library.ingest(NewDocument(text=f"{text} One more.", name="three.txt", strategy=whole))
    assert set(result(job).similar) == {first.document_id, second.document_id}
    _, job = await library.ingest(NewDocument(text="Something else altogether is told here.", name="four.txt"))
    assert (result(job).duplicates, result(job).similar) == ([], [])
    await delete_fingerprint(library.resources.store, first)
    left = [row.document_id async for row in library.resources.store.export(Fingerprint)]
    assert first.document_id not in left


async def test_an_upload_is_ingested_by_its_key(library: Library) -> None:
    key = source_key("books", library.collection_id, "11111111-2222-3333-4444-555555555555", "report.pdf")
    await library.resources.objects.put(key, samples.pdf([["Page one is here."], ["Page two is there."]]))
    document, _ = await library.ingest(NewDocument(key=key, strategy={"type": "fixed", "size": 100, "overlap": 0}))
    assert (document.document_id, document.document_name, document.pages) == ("11111111-2222-3333-4444-555555555555", "report.pdf", 2)
    chunks = await library.chunks(document)
    assert (chunks[0].page, chunks[0].page_starts) == (1, [[2, chunks[0].text.index("Page two")]])
    assert chunks[0].boxes is not None
    assert document.chunk_strategy == {"type": "FIXED", "chunkSize": 100, "chunkOverlap": 0}
    with pytest.raises(SourceMissing):
        await library.submit(NewDocument(key=key.replace("report", "other")))
    for foreign in ("secret/key.pdf", key.replace(library.collection_id, "elsewhere")):
        with pytest.raises(RagAccessDenied):
            await library.submit(NewDocument(key=foreign))


async def test_chunks_that_were_made_elsewhere_stay_as_they_are(library: Library) -> None:
    sent = [PremadeChunk(text="One part.", page=3, heading="Top", metadata={"kind": "a"}), PremadeChunk(text="Another part.", page=4)]
    document, _ = await library.ingest(NewDocument(chunks=sent, name="parts"))
    found = await library.chunks(document)
    assert [(chunk.text, chunk.page, chunk.heading) for chunk in found] == [("One part.", 3, "Top"), ("Another part.", 4, None)]
    assert [chunk.metadata.get("kind") for chunk in found] == ["a", None]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A web site on this machine with one page."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "ships.html").write_bytes(samples.HTML)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


async def test_a_page_is_fetched_through_the_guard_and_kept(tmp_path: Path, site: str) -> None:
    async with open_library(tmp_path, environ={"GATELEG_OUTGOING_ALLOW": "127.0.0.1"}) as library:
        document, job = await library.ingest(NewDocument(url=f"{site}/ships.html"))
        assert (document.document_name, document.title, document.url) == ("ships.html", "Ships & harbours", f"{site}/ships.html")
        assert await library.resources.objects.get(document.source) == samples.HTML
        assert result(job).outcome == "ingested"
        missing, job = await library.ingest(NewDocument(url=f"{site}/nothing.html"))
        assert missing.error_message == f"{site}/nothing.html returned status 404."
        assert job.status.value == "FAILED"


async def test_a_document_that_cannot_be_read_says_why(library: Library) -> None:
    key = source_key("books", library.collection_id, "locked", "locked.pdf")
    await library.resources.objects.put(key, samples.pdf([["x"]], encrypted=True))
    document, job = await library.ingest(NewDocument(key=key))
    assert (document.status, document.generation) == (DocumentStatus.FAILED, None)
    assert document.error_message == "The PDF is protected by a password."
    assert (job.status.value, len(job.attempts)) == ("FAILED", 1)
    assert await count_chunks(library) == 0
    await library.resources.objects.put(key, samples.pdf([["Open now."]]))
    mended, _ = await library.ingest(NewDocument(key=key))
    assert (mended.status, mended.error_message, mended.chunks) == (DocumentStatus.COMPLETED, None, 1)


async def test_a_failure_leaves_what_was_there(library: Library) -> None:
    key = source_key("books", library.collection_id, "report", "report.pdf")
    await library.resources.objects.put(key, samples.pdf([["Good text."]]))
    await library.ingest(NewDocument(key=key))
    await library.resources.objects.put(key, b"%PDF-1.4 broken")
    broken, _ = await library.ingest(NewDocument(key=key))
    assert (broken.status, broken.generation, broken.revision) == (DocumentStatus.FAILED, 1, 1)
    assert [chunk.text for chunk in await library.chunks(broken)] == ["Good text."]


async def test_a_batch_ingests_what_it_can(library: Library) -> None:
    batch = [NewDocument(text="Fine.", name="a.txt"), NewDocument(key="not/mine.txt"), NewDocument(text="  ", name="b.txt")]
    found = await ingest_batch(library.resources, ADMIN, "books", library.collection_id, batch)
    assert found.refused == 2
    assert isinstance(found.results[0], SubmittedDocument)
    assert [type(one) for one in found.results[1:]] == [RagAccessDenied, BadValue]
    with pytest.raises(BadValue, match="0 documents"):
        await ingest_batch(library.resources, ADMIN, "books", library.collection_id, [])


async def test_what_is_wrong_is_refused_at_once(library: Library) -> None:
    for new in (NewDocument(), NewDocument(text="x", url="https://example.org"), NewDocument(text="x")):
        with pytest.raises(BadValue):
            await library.submit(new)
    with pytest.raises(BadChunking):
        await library.submit(NewDocument(text="x", name="x", strategy={"type": "FIXED", "chunkSize": 100, "chunkOverlap": 90}))
    with pytest.raises(BadValue, match="documentName"):
        await library.submit(NewDocument(text="x", name="x", metadata=DocumentMetadata(custom_fields={"documentName": "forged"})))
    with pytest.raises(AddressRefused):
        await library.submit(NewDocument(url="http://127.0.0.1/secret"))


async def test_rights_and_overrides_are_kept(tmp_path: Path) -> None:
    async with open_library(tmp_path, private=True, allow_chunking_override=False) as library:
        stranger = Caller(Principal("bob", Role.MEMBER))
        with pytest.raises(UnknownCollection):
            await library.submit(NewDocument(text="x", name="x"), stranger)
        with pytest.raises(OverrideRefused):
            await library.submit(NewDocument(text="x", name="x", strategy={"type": "FIXED", "chunkSize": 500}))


async def test_a_document_is_not_replaced_by_a_stranger(library: Library) -> None:
    await library.submit(NewDocument(text="mine", name="note.txt"))
    with pytest.raises(RagAccessDenied):
        await library.submit(NewDocument(text="yours", name="note.txt"), Caller(Principal("bob", Role.MEMBER)))


async def test_one_key_makes_one_job(library: Library) -> None:
    first = await library.submit(NewDocument(text="text", name="a.txt", once="k"))
    again = await library.submit(NewDocument(text="text", name="a.txt", once="k"))
    assert (again.job.job_id, again.document.job_id) == (first.job.job_id, first.job.job_id)


async def test_a_later_submission_supersedes_an_earlier_one(library: Library) -> None:
    first = await library.submit(NewDocument(text="first", name="a.txt"))
    second = await library.submit(NewDocument(text="second", name="a.txt"))
    await library.work(second.job.job_id)
    job = await library.work(first.job.job_id)
    assert result(job).outcome == "superseded"
    document = await library.document(first.document.document_id)
    assert [chunk.text for chunk in await library.chunks(document)] == ["second"]


async def test_a_collection_is_made_anew_with_its_new_strategy(library: Library) -> None:
    from gateleg.apps.rag.collections import update_collection

    document, _ = await library.ingest(NewDocument(text=SHIPS, name="ships.md"))
    changes = CollectionChanges(chunking_strategy={"type": "NONE"})
    await update_collection(library.resources.store, ADMIN, "books", library.collection_id, changes)
    job = await start_reingestion(library.resources, ADMIN, "books", library.collection_id)
    assert (await library.work(job.job_id)).status.value == "COMPLETED"
    again = await library.document(document.document_id)
    assert (again.chunks, again.generation, again.revision, again.chunk_strategy) == (1, 2, 1, {"type": "NONE"})
    assert await count_chunks(library) == 1


async def test_a_document_of_the_public_system_says_that_its_content_is_elsewhere(library: Library) -> None:
    row = await library.resources.store.create(
        Document(repository_id="books", collection_id=library.collection_id, document_name="old.pdf", source="s3://bucket/old.pdf")
    )
    with pytest.raises(SourceMissing, match=r"s3://bucket/old\.pdf"):
        await retry_document(library.resources, ADMIN, "books", row.document_id)
    job = await start_reingestion(library.resources, ADMIN, "books", library.collection_id)
    ended = await library.work(job.job_id)
    assert ended.job_results is not None
    assert ended.job_results.value["failed"] == [row.document_id]


async def test_what_was_asked_for_one_document_stays_with_it(library: Library) -> None:
    document, _ = await library.ingest(NewDocument(text=SHIPS, name="ships.md", strategy={"type": "NONE"}))
    submitted = await retry_document(library.resources, ADMIN, "books", document.document_id, force=True)
    job = await library.work(submitted.job.job_id)
    assert (result(job).outcome, result(job).reused) == ("ingested", 0)
    again = await library.document(document.document_id)
    assert (again.generation, again.chunks, again.strategy_override) == (2, 1, {"type": "NONE"})


@pytest.mark.parametrize("kind", ["TOKEN", "SEMANTIC", "SENTENCE"])
async def test_strategies_that_need_a_model_have_the_collection_s(library: Library, kind: str) -> None:
    text = "Ships sail on the sea. Harbours are full of ships. Bread is made of flour. Bakers rise early to bake bread. " * 8
    document, _ = await library.ingest(NewDocument(text=text, name="two.txt", strategy={"type": kind, "chunkSize": 150}))
    chunks = await library.chunks(document)
    assert document.chunks == len(chunks) > 1
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


async def test_an_ingestion_that_is_cancelled_while_it_embeds_leaves_nothing_to_be_found(library: Library) -> None:
    text = "\n\n".join(f"Paragraph {number} is about the harbour and the {number} ships in it." for number in range(400))
    submitted = await library.submit(NewDocument(text=text, name="long.txt", strategy={"type": "FIXED", "chunkSize": 100}))
    worker = Worker(library.host.queue, concurrency=1)
    running = asyncio.ensure_future(worker.run())
    async for seen in follow_async(library.host.queue, submitted.job.job_id):
        if isinstance(seen.job, Job) and seen.job.progress is not None and seen.job.progress.message.startswith("embed"):
            await library.host.queue.cancel(submitted.job.job_id)
    worker.stop()
    await running
    document = await library.document(submitted.document.document_id)
    assert (document.status, document.error_message) == (DocumentStatus.FAILED, "The ingestion was cancelled.")
    assert (document.generation, await count_chunks(library), await library.indexed()) == (None, 0, {})


async def test_a_cancelled_ingestion_says_so(library: Library) -> None:
    submitted = await library.submit(NewDocument(text="text", name="a.txt"))
    await library.host.queue.cancel(submitted.job.job_id)
    document: Document = await library.document(submitted.document.document_id)
    from gateleg.apps.rag.ingesting.job_failures import reconcile_with_job

    found = await reconcile_with_job(library.resources.store, library.host.queue, document)
    assert (found.status, found.error_message) == (DocumentStatus.FAILED, "The ingestion was cancelled.")
