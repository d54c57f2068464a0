"""From verified hits to citations: text, place in the document, neighbours, highlights, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.index.analysis import language_of
from gateleg.apps.rag.index.entries import ChunkKey
from gateleg.apps.rag.searching.highlighting import best_snippet, matched_spans, matched_words
from gateleg.apps.rag.searching.results import Passage, SearchHit, Why
from gateleg.apps.rag.searching.verifying import read_chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.rag.searching.fusion import Ranked
    from gateleg.apps.rag.searching.requests import Mode, SearchRequest
    from gateleg.apps.rag.searching.verifying import Verified
    from gateleg.apps.rag.tables import Chunk, Collection
    from gateleg.store import AsyncStore


async def cite(
    store: AsyncStore,
    collections: Sequence[Collection],
    found: Sequence[tuple[Verified, float | None]],
    mode: Mode,
    request: SearchRequest,
) -> list[SearchHit]:
    """Hits as they are returned. `found` has the reranker's score with each, where there is one."""
    beside = {key for one, _ in found for key in _around(one, request.neighbours)}
    chunks = {one.ranked.candidate.key: one.chunk for one, _ in found}
    chunks |= await read_chunks(store, sorted(beside - chunks.keys()))
    return [_hit(one, chunks, collections[one.ranked.candidate.source], rerank, mode, request) for one, rerank in found]


def _around(one: Verified, neighbours: int) -> list[ChunkKey]:
    document, generation, ordinal = one.ranked.candidate.key
    last = one.document.chunks - 1
    places = range(max(0, ordinal - neighbours), min(max(last, ordinal), ordinal + neighbours) + 1)
    return [ChunkKey(document, generation, place) for place in places]


def _hit(
    one: Verified, chunks: Mapping[ChunkKey, Chunk], collection: Collection, rerank: float | None, mode: Mode, request: SearchRequest
) -> SearchHit:
    candidate, document, chunk = one.ranked.candidate, one.document, one.chunk
    languages = tuple(dict.fromkeys((language_of(document.language), language_of(None))))
    marked = request.highlight or request.explain
    spans = matched_spans(request.query, chunk.text, languages) if marked else []
    passages = [_passage(chunks[key]) for key in _around(one, request.neighbours) if key in chunks]
    return SearchHit(
        repository_id=collection.repository_id,
        collection_id=collection.collection_id,
        document_id=document.document_id,
        document_name=document.document_name,
        source=document.source,
        generation=chunk.generation,
        ordinal=chunk.ordinal,
        start=chunk.start,
        end=chunk.end,
        page=chunk.page,
        page_starts=chunk.page_starts or [],
        boxes=chunk.boxes,
        heading=chunk.heading,
        text=chunk.text,
        snippet=best_snippet(chunk.text, spans) if request.highlight else None,
        highlights=spans if request.highlight else [],
        score=rerank if rerank is not None else one.ranked.score,
        similarity=candidate.similarity,
        keyword=candidate.keyword,
        rerank=rerank,
        metadata=chunk.metadata,
        before=[passage for passage in passages if passage.ordinal < chunk.ordinal],
        after=[passage for passage in passages if passage.ordinal > chunk.ordinal],
        why=_why(one.ranked, matched_words(chunk.text, spans), rerank, mode) if request.explain else None,
    )


def _passage(chunk: Chunk) -> Passage:
    return Passage(ordinal=chunk.ordinal, text=chunk.text, page=chunk.page, start=chunk.start, end=chunk.end, heading=chunk.heading)


def _why(ranked: Ranked, words: list[str], rerank: float | None, mode: Mode) -> Why:
    candidate = ranked.candidate
    reasons = []
    if candidate.similarity is not None and mode != "keyword":
        reasons.append(f"its meaning is near to the query's (cosine {candidate.similarity:.2f}, place {ranked.vector_rank})")
    if candidate.keyword is not None and mode != "vector":
        shown = ", ".join(words[:8]) or "words of its heading"
        reasons.append(f"it has {shown} (BM25 {candidate.keyword:.2f}, place {ranked.keyword_rank})")
    if rerank is not None:
        reasons.append(f"the reranker gives it {rerank:.2f}")
    return Why(
        vector_rank=ranked.vector_rank,
        keyword_rank=ranked.keyword_rank,
        vector_part=ranked.vector_part,
        keyword_part=ranked.keyword_part,
        matched_words=words,
        sentence=f"Found because {', and '.join(reasons)}." if reasons else "",
    )
