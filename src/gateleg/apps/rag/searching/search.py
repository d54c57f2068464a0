"""Search in collections: find candidates, rank, verify, rerank, diversify, cite.

Nothing here checks access; `service.search` does so before it calls `search`.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING

import numpy as np

from gateleg.ai import AiError
from gateleg.apps.rag.errors import BadSearch, IndexDamaged, IndexReplaced
from gateleg.apps.rag.index.filters import parse_filter
from gateleg.apps.rag.index.names import searched_index
from gateleg.apps.rag.index.rebuild import ready_index
from gateleg.apps.rag.searching.citations import cite
from gateleg.apps.rag.searching.diversity import diversify
from gateleg.apps.rag.searching.fusion import Candidate, above_threshold, rank
from gateleg.apps.rag.searching.results import SearchResult
from gateleg.apps.rag.searching.verification import HitReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gateleg.ai import AsyncModels
    from gateleg.apps.rag.index.entries import ChunkKey, CollectionIndex, IndexHit
    from gateleg.apps.rag.index.filters import Filter
    from gateleg.apps.rag.index.registry import Indexes
    from gateleg.apps.rag.searching.fusion import RankedCandidate
    from gateleg.apps.rag.searching.requests import Mode, SearchRequest
    from gateleg.apps.rag.searching.verification import VerifiedHit
    from gateleg.apps.rag.tables import Collection
    from gateleg.store import AsyncStore

    Vectors = Mapping[str, NDArray[np.float32]]

#: Candidates per index: the minimum in hybrid search, and the maximum.
_HYBRID_DEPTH, _MAX_DEPTH = 100, 4_000
#: Number of hits that the reranker reads, and that diversity chooses from.
_POOL_HITS = 50
#: Feedback: the weight of the best hits relative to the query, and their number.
FEEDBACK_WEIGHT, FEEDBACK_HITS = 0.3, 3
#: How often a search asks for more candidates because too many hits were out of date.
_MAX_WIDENINGS = 2
_MAX_CONCURRENT_INDEXES = 4
#: How often a search starts again because its index was replaced meanwhile.
_MAX_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class SearchTools:
    """The services that a search uses."""

    store: AsyncStore
    models: AsyncModels
    indexes: Indexes
    #: the name of the reranker model; empty for none
    reranker: str = ""


@dataclass(frozen=True, slots=True)
class _Ranking:
    """A ranking that is not yet verified against the tables."""

    ranking: list[RankedCandidate]
    #: whether an index has more candidates
    cut: bool


async def search(tools: SearchTools, collections: Sequence[Collection], request: SearchRequest) -> SearchResult:
    """Search collections together. Every hit belongs to the current generation of its document."""
    for _ in range(_MAX_RESTARTS):
        try:
            return await _search(tools, collections, request)
        except IndexReplaced:
            collections = await _reload_indexes(tools.store, collections)
    return await _search(tools, collections, request)


async def _reload_indexes(store: AsyncStore, collections: Sequence[Collection]) -> list[Collection]:
    """The collections with their current model and index. Access is not checked again."""
    rows = await store.batch_get([collection.key for collection in collections], consistent=True)
    return [
        old if new is None else old.model_copy(update={"embedding_model": new.embedding_model, "index_number": new.index_number})
        for old, new in zip(collections, rows, strict=True)
    ]


async def _search(tools: SearchTools, collections: Sequence[Collection], request: SearchRequest) -> SearchResult:
    began = time.perf_counter()
    filters = parse_filter(request.filter)
    vectors, note = await _embed(tools, collections, request)
    mode: Mode = request.search_mode if vectors or request.search_mode == "keyword" else "keyword"
    reader = HitReader(tools.store, collections)
    wanted = request.offset + request.top_k + 1
    reranks = bool(tools.reranker) and request.rerank
    pool = max(wanted, _POOL_HITS) if reranks or request.diversity else wanted
    # Hybrid needs deep rankings: a chunk far down in both can be first in the combination.
    depth = min(max(_HYBRID_DEPTH if mode == "hybrid" or request.feeds_back(mode) else 0, 2 * pool), _MAX_DEPTH)
    verified: list[VerifiedHit] = []
    for _ in range(_MAX_WIDENINGS + 1):
        found = await _rank_candidates(tools, collections, request, mode, vectors, filters, depth)
        verified = await reader.verified(found.ranking, pool)
        if len(verified) >= wanted or not found.cut or depth >= _MAX_DEPTH:
            break
        depth = min(4 * depth, _MAX_DEPTH)
    scores: Mapping[int, float] = {}
    if reranks:
        verified, scores, note = await _rerank(tools, verified, request.query, note)
    if request.diversity:
        verified, scores = await _diversify(tools, collections, verified, scores, request, wanted)
    page = list(enumerate(verified))[request.offset : request.offset + request.top_k]
    hits = await cite(tools.store, collections, [(one, scores.get(place)) for place, one in page], mode, request)
    return SearchResult(
        hits=hits,
        search_mode=request.search_mode,
        actual_mode_used=mode,
        fusion=request.fusion if mode == "hybrid" else None,
        note=note,
        reranked_by=tools.reranker if scores and reranks else None,
        next_offset=request.offset + request.top_k if len(verified) > request.offset + request.top_k else None,
        collections_searched=len(collections),
        milliseconds=round(1000 * (time.perf_counter() - began), 2),
    )


async def _embed(tools: SearchTools, collections: Sequence[Collection], request: SearchRequest) -> tuple[Vectors, str | None]:
    """The query's vector by each model, and a note; no vectors for a keyword search, or if a hybrid search falls back to keywords."""
    if request.search_mode == "keyword":
        return {}, None
    found: dict[str, NDArray[np.float32]] = {}
    try:
        for model in dict.fromkeys(collection.embedding_model for collection in collections):
            found[model] = (await tools.models.embeddings(model).embed([request.query], purpose="query"))[0]
    except AiError as error:
        if request.search_mode == "vector":
            raise
        return {}, f"The embedding model did not respond, so only keywords were searched: {error.message} {error.fix}".strip()
    return found, None


