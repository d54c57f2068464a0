"""One ranking from two."""

import numpy as np
import pytest

from gateleg.apps.rag.index.entries import ChunkKey
from gateleg.apps.rag.searching.diversity import diversify
from gateleg.apps.rag.searching.fusion import Candidate, rank
from gateleg.apps.rag.searching.highlights import best_snippet, matched_spans
from gateleg.apps.rag.searching.requests import SearchRequest


def candidate(name: str, similarity: float | None, keyword: float | None, model: str = "m") -> Candidate:
    return Candidate(0, ChunkKey(name, 1, 0), similarity, keyword, model)


A, B, C = candidate("a", 0.9, None), candidate("b", 0.8, 5.0), candidate("c", 0.1, 10.0)


def order(candidates: list[Candidate], mode: str, **options: object) -> list[str]:
    request = SearchRequest(query="x", **options)  # type: ignore[arg-type]
    return [one.candidate.key.document_id for one in rank(candidates, mode, request)]  # type: ignore[arg-type]


def test_modes_order_by_their_score() -> None:
    assert order([B, C, A], "vector") == ["a", "b", "c"]
    assert order([B, C, A], "keyword") == ["c", "b"]


def test_weights_decide_between_meaning_and_words() -> None:
    assert order([A, B, C], "hybrid") == ["b", "a", "c"]
    assert order([A, B, C], "hybrid", vector_weight=1.0) == ["a", "b", "c"]
    assert order([A, B, C], "hybrid", lexical_weight=1.0) == ["c", "b", "a"]


def test_reciprocal_ranks_are_those_of_the_method() -> None:
    request = SearchRequest(query="x", fusion="rrf", vector_weight=0.5)
    found = {one.candidate.key.document_id: one.score for one in rank([A, B, C], "hybrid", request)}
    assert found["b"] == pytest.approx(1 / 62 + 1 / 62)
    assert found["a"] == pytest.approx(1 / 61)
    assert found["c"] == pytest.approx(1 / 63 + 1 / 61)


def test_similarities_of_different_models_do_not_compare() -> None:
    other = candidate("z", 0.3, None, "another")
    request = SearchRequest(query="x", vector_weight=1.0)
    scores = {one.candidate.key.document_id: one.score for one in rank([A, B, other], "hybrid", request)}
    assert scores["a"] == scores["z"] == 1.0


def test_the_threshold_is_a_similarity_except_for_words() -> None:
    assert order([A, B, C], "hybrid", score_threshold=0.5) == ["b", "a"]
    assert order([A, B, C], "keyword", score_threshold=6.0) == ["c"]


def test_diversity_takes_the_best_and_then_what_differs() -> None:
    same, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert diversify([1.0, 0.9, 0.5], [same, same, other], 0.6, 3) == [0, 2, 1]
    assert diversify([1.0, 0.9, 0.5], [same, same, other], 0.0, 2) == [0, 1]
    assert diversify([1.0, 0.9], [None, None], 0.9, 5) == [0, 1]


def test_highlights_mark_forms_of_the_words_of_a_query() -> None:
    text = "Pumps are connected. The pump connects."
    assert [text[start:end] for start, end in matched_spans("pump connection", text)] == ["Pumps", "connected", "pump", "connects"]


def test_a_snippet_has_the_words_of_the_query() -> None:
    text = "word " * 200 + "the pump leaks " + "word " * 200
    start, end = best_snippet(text, matched_spans("pump leaks", text))
    assert "pump leaks" in text[start:end]
    assert end - start <= 240
    assert best_snippet("short", []) == (0, 5)
