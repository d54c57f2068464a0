"""The graph of vectors, and the exact comparisons beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.rag.index.embedded import _EXTRA_CANDIDATES, _contenders
from gateleg.apps.rag.index.graph import ROUNDING, VectorGraph, nearest_rows, search_candidates
from tests.apps.rag.index.made import DIMENSIONS, directions


def test_similarities_in_the_graph_are_as_near_as_promised() -> None:
    vectors = directions(600)
    graph = VectorGraph(DIMENSIONS, exact=100)
    graph.add(np.arange(1, 601), vectors)
    graph.settle()
    assert graph.graphed == 600
    for vector in vectors[:20]:
        ids, similar = graph.nearest(vector, 50)
        assert np.abs(vectors[ids - 1] @ vector - similar).max() <= ROUNDING
        places, near = graph.nearest_of(vector, np.arange(1, 601), 50)
        assert np.abs(vectors[places] @ vector - near).max() <= ROUNDING


def test_vectors_that_are_in_the_graph_are_not_compared_again() -> None:
    vectors = directions(1_000)
    graph = VectorGraph(DIMENSIONS, exact=100)
    for start in range(0, 1_000, 50):
        graph.add(np.arange(start, start + 50), vectors[start : start + 50])
    graph.settle()
    assert len(graph) == 1_000
    assert graph.graphed >= 900


def test_the_same_vectors_make_the_same_graph() -> None:
    vectors = directions(3_000)
    graphs = [VectorGraph(DIMENSIONS, exact=100) for _ in range(2)]
    for graph in graphs:
        graph.add(np.arange(3_000), vectors)
        graph.settle()
    first, second = ([graph.nearest(vector, 300)[0].tolist() for vector in vectors[:300]] for graph in graphs)
    assert first == second


def test_given_chunks_without_a_vector_are_left_out() -> None:
    vectors = directions(10)
    graph = VectorGraph(DIMENSIONS)
    graph.add(np.arange(0, 20, 2), vectors)
    places, similar = graph.nearest_of(vectors[3], np.array([1, 2, 5, 6, 8]), 5)
    assert places.tolist()[0] == 3
    assert sorted(places.tolist()) == [1, 3, 4]
    assert similar.tolist() == sorted(similar.tolist(), reverse=True)
    assert [len(part) for part in graph.nearest_of(vectors[3], np.zeros(0, dtype=np.int64), 5)] == [0, 0]


@given(st.integers(1, 60), st.integers(1, 12))
def test_nearest_rows_are_the_nearest(count: int, k: int) -> None:
    vectors = directions(count, seed=count)
    places, similar = nearest_rows(vectors, vectors[0], k)
    assert places.tolist()[0] == 0
    assert np.allclose(similar, np.sort(vectors @ vectors[0])[::-1][:k], atol=1e-5)


@given(st.lists(st.tuples(st.floats(0.5, 0.6), st.floats(-1, 1)), min_size=1, max_size=_EXTRA_CANDIDATES), st.integers(1, 10))
def test_nothing_is_left_out_that_rounding_has_put_behind(made: list[tuple[float, float]], k: int) -> None:
    true = np.array([value for value, _ in made], dtype=np.float32)
    rounded = true + ROUNDING * np.array([error for _, error in made], dtype=np.float32)
    order = np.argsort(-rounded, kind="stable")
    kept = _contenders(order, rounded[order], k)
    worst = np.sort(true[kept])[::-1][:k][-1]
    assert len(kept) >= min(k, len(made))
    assert not [place for place in range(len(made)) if place not in kept and true[place] > worst + 1e-6]


@pytest.mark.parametrize(("vectors", "candidates"), [(5_000, 256), (100_000, 256), (400_000, 512), (1_000_000, 810)])
def test_searches_of_large_graphs_consider_more_candidates(vectors: int, candidates: int) -> None:
    assert search_candidates(vectors) == candidates