async def _rank_candidates(
    tools: SearchTools,
    collections: Sequence[Collection],
    request: SearchRequest,
    mode: Mode,
    vectors: Vectors,
    filters: Filter | None,
    depth: int,
) -> _Ranking:
    candidates, cut = await _find_candidates(tools, collections, request, mode, vectors, filters, depth)
    ranking = rank(candidates, mode, request)
    if ranking and request.feeds_back(mode):
        nearer = await _move_towards(tools, collections, ranking[:FEEDBACK_HITS], vectors)
        moved, cut = await _find_candidates(tools, collections, request, mode, nearer, filters, depth)
        again = rank(moved, mode, request.model_copy(update={"score_threshold": None}))
        ranking = above_threshold(await _with_own_similarities(tools, collections, again, candidates, vectors), mode, request)
    return _Ranking(ranking, cut)


async def _with_own_similarities(
    tools: SearchTools,
    collections: Sequence[Collection],
    ranking: Sequence[RankedCandidate],
    first: Sequence[Candidate],
    vectors: Vectors,
) -> list[RankedCandidate]:
    """A ranking by moved vectors, with the similarity of each candidate to the query itself, which hits show and thresholds use."""
    own = {(one.source, one.key): one.similarity for one in first if one.similarity is not None}
    unknown = [one for one in ranking if one.candidate.similarity is not None and (one.candidate.source, one.candidate.key) not in own]
    for one, vector in zip(unknown, await _read_vectors(tools, collections, unknown), strict=True):
        if vector is not None:
            own[one.candidate.source, one.candidate.key] = float(vector @ vectors[one.candidate.model])
    return [
        one._replace(candidate=one.candidate._replace(similarity=own.get((one.candidate.source, one.candidate.key)))) for one in ranking
    ]


async def _find_candidates(
    tools: SearchTools,
    collections: Sequence[Collection],
    request: SearchRequest,
    mode: Mode,
    vectors: Vectors,
    filters: Filter | None,
    depth: int,
) -> tuple[list[Candidate], bool]:
    """The candidates of all indexes, and whether one of them was cut off at `depth`."""
    text = request.query if mode != "vector" else None
    turns = asyncio.Semaphore(_MAX_CONCURRENT_INDEXES)

    async def one(collection: Collection) -> list[IndexHit]:
        vector = vectors.get(collection.embedding_model)
        async with turns:
            return await _search_index(tools, collection, vector, text, filters, depth, request.document_ids)

    answers = await asyncio.gather(*(one(collection) for collection in collections))
    candidates = [
        Candidate(source, hit.key, hit.similarity, hit.keyword, collections[source].embedding_model)
        for source, hits in enumerate(answers)
        for hit in hits
    ]
    return candidates, any(len(hits) >= depth for hits in answers)


