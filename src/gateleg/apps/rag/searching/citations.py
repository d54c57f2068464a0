"""Turn verified hits into results: text, location in the document, neighbours, highlights and explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.index.analysis import language_of
from gateleg.apps.rag.index.entries import ChunkKey
from gateleg.apps.rag.searching.highlights import best_snippet, matched_spans, matched_words
from gateleg.apps.rag.searching.results import HitExplanation, Passage, SearchHit
from gateleg.apps.rag.searching.verification import read_chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.rag.searching.fusion import RankedCandidate
    from gateleg.apps.rag.searching.requests import Mode, SearchRequest
    from gateleg.apps.rag.searching.verification import VerifiedHit
    from gateleg.apps.rag.tables import Chunk, Collection
    from gateleg.store import AsyncStore


async def cite(
    store: AsyncStore,
    collections: Sequence[Collection],
    verified: Sequence[tuple[VerifiedHit, float | None]],
    mode: Mode,
    request: SearchRequest,
) -> list[SearchHit]:
    """Build the hits of the response from verified hits, each with the reranker's score if there is one."""
    neighbours = {key for one, _ in verified for key in _neighbour_keys(one, request.neighbours)}
    chunks = {one.ranked.candidate.key: one.chunk for one, _ in verified}
    chunks |= await read_chunks(store, sorted(neighbours - chunks.keys()))
    return [_hit(one, chunks, collections[one.ranked.candidate.source], rerank, mode, request) for one, rerank in verified]


def _neighbour_keys(one: VerifiedHit, neighbours: int) -> list[ChunkKey]:
    document, generation, ordinal = one.ranked.candidate.key
    last = one.document.chunks - 1
    places = range(max(0, ordinal - neighbours), min(max(last, ordinal), ordinal + neighbours) + 1)
    return [ChunkKey(document, generation, place) for place in places]


def _hit(
    one: VerifiedHit, chunks: Mapping[ChunkKey, Chunk], collection: Collection, rerank: float | None, mode: Mode, request: SearchRequest
) -> SearchHit:
    candidate, document, chunk = one.ranked.candidate, one.document, one.chunk
    languages = tuple(dict.fromkeys((language_of(document.language), language_of(None))))
    marked = request.highlight or request.explain
    spans = matched_spans(request.query, chunk.text, languages) if marked else []
    passages = [_passage(chunks[key]) for key in _neighbour_keys(one, request.neighbours) if key in chunks]
    return SearchHit(
        repository_id=collection.repository_id,
        collection_id=collection.collection_id,
        document_id=document.document_id,
        document_name=document.document_name,
        source=document.source,
        generation=chunk.generation,
        revision=document.revision,
        content_hash=document.content_hash,
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
        why=_explain(one.ranked, matched_words(chunk.text, spans), rerank, mode) if request.explain else None,
    )


def _passage(chunk: Chunk) -> Passage:
    return Passage(ordinal=chunk.ordinal, text=chunk.text, page=chunk.page, start=chunk.start, end=chunk.end, heading=chunk.heading)


def _explain(ranked: RankedCandidate, words: list[str], rerank: float | None, mode: Mode) -> HitExplanation:
    candidate = ranked.candidate
    reasons = []
    if candidate.similarity is not None and mode != "keyword":
        reasons.append(f"its meaning is similar to the query's (cosine {candidate.similarity:.2f}, rank {ranked.vector_rank})")
    if candidate.keyword is not None and mode != "vector":
        shown = ", ".join(words[:8]) or "words in its heading"
        reasons.append(f"it contains {shown} (BM25 {candidate.keyword:.2f}, rank {ranked.keyword_rank})")
    if rerank is not None:
        reasons.append(f"the reranker scores it {rerank:.2f}")
    return HitExplanation(
        vector_rank=ranked.vector_rank,
        keyword_rank=ranked.keyword_rank,
        vector_part=ranked.vector_part,
        keyword_part=ranked.keyword_part,
        matched_words=words,
        sentence=f"Found because {', and '.join(reasons)}." if reasons else "",
    )
