"""One ranking from two: similarities and BM25 of the same chunks. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.index.entries import ChunkKey
    from gateleg.apps.rag.searching.requests import Mode, SearchRequest


class Candidate(NamedTuple):
    """A chunk that one of the ways of searching has found."""

    #: which of the searched collections it is in
    source: int
    key: ChunkKey
    similarity: float | None
    keyword: float | None
    #: similarities are compared within one embedding model
    model: str = ""


class Ranked(NamedTuple):
    """A candidate with its place among the others, and where that comes from."""

    candidate: Candidate
    score: float
    vector_rank: int | None = None
    keyword_rank: int | None = None
    #: what each way of searching has added to the score
    vector_part: float = 0.0
    keyword_part: float = 0.0


def rank(candidates: Sequence[Candidate], mode: Mode, request: SearchRequest) -> list[Ranked]:
    """Candidates in order, best first. Equal scores keep the order of collection, document and ordinal."""
    ordered = sorted(candidates, key=lambda one: (one.source, one.key))
    nearest = _places([one.similarity for one in ordered], [one.model for one in ordered])
    worded = _places([one.keyword for one in ordered], [one.model for one in ordered])
    rows = zip(ordered, nearest, worded, strict=True)
    if mode == "vector":
        found = [Ranked(one, one.similarity, near, word) for one, near, word in rows if one.similarity is not None]
    elif mode == "keyword":
        found = [Ranked(one, one.keyword, near, word) for one, near, word in rows if one.keyword is not None]
    elif request.fusion == "rrf":
        found = [_by_rank(one, near, word, request) for one, near, word in rows]
    else:
        found = _weighted(ordered, nearest, worded, request)
    if request.score_threshold is not None:
        found = [one for one in found if _passes(one.candidate, mode, request.score_threshold)]
    found.sort(key=lambda one: -one.score)
    return found


def _passes(candidate: Candidate, mode: Mode, threshold: float) -> bool:
    score = candidate.keyword if mode == "keyword" else candidate.similarity
    return score is not None and score >= threshold


def _places(scores: Sequence[float | None], models: Sequence[str]) -> list[int | None]:
    """The place of each candidate by one score, from 1; models whose similarities do not compare have rankings of their own."""
    found: list[int | None] = [None] * len(scores)
    last: dict[str, int] = {}
    for _, number in sorted((-score, number) for number, score in enumerate(scores) if score is not None):
        found[number] = last[models[number]] = last.get(models[number], 0) + 1
    return found


def _by_rank(candidate: Candidate, near: int | None, word: int | None, request: SearchRequest) -> Ranked:
    """Reciprocal rank fusion: what counts is the place in each ranking."""
    # With equal weights, the sum that the method's authors have.
    vector = 2 * request.vector_weight / (request.rrf_k + near) if near else 0.0
    keyword = 2 * request.lexical_weight / (request.rrf_k + word) if word else 0.0
    return Ranked(candidate, vector + keyword, near, word, vector, keyword)


def _weighted(
    candidates: Sequence[Candidate], nearest: Sequence[int | None], worded: Sequence[int | None], request: SearchRequest
) -> list[Ranked]:
    """Each score as a part of the best one, weighted: how much better a chunk is counts, not only that it is."""
    best: dict[str, float] = {}
    for one in candidates:
        best[one.model] = max(best.get(one.model, 0.0), one.similarity or 0.0)
    best_word = max((one.keyword or 0.0 for one in candidates), default=0.0)
    found = []
    for one, near, word in zip(candidates, nearest, worded, strict=True):
        top = best[one.model]
        vector = request.vector_weight * max(one.similarity or 0.0, 0.0) / top if top > 0 else 0.0
        keyword = request.lexical_weight * (one.keyword or 0.0) / best_word if best_word > 0 else 0.0
        found.append(Ranked(one, vector + keyword, near, word, vector, keyword))
    return found