async def _search_index(
    tools: SearchTools,
    collection: Collection,
    vector: NDArray[np.float32] | None,
    text: str | None,
    filters: Filter | None,
    depth: int,
    documents: Sequence[str] | None,
) -> list[IndexHit]:
    place = (collection.repository_id, searched_index(collection))

    def ask(index: CollectionIndex) -> list[IndexHit] | None:
        return index.search(vector, text, filters, depth, documents=documents) if index.complete else None

    for again in (True, False):
        try:
            while (found := await tools.indexes.run(*place, ask)) is None:
                await ready_index(tools.store, tools.indexes, collection)
        except IndexDamaged:
            # The registry has removed it; the second attempt rebuilds it from the tables.
            if not again:
                raise
        else:
            return found
    raise AssertionError("unreachable")


async def _move_towards(
    tools: SearchTools, collections: Sequence[Collection], best: Sequence[RankedCandidate], vectors: Vectors
) -> Vectors:
    """The query's vectors, moved towards the best hits (Rocchio)."""
    known = await _read_vectors(tools, collections, best)
    moved = dict(vectors)
    for model, vector in vectors.items():
        own = [found for one, found in zip(best, known, strict=True) if one.candidate.model == model and found is not None]
        if own:
            sum_ = vector + FEEDBACK_WEIGHT * np.mean(own, axis=0)
            moved[model] = (sum_ / np.linalg.norm(sum_)).astype(np.float32)
    return moved


async def _read_vectors(
    tools: SearchTools, collections: Sequence[Collection], ranked: Sequence[RankedCandidate]
) -> list[NDArray[np.float32] | None]:
    found: dict[tuple[int, ChunkKey], NDArray[np.float32]] = {}
    for source in {one.candidate.source for one in ranked}:
        keys = [one.candidate.key for one in ranked if one.candidate.source == source]
        own = collections[source]
        vectors = await tools.indexes.run(own.repository_id, searched_index(own), methodcaller("vectors", keys))
        found |= {(source, key): vector for key, vector in vectors.items()}
    return [found.get((one.candidate.source, one.candidate.key)) for one in ranked]


async def _rerank(
    tools: SearchTools, verified: list[VerifiedHit], query: str, note: str | None
) -> tuple[list[VerifiedHit], dict[int, float], str | None]:
    """Reorder the first hits by the reranker, and return its scores by position. The order stays if it does not respond."""
    first, rest = verified[:_POOL_HITS], verified[_POOL_HITS:]
    try:
        scores = await tools.models.reranker(tools.reranker).scores(query, [one.chunk.text for one in first])
    except AiError as error:
        return verified, {}, note or f"The reranker did not respond, so hits keep the order of the search: {error.message}"
    order = sorted(range(len(first)), key=lambda place: -scores[place])
    return [*(first[place] for place in order), *rest], {new: scores[old] for new, old in enumerate(order)}, note


async def _diversify(
    tools: SearchTools,
    collections: Sequence[Collection],
    verified: list[VerifiedHit],
    scores: Mapping[int, float],
    request: SearchRequest,
    wanted: int,
) -> tuple[list[VerifiedHit], dict[int, float]]:
    vectors = await _read_vectors(tools, collections, [one.ranked for one in verified])
    relevance = [scores.get(place, one.ranked.score) for place, one in enumerate(verified)]
    order = diversify(relevance, vectors, request.diversity, wanted)
    return [verified[place] for place in order], {new: scores[old] for new, old in enumerate(order) if old in scores}


def check_request(request: SearchRequest, most: int) -> SearchRequest:
    """Return the request unchanged; raise `BadSearch` if it asks for more hits than the settings allow."""
    if request.top_k > most:
        raise BadSearch(f"topK is {request.top_k}; {most} are allowed.", fix=f"Ask for at most {most} hits, and page with offset.")
    return request
