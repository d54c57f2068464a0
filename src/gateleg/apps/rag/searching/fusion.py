"""One ranking from two: similarities and BM25 of the same chunks. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.apps.rag.index.entries import ChunkKey
    from gateleg.apps.rag.searching.requests import Mode, SearchRequest


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that one of the ways of searching has found."""

    #: which of the searched collections it is in
    source: int
    key: ChunkKey
    similarity: float | None
    keyword: float | None
    #: similarities are compared within one embedding model
    model: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
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
    nearest = _places(candidates, lambda candidate: candidate.similarity)
    worded = _places(candidates, lambda candidate: candidate.keyword)
    if mode == "vector":
        found = [_single(candidate, nearest, worded, candidate.similarity) for candidate in candidates if candidate.similarity is not None]
    elif mode == "keyword":
        found = [_single(candidate, nearest, worded, candidate.keyword) for candidate in candidates if candidate.keyword is not None]
    elif request.fusion == "rrf":
        found = [_by_rank(candidate, nearest, worded, request) for candidate in candidates]
    else:
        found = _weighted(candidates, nearest, worded, request)
    kept = (one for one in found if _passes(one.candidate, mode, request.score_threshold))
    return sorted(kept, key=lambda one: (-one.score, one.candidate.source, one.candidate.key))


def _passes(candidate: Candidate, mode: Mode, threshold: float | None) -> bool:
    if threshold is None:
        return True
    score = candidate.keyword if mode == "keyword" else candidate.similarity
    return score is not None and score >= threshold


def _places(candidates: Iterable[Candidate], score: Callable[[Candidate], float | None]) -> dict[tuple[int, ChunkKey], int]:
    """The place of each candidate by one score, from 1; models whose similarities do not compare have rankings of their own."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if score(candidate) is not None:
            groups.setdefault(candidate.model, []).append(candidate)
    found: dict[tuple[int, ChunkKey], int] = {}
    for group in groups.values():
        ordered = sorted(group, key=lambda one: (-(score(one) or 0.0), one.source, one.key))
        found |= {(one.source, one.key): place for place, one in enumerate(ordered, 1)}
    return found


def _single(
    candidate: Candidate, nearest: dict[tuple[int, ChunkKey], int], worded: dict[tuple[int, ChunkKey], int], score: float | None
) -> Ranked:
    place = (candidate.source, candidate.key)
    return Ranked(candidate, score or 0.0, nearest.get(place), worded.get(place))


def _by_rank(
    candidate: Candidate, nearest: dict[tuple[int, ChunkKey], int], worded: dict[tuple[int, ChunkKey], int], request: SearchRequest
) -> Ranked:
    """Reciprocal rank fusion: what counts is the place in each ranking."""
    place = (candidate.source, candidate.key)
    near, word = nearest.get(place), worded.get(place)
    # With equal weights, the sum that the method's authors have.
    vector = 2 * request.vector_weight / (request.rrf_k + near) if near else 0.0
    keyword = 2 * request.lexical_weight / (request.rrf_k + word) if word else 0.0
    return Ranked(candidate, vector + keyword, near, word, vector, keyword)


def _weighted(
    candidates: Sequence[Candidate],
    nearest: dict[tuple[int, ChunkKey], int],
    worded: dict[tuple[int, ChunkKey], int],
    request: SearchRequest,
) -> list[Ranked]:
    """Each score as a part of the best one, weighted: how much better a chunk is counts, not only that it is."""
    best: dict[str, float] = {}
    for candidate in candidates:
        best[candidate.model] = max(best.get(candidate.model, 0.0), candidate.similarity or 0.0)
    best_word = max((candidate.keyword or 0.0 for candidate in candidates), default=0.0)
    found = []
    for candidate in candidates:
        near, word = best[candidate.model], best_word
        vector = request.vector_weight * max(candidate.similarity or 0.0, 0.0) / near if near > 0 else 0.0
        keyword = request.lexical_weight * (candidate.keyword or 0.0) / word if word > 0 else 0.0
        place = (candidate.source, candidate.key)
        found.append(Ranked(candidate, vector + keyword, nearest.get(place), worded.get(place), vector, keyword))
    return found
