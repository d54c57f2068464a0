"""Fusion of two rankings of the same chunks, by vector similarity and by BM25. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.index.entries import ChunkKey
    from gateleg.apps.rag.searching.requests import Mode, SearchRequest


class Candidate(NamedTuple):
    """A chunk found by vector search, keyword search or both."""

    #: position of its collection among the searched ones
    source: int
    key: ChunkKey
    similarity: float | None
    keyword: float | None
    #: the embedding model: only similarities of the same model are comparable
    model: str = ""


class RankedCandidate(NamedTuple):
    """A candidate with its score, its rank in each search, and the parts of the score."""

    candidate: Candidate
    score: float
    vector_rank: int | None = None
    keyword_rank: int | None = None
    #: contribution of each search to the score
    vector_part: float = 0.0
    keyword_part: float = 0.0


def rank(candidates: Sequence[Candidate], mode: Mode, request: SearchRequest) -> list[RankedCandidate]:
    """Sort candidates, best first. Equal scores are ordered by collection, document and ordinal."""
    ordered = sorted(candidates, key=lambda one: (one.source, one.key))
    vector_ranks = _ranks([one.similarity for one in ordered], [one.model for one in ordered])
    keyword_ranks = _ranks([one.keyword for one in ordered], [one.model for one in ordered])
    rows = zip(ordered, vector_ranks, keyword_ranks, strict=True)
    if mode == "vector":
        ranked = [
            RankedCandidate(one, one.similarity, vector_rank, keyword_rank)
            for one, vector_rank, keyword_rank in rows
            if one.similarity is not None
        ]
    elif mode == "keyword":
        ranked = [
            RankedCandidate(one, one.keyword, vector_rank, keyword_rank)
            for one, vector_rank, keyword_rank in rows
            if one.keyword is not None
        ]
    elif request.fusion == "rrf":
        ranked = [_reciprocal_rank(one, vector_rank, keyword_rank, request) for one, vector_rank, keyword_rank in rows]
    else:
        ranked = _weighted(ordered, vector_ranks, keyword_ranks, request)
    ranked = above_threshold(ranked, mode, request)
    ranked.sort(key=lambda one: -one.score)
    return ranked


def above_threshold(ranked: list[RankedCandidate], mode: Mode, request: SearchRequest) -> list[RankedCandidate]:
    """The candidates that reach the score threshold of a request, if it has one."""
    if request.score_threshold is None:
        return ranked
    return [one for one in ranked if _passes(one.candidate, mode, request.score_threshold)]


def _passes(candidate: Candidate, mode: Mode, threshold: float) -> bool:
    score = candidate.keyword if mode == "keyword" else candidate.similarity
    return score is not None and score >= threshold


def _ranks(scores: Sequence[float | None], models: Sequence[str]) -> list[int | None]:
    """The rank of each candidate by one score, from 1. Each model has its own ranking, because their similarities are not comparable."""
    ranked: list[int | None] = [None] * len(scores)
    last: dict[str, int] = {}
    for _, number in sorted((-score, number) for number, score in enumerate(scores) if score is not None):
        ranked[number] = last[models[number]] = last.get(models[number], 0) + 1
    return ranked


def _reciprocal_rank(candidate: Candidate, vector_rank: int | None, keyword_rank: int | None, request: SearchRequest) -> RankedCandidate:
    """Reciprocal rank fusion: only the rank in each search counts."""
    # The factor 2 makes equal weights give the published formula.
    vector = 2 * request.vector_weight / (request.rrf_k + vector_rank) if vector_rank else 0.0
    keyword = 2 * request.lexical_weight / (request.rrf_k + keyword_rank) if keyword_rank else 0.0
    return RankedCandidate(candidate, vector + keyword, vector_rank, keyword_rank, vector, keyword)


def _weighted(
    candidates: Sequence[Candidate], vector_ranks: Sequence[int | None], keyword_ranks: Sequence[int | None], request: SearchRequest
) -> list[RankedCandidate]:
    """Weighted sum of each score divided by the best one, so that the distance between scores counts, not only their order."""
    best: dict[str, float] = {}
    for one in candidates:
        best[one.model] = max(best.get(one.model, 0.0), one.similarity or 0.0)
    best_keyword = max((one.keyword or 0.0 for one in candidates), default=0.0)
    ranked = []
    for one, vector_rank, keyword_rank in zip(candidates, vector_ranks, keyword_ranks, strict=True):
        top = best[one.model]
        vector = request.vector_weight * max(one.similarity or 0.0, 0.0) / top if top > 0 else 0.0
        keyword = request.lexical_weight * (one.keyword or 0.0) / best_keyword if best_keyword > 0 else 0.0
        ranked.append(RankedCandidate(one, vector + keyword, vector_rank, keyword_rank, vector, keyword))
    return ranked
