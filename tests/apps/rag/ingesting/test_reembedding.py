"""Embedding a collection anew with another model."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.index.names import searched_index
from gateleg.apps.rag.index.registry import indexes_of
from gateleg.apps.rag.ingesting import reembedding
from gateleg.apps.rag.ingesting.job_types import ReembedResult
from gateleg.apps.rag.ingesting.reembedding import start_reembedding
from gateleg.apps.rag.ingesting.submission import NewDocument, SubmittedDocument
from gateleg.apps.rag.purging import PurgeResources, count_left, purge_collection
from gateleg.apps.rag.searching import search as searching
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.results import SearchResult
from gateleg.apps.rag.searching.service import SearchScope, search, tools_of
from gateleg.apps.rag.tables import Collection, DocumentStatus
from gateleg.host import Principal, Role
from gateleg.jobs import GiveUp, Job, JobStatus
from tests.apps.rag.ingesting.library import ADMIN, MODEL, Library, open_library
from tests.apps.rag.ingesting.second_model import SecondModel, second_model

TEXTS = {"pump.txt": "The pump moves water to the boiler.", "lamp.txt": "The lamp is green while the machine is ready."}


@pytest.fixture
def other() -> Iterator[SecondModel]:
    with second_model() as model:
        yield model


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with open_library(tmp_path) as library:
        jobs = [await library.submit(NewDocument(text=text, name=name)) for name, text in TEXTS.items()]
        for one in jobs:
            await library.work(one.job.job_id)
        yield library


async def look(library: Library, query: str = "water pump", mode: str = "vector") -> SearchResult:
    request = SearchRequest.model_validate({"query": query, "searchMode": mode})
    return await search(library.resources, Principal("ada", Role.ADMIN), [SearchScope("books", library.collection_id)], request)


async def collection(library: Library) -> Collection:
    return await library.resources.store.get(Collection, collection_id=library.collection_id, repository_id="books", consistent=True)


async def reembed(library: Library, model: str) -> Job:
    job = await start_reembedding(library.resources, ADMIN, "books", library.collection_id, model)
    return await library.work(job.job_id)


def result(job: Job) -> ReembedResult:
    assert job.job_results is not None, job.attempts
    return ReembedResult.model_validate(job.job_results.value)


def files(library: Library) -> list[str]:
    return sorted(path.name for path in (library.resources.data / "index").rglob("*.index"))


async def test_all_chunks_are_embedded_by_the_other_model_and_found_by_it(library: Library, other: SecondModel) -> None:
    before = await look(library)
    job = await reembed(library, other.address)
    assert result(job) == ReembedResult(outcome="reembedded", documents=2, chunks=2, embedded=2)
    assert sorted(other.texts) == sorted(TEXTS.values())
    row = await collection(library)
    assert (row.embedding_model, row.index_number, row.shadow_number, row.shadow_job_id) == (other.address, 1, None, None)
    after = await look(library)
    assert after.hits[0].document_name == "pump.txt"
    assert [hit.similarity for hit in after.hits] != [hit.similarity for hit in before.hits]
    # The old index and the old vectors are gone.
    assert len(files(library)) == 1
    for name in TEXTS:
        document = next(hit for hit in after.hits if hit.document_name == name)
        (chunk,) = await library.chunks(await library.document(document.document_id))
        assert (chunk.embedding_model, len(chunk.vector or b""), chunk.shadow_vector) == (other.address, 4 * 16, None)


async def test_the_same_model_costs_nothing(library: Library, other: SecondModel) -> None:
    await reembed(library, other.address)
    other.texts.clear()
    job = await reembed(library, other.address)
    assert result(job).outcome == "unchanged"
    assert other.texts == []
    assert (await collection(library)).index_number == 1


async def test_searches_use_the_old_index_until_the_swap(library: Library, other: SecondModel) -> None:
    seen: list[tuple[str, int]] = []
    loop = asyncio.get_running_loop()

    def during() -> int:
        found = asyncio.run_coroutine_threadsafe(look(library), loop).result(30)
        row = asyncio.run_coroutine_threadsafe(collection(library), loop).result(30)
        seen.append((row.embedding_model, len(found.hits)))
        return 200

    other.before = lambda: 200 if seen else during()
    await reembed(library, other.address)
    assert seen == [(MODEL, 2)]


async def test_a_document_that_is_ingested_meanwhile_is_in_the_new_index(library: Library, other: SecondModel) -> None:
    added: list[SubmittedDocument] = []
    loop = asyncio.get_running_loop()

    async def add() -> None:
        added.append(await library.submit(NewDocument(text="Frost breaks a pipe that has water in it.", name="frost.txt")))

    def during() -> int:
        if not added:
            asyncio.run_coroutine_threadsafe(add(), loop).result(30)
        return 200

    other.before = during
    await reembed(library, other.address)
    # Its ingestion may have ended before the swap, or have begun again after it.
    await library.work(added[0].job.job_id)
    assert (await look(library, "frost pipe")).hits[0].document_name == "frost.txt"
    indexed = await indexes_of(library.resources).run("books", searched_index(await collection(library)), lambda index: index.count())
    assert indexed == 3


async def test_a_model_that_refuses_leaves_everything_as_it_was(library: Library, other: SecondModel) -> None:
    other.before = lambda: 400
    before = await look(library)
    job = await reembed(library, other.address)
    assert job.status is JobStatus.FAILED
    row = await collection(library)
    assert (row.embedding_model, row.index_number, row.shadow_job_id) == (MODEL, 0, None)
    assert [hit.score for hit in (await look(library)).hits] == [hit.score for hit in before.hits]
    assert len(files(library)) == 1
    # What the model refused once can be tried again.
    other.before = lambda: 200
    assert (await reembed(library, other.address)).status is JobStatus.COMPLETED
    assert (await collection(library)).embedding_model == other.address


async def test_a_cancelled_job_leaves_everything_as_it_was(library: Library, other: SecondModel) -> None:
    loop = asyncio.get_running_loop()
    job = await start_reembedding(library.resources, ADMIN, "books", library.collection_id, other.address)

    noticed = threading.Event()

    def cancel() -> int:
        asyncio.run_coroutine_threadsafe(library.host.queue.cancel(job.job_id), loop).result(30)
        noticed.wait(30)
        return 200

    other.before = cancel
    ended = await library.work(job.job_id)
    noticed.set()
    assert ended.status is JobStatus.CANCELLED
    row = await collection(library)
    assert (row.embedding_model, row.index_number, row.shadow_job_id) == (MODEL, 0, None)
    assert len((await look(library)).hits) == 2


async def test_what_a_stopped_job_has_left_is_done_by_the_next(
    library: Library, other: SecondModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped(*_: object) -> None:
        raise GiveUp("the worker was taken away")

    monkeypatch.setattr(reembedding._Reembedding, "_clean_up", stopped)
    assert (await reembed(library, other.address)).status is JobStatus.FAILED
    # The index is swapped; the vectors of both models and the old index are there.
    assert (await collection(library)).embedding_model == other.address
    assert [hit.document_name for hit in (await look(library)).hits] == ["pump.txt", "lamp.txt"]
    monkeypatch.undo()
    assert result(await reembed(library, MODEL)).embedded == 2
    row = await collection(library)
    assert (row.embedding_model, row.shadow_number, len(files(library))) == (MODEL, None, 1)
    assert [hit.document_name for hit in (await look(library)).hits] == ["pump.txt", "lamp.txt"]


async def test_a_search_that_began_before_the_swap_ends_with_the_new_index(library: Library, other: SecondModel) -> None:
    before = await collection(library)
    await reembed(library, other.address)
    found = await searching.search(tools_of(library.resources), [before], SearchRequest(query="water pump", search_mode="vector"))
    assert found.hits[0].document_name == "pump.txt"
    assert len(files(library)) == 1


async def test_a_lost_index_is_rebuilt_with_the_vectors_of_the_new_model(library: Library, other: SecondModel) -> None:
    await reembed(library, other.address)
    before = await look(library)
    indexes_of(library.resources).drop("books", searched_index(await collection(library)))
    assert [(hit.document_name, hit.score) for hit in (await look(library)).hits] == [(hit.document_name, hit.score) for hit in before.hits]


async def test_nothing_of_an_embedded_collection_is_left(library: Library, other: SecondModel) -> None:
    await reembed(library, other.address)
    premises = PurgeResources(library.resources.store, library.resources.objects, indexes_of(library.resources))
    removed = await purge_collection(premises, "books", library.collection_id)
    assert (removed.documents, removed.vectors) == (2, 2)
    assert not await count_left(premises, "books", library.collection_id)


async def test_a_model_that_the_host_cannot_use_is_refused(library: Library) -> None:
    with pytest.raises(BadValue, match="is not available on this host"):
        await start_reembedding(library.resources, ADMIN, "books", library.collection_id, "local:unknown")


async def test_documents_that_were_ingested_without_the_model_get_vectors_of_it(library: Library, other: SecondModel) -> None:
    await reembed(library, other.address)
    other.before = lambda: 400
    document, job = await library.ingest(NewDocument(text="The valve lets steam out.", name="valve.txt"))
    assert (job.status, document.status) == (JobStatus.COMPLETED, DocumentStatus.COMPLETED)
    assert document.keywords_only is not None
    assert document.keywords_only.startswith(f"Found by keywords only: the embedding model {other.address!r} could not be used. ")
    assert [hit.document_name for hit in (await look(library, "valve", "keyword")).hits] == ["valve.txt"]
    # Nothing changes as long as the model refuses.
    assert (await reembed(library, other.address)).status is JobStatus.FAILED
    assert (await look(library, "valve", "keyword")).hits
    other.before = lambda: 200
    done = result(await reembed(library, other.address))
    assert (done.outcome, done.documents, done.embedded) == ("reembedded", 3, 1)
    assert (await library.document(document.document_id)).keywords_only is None
    assert (await look(library, "steam valve out")).hits[0].document_name == "valve.txt"
    assert result(await reembed(library, other.address)).outcome == "unchanged"


async def test_an_ingestion_of_the_same_content_adds_the_missing_vectors(library: Library, other: SecondModel) -> None:
    await reembed(library, other.address)
    other.before = lambda: 400
    valve = NewDocument(text="The valve lets steam out.", name="valve.txt")
    assert (await library.ingest(valve))[0].keywords_only is not None
    other.before = lambda: 200
    document, _ = await library.ingest(valve)
    assert (document.keywords_only, document.generation) == (None, 2)
    assert (await look(library, "steam valve out")).hits[0].document_name == "valve.txt"


async def test_chunks_with_vectors_are_not_replaced_by_chunks_without(library: Library, other: SecondModel) -> None:
    await reembed(library, other.address)
    other.before = lambda: 400
    document, job = await library.ingest(NewDocument(text="The pump moves oil.", name="pump.txt"))
    assert (job.status, document.status, document.generation) == (JobStatus.FAILED, DocumentStatus.FAILED, 1)
    assert (await look(library, "water", "keyword")).hits[0].document_name == "pump.txt"
