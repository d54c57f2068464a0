import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.topics.neighbours import affinities, distinct, edges, nearest, subtract_mean
from tests.apps.delphi.planted import planted_vectors

seeds = st.integers(0, 10_000)


def test_the_nearest_are_those_with_the_highest_cosines() -> None:
    vectors = distinct(planted_vectors(3, 40)[0]).vectors
    cosines = vectors @ vectors.T
    found = nearest(vectors, 4)
    for row in range(40):
        others = np.delete(cosines[row], row)
        assert np.allclose(found.similarities[row], np.sort(others)[::-1][:4], atol=1e-6)
        assert row not in found.indices[row]


def test_blocks_make_no_difference() -> None:
    vectors = distinct(np.random.default_rng(0).normal(size=(1_500, 8))).vectors
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    assert np.allclose(nearest(vectors, 1).similarities[:, 0], cosines.max(axis=1), atol=1e-6)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_affinities_are_symmetric_and_between_0_and_1(seed: int) -> None:
    vectors = distinct(np.random.default_rng(seed).normal(size=(25, 6))).vectors
    weights = affinities(nearest(vectors, 5)).toarray()
    assert np.allclose(weights, weights.T)
    assert weights.min() >= 0
    assert weights.max() <= 1 + 1e-12
    assert (weights.diagonal() == 0).all()


def test_copies_are_taken_together_and_empty_texts_left_out() -> None:
    vectors = np.array([[2.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    unique = distinct(vectors)
    assert unique.vectors.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert unique.places.tolist() == [1, -1, 1, 0]
    assert unique.expand(np.array([10.0, 20.0]), np.nan).tolist()[2:] == [20.0, 10.0]


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_distinct_vectors_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(12, 4))
    order = random.permutation(12)
    one, other = distinct(vectors), distinct(vectors[order])
    assert (one.vectors == other.vectors).all()
    assert (one.places[order] == other.places).all()


def test_what_all_vectors_have_in_common_is_taken_away() -> None:
    vectors = distinct(planted_vectors(3, 30)[0]).vectors
    common = np.zeros_like(vectors[0])
    common[0] = 5.0
    framed = distinct(vectors + common).vectors
    similar, contrasted = framed @ framed.T, subtract_mean(framed) @ subtract_mean(framed).T
    assert similar.min() > 0.9
    assert contrasted.min() < 0
    assert np.allclose(contrasted.diagonal(), 1)


def test_vectors_that_have_nothing_of_their_own_stay_as_they_are() -> None:
    alone = np.array([[0.6, 0.8]])
    assert subtract_mean(alone).tolist() == alone.tolist()
    third = np.array([[1.0, 0.0], [np.cos(2.0), np.sin(2.0)], [np.cos(2.0), -np.sin(2.0)]])
    middle = third.mean(axis=0)[None, :]
    assert np.allclose(np.linalg.norm(subtract_mean(np.vstack([third, middle / np.linalg.norm(middle)])), axis=1), 1)
    assert subtract_mean(np.zeros((0, 3))).shape == (0, 3)


def test_every_pair_of_the_graph_stands_there_once() -> None:
    ids = np.array([7, 3, 5, 9])
    vectors = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.0]])
    found = edges(ids, vectors, count=1)
    assert [(edge.source, edge.target) for edge in found] == [(3, 5), (3, 7)]
    assert found[1].similarity > 0.99


def test_nobody_has_no_neighbours() -> None:
    assert edges(np.zeros(0, dtype=np.int64), np.zeros((0, 4))) == []
    assert edges(np.array([1]), np.ones((1, 4))) == []
    assert nearest(np.zeros((0, 3)), 5).indices.shape == (0, 0)
    assert affinities(nearest(np.ones((1, 3)), 5)).shape == (1, 1)
