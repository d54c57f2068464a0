"""Searching collections: hits, citations and modes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gateleg.ai import AsyncModels
from gateleg.ai.errors import BadModelAddress
from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collections import create_collection
from gateleg.apps.rag.drafts import NewCollection
from gateleg.apps.rag.errors import IndexRebuilding
from gateleg.apps.rag.index.rebuild import ready_index
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.results import SearchResult
from gateleg.apps.rag.searching.search import SearchTools, search
from gateleg.apps.rag.tables import Chunk, Collection, Document, DocumentStatus
from gateleg.store import AsyncStore
from tests.ai.speaking import said
from tests.apps.rag.filled import MODEL, add_document
from tests.net.http.faulty import service


async def find(tools: SearchTools, collection: Collection, query: str, **options: Any) -> SearchResult:
    return await search(tools, [collection], SearchRequest(query=query, **options))


def names(result: SearchResult) -> list[tuple[str, int]]:
    return [(hit.document_name, hit.ordinal) for hit in result.hits]


async def test_a_hit_cites_document_page_span_and_chunk(tools: SearchTools, manual: Collection) -> None:
    result = await find(tools, manual, "What does E42 mean?", top_k=1)
    (hit,) = result.hits
    assert (hit.document_name, hit.ordinal, hit.page, hit.generation) == ("pump.md", 1, 2, 1)
    assert hit.text.startswith("Error E42")
    assert hit.end - hit.start == len(hit.text)
    assert [hit.text[start:end] for start, end in hit.highlights] == ["E42", "means"]
    assert (result.search_mode, result.actual_mode_used, result.fusion) == ("hybrid", "hybrid", "weighted")


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
async def test_every_mode_finds(tools: SearchTools, manual: Collection, mode: str, fusion: str) -> None:
    result = await find(tools, manual, "the bulb of the lamp is broken", search_mode=mode, fusion=fusion)
    assert result.hits[0].document_name == "lamp.md"
    assert result.actual_mode_used == mode
    assert result.hits == sorted(result.hits, key=lambda hit: -hit.score)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
async def test_every_hit_has_the_phrase_that_is_demanded(tools: SearchTools, manual: Collection, mode: str) -> None:
    found = await find(tools, manual, '"six months"', search_mode=mode)
    assert names(found) == [("pump.md", 2)]
    assert names(await find(tools, manual, '"seven months"', search_mode=mode)) == []


async def test_meaning_finds_what_words_do_not(tools: SearchTools, manual: Collection) -> None:
    query = "guarantee period"
    assert names(await find(tools, manual, query, search_mode="keyword")) == []
    assert names(await find(tools, manual, query, search_mode="hybrid"))[0] == ("warranty.md", 0)


async def test_pages_follow_each_other(tools: SearchTools, manual: Collection) -> None:
    whole = names(await find(tools, manual, "machine", top_k=6))
    first = await find(tools, manual, "machine", top_k=4)
    assert first.next_offset == 4
    second = await find(tools, manual, "machine", top_k=4, offset=4)
    assert second.next_offset is None
    assert names(first) + names(second) == whole
    assert len(set(whole)) == 6


async def test_filters_documents_and_thresholds_narrow_a_search(tools: SearchTools, manual: Collection) -> None:
    filtered = await find(tools, manual, "machine", filter={"file": {"in": ["lamp.md"]}, "tags": "manual"})
    assert {name for name, _ in names(filtered)} == {"lamp.md"}
    (pump,) = {hit.document_id for hit in (await find(tools, manual, "E42", top_k=1)).hits}
    assert {hit.document_id for hit in (await find(tools, manual, "machine", document_ids=[pump])).hits} == {pump}
    near = await find(tools, manual, "How long is the warranty?", score_threshold=0.3)
    assert names(near) == [("warranty.md", 0)]
    assert all(hit.similarity is not None and hit.similarity >= 0.3 for hit in near.hits)


async def test_neighbours_come_with_a_hit(tools: SearchTools, manual: Collection) -> None:
    (hit,) = (await find(tools, manual, "E42", top_k=1, neighbours=2)).hits
    assert ([one.ordinal for one in hit.before], [one.ordinal for one in hit.after]) == ([0], [2])


async def test_why_a_hit_was_found(tools: SearchTools, manual: Collection) -> None:
    hit = (await find(tools, manual, "reset button", explain=True)).hits[0]
    assert hit.why is not None
    assert (hit.why.vector_rank, hit.why.keyword_rank, hit.why.matched_words) == (2, 1, ["reset", "button"])
    assert hit.why.vector_part + hit.why.keyword_part == pytest.approx(hit.score)
    assert "reset, button" in hit.why.sentence


async def test_diversity_prefers_hits_that_differ(tools: SearchTools, manual: Collection, models: AsyncModels) -> None:
    text = "The pump P-100 moves water from the tank to the boiler. It must be switched off before the lid is opened!"
    await add_document(tools.store, models, manual, "copy.md", [text])
    alike = names(await find(tools, manual, "pump moves water", top_k=2))
    assert {name for name, _ in alike} == {"pump.md", "copy.md"}
    different = names(await find(tools, manual, "pump moves water", top_k=2, diversity=0.7))
    assert different[0] == alike[0]
    assert different[1] not in alike


async def test_feedback_searches_again_nearer_to_the_best(tools: SearchTools, manual: Collection) -> None:
    plain = await find(tools, manual, "motor too hot", search_mode="vector")
    again = await find(tools, manual, "motor too hot", search_mode="vector", feedback=True)
    assert again.hits[0].text == plain.hits[0].text
    assert again.hits[0].score > plain.hits[0].score


async def test_hybrid_searches_feed_back_unless_told_otherwise(tools: SearchTools, manual: Collection) -> None:
    default, fed, plain = [await find(tools, manual, "motor too hot", **more) for more in ({}, {"feedback": True}, {"feedback": False})]
    assert [hit.score for hit in default.hits] == [hit.score for hit in fed.hits]
    assert [hit.score for hit in default.hits] != [hit.score for hit in plain.hits]


async def test_feedback_changes_the_order_and_not_the_similarity_to_the_query(tools: SearchTools, manual: Collection) -> None:
    own = {hit.text: hit.similarity for hit in (await find(tools, manual, "motor too hot", search_mode="vector")).hits}
    for hit in (await find(tools, manual, "motor too hot")).hits:
        assert hit.similarity == pytest.approx(own[hit.text], abs=1e-5)
    least = sorted(own.values(), key=lambda value: -(value or 0))[1]
    assert len((await find(tools, manual, "motor too hot", score_threshold=least)).hits) == 2


async def test_only_the_current_generation_is_found(tools: SearchTools, manual: Collection, models: AsyncModels) -> None:
    before = (await find(tools, manual, "E42", top_k=1)).hits[0]
    store = tools.store
    new = ["Error E42 now means that the tank is empty."]
    # All that an ingestion writes before it makes the new generation current.
    await add_document(store, models, manual, "other.md", new, generation=2, document_id=before.document_id)
    await _set_generation(store, before.document_id, manual, 1, 3)
    index = tools.indexes.open(manual.repository_id, manual.collection_id)
    chunks = [chunk async for chunk in store.query(Chunk.of_document, document_id=before.document_id, generation=2)]
    index.add(before.document_id, 2, chunks)
    assert (await find(tools, manual, "E42", top_k=1)).hits[0].generation == 1
    await _set_generation(store, before.document_id, manual, 2, 1)
    result = await find(tools, manual, "E42", top_k=1)
    assert (result.hits[0].generation, result.hits[0].text) == (2, new[0])
    assert {
        hit.generation
        for hit in (await find(tools, manual, "pump E42 tank filter", top_k=10)).hits
        if hit.document_id == before.document_id
    } == {2}


async def _set_generation(store: AsyncStore, document_id: str, collection: Collection, generation: int, chunks: int) -> None:
    place = {"repository_id": collection.repository_id, "collection_id": collection.collection_id, "document_id": document_id}
    await store.patch(Document.key(**place), Document.generation.set(generation), Document.chunks.set(chunks), check_version=False)


async def test_a_document_that_is_being_deleted_is_not_found(tools: SearchTools, manual: Collection) -> None:
    hit = (await find(tools, manual, "warranty", top_k=1)).hits[0]
    place = {"repository_id": manual.repository_id, "collection_id": manual.collection_id, "document_id": hit.document_id}
    await tools.store.patch(Document.key(**place), Document.status.to(DocumentStatus.DELETE_IN_PROGRESS), check_version=False)
    assert "warranty.md" not in {name for name, _ in names(await find(tools, manual, "warranty"))}


async def test_several_collections_are_one_ranking(
    tools: SearchTools, manual: Collection, models: AsyncModels, caller: Callable[[str], Caller]
) -> None:
    other = (
        await create_collection(tools.store, caller("admin"), "commons", NewCollection(name="Notes", embedding_model=MODEL))
    ).collection
    await add_document(tools.store, models, other, "note.md", ["E42 came up again today, the tank was empty."])
    result = await search(tools, [manual, other], SearchRequest(query="E42", top_k=2))
    assert {hit.collection_id for hit in result.hits} == {manual.collection_id, other.collection_id}
    assert result.collections_searched == 2


@pytest.mark.parametrize("damage", ["removed", "overwritten", "beginning"])
async def test_a_lost_or_damaged_index_is_rebuilt_from_the_tables(tools: SearchTools, manual: Collection, damage: str) -> None:
    before = await find(tools, manual, "E42")
    path = tools.indexes.path(manual.repository_id, manual.collection_id)
    tools.indexes.close()
    if damage == "removed":
        path.unlink()
    elif damage == "overwritten":
        path.write_bytes(b"x" * 50_000)
    else:
        content = path.read_bytes()
        path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    after = await find(tools, manual, "E42")
    assert names(after) == names(before)


async def test_a_model_that_does_not_answer_leaves_words(tools: SearchTools, caller: Callable[[str], Caller], manual: Collection) -> None:
    strange = manual.model_copy(update={"embedding_model": "nowhere:model"})
    result = await find(tools, strange, "E42")
    assert (result.search_mode, result.actual_mode_used) == ("hybrid", "keyword")
    assert result.note is not None
    assert names(result)[0] == ("pump.md", 1)
    with pytest.raises(BadModelAddress):
        await find(tools, strange, "E42", search_mode="vector")


async def test_a_collection_without_documents_has_no_hits(tools: SearchTools, caller: Callable[[str], Caller], commons: object) -> None:
    empty = (
        await create_collection(tools.store, caller("admin"), "commons", NewCollection(name="Empty", embedding_model=MODEL))
    ).collection
    assert names(await find(tools, empty, "anything")) == []


async def test_a_rebuild_that_takes_long_goes_on_while_searches_are_told(tools: SearchTools, manual: Collection) -> None:
    with pytest.raises(IndexRebuilding):
        await ready_index(tools.store, tools.indexes, manual, patience=0)
    await ready_index(tools.store, tools.indexes, manual)
    assert len(names(await find(tools, manual, "E42"))) == 6


async def test_a_reranker_orders_the_best_hits(tools: SearchTools, manual: Collection) -> None:
    # It prefers the last of the six chunks that it is given.
    ranked = {"results": [{"index": place, "relevance_score": place / 10} for place in range(6)]}
    with service(said(ranked)) as server:
        reranking = replace(tools, reranker=f"rerank:m@{server.url}/v2")
        found = await find(reranking, manual, "E42")
    plain = names(await find(tools, manual, "E42"))
    assert names(found) == plain[::-1]
    assert found.hits[0].rerank == found.hits[0].score == 0.5
    assert found.reranked_by == reranking.reranker
    assert names(await find(reranking, manual, "E42", rerank=False)) == plain


async def test_a_reranker_that_does_not_answer_changes_nothing(tools: SearchTools, manual: Collection) -> None:
    silent = replace(tools, reranker="nowhere:model")
    found = await find(silent, manual, "E42")
    assert names(found) == names(await find(tools, manual, "E42"))
    assert found.reranked_by is None
    assert found.note is not None
    assert "reranker" in found.note
