from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.topics.layers import Layers, find_layers
from tests.apps.delphi.planted import planted_vectors

plans = st.tuples(st.integers(1, 6), st.integers(1, 60), st.floats(0.01, 0.3), st.integers(0, 1_000))


@pytest.mark.parametrize(("topics", "comments"), [(2, 40), (5, 100), (12, 240)])
def test_planted_topics_are_found_in_the_steadiest_layer(topics: int, comments: int) -> None:
    vectors, topic_of = planted_vectors(topics, comments)
    found = find_layers(vectors)
    assert agreement(topic_of, found.layers[found.steadiest].labels) >= 0.95


def test_topics_of_very_different_sizes_are_found() -> None:
    vectors, topic_of = planted_vectors(4, 400, seed=3)
    kept = np.flatnonzero((topic_of == 0) | (np.arange(400) % 8 == 0))
    found = find_layers(vectors[kept])
    assert max(agreement(topic_of[kept], layer.labels) for layer in found.layers) >= 0.95


def test_near_copies_between_two_topics_go_to_the_topic_of_the_rest() -> None:
    vectors, topic_of = planted_vectors(4, 60, spread=0.04, seed=5)
    first, second = (vectors[topic_of == topic].mean(axis=0) for topic in (0, 1))
    clump = 0.6 * first + 0.4 * second + 0.005 * np.random.default_rng(1).normal(size=(3, vectors.shape[1]))
    found = find_layers(np.vstack([vectors, clump]))
    labels = found.layers[found.steadiest].labels
    assert agreement(topic_of, labels[:60]) >= 0.95
    assert set(labels[60:]) == set(labels[:60][topic_of == 0])


@given(plans)
@settings(max_examples=10, deadline=None)
def test_every_topic_lies_inside_its_parent(plan: tuple[int, int, float, int]) -> None:
    topics, comments, spread, seed = plan
    layers = find_layers(planted_vectors(topics, comments, spread, seed=seed)[0]).layers
    assert len(layers[-1].parents) == 0
    for fine, coarse in pairwise(layers):
        assert fine.topics > coarse.topics
        assert (fine.parents[fine.labels] == coarse.labels).all()


@given(plans)
@settings(max_examples=10, deadline=None)
def test_every_comment_that_says_something_has_a_topic_in_every_layer(plan: tuple[int, int, float, int]) -> None:
    topics, comments, spread, seed = plan
    vectors, _ = planted_vectors(topics, comments, spread, seed=seed)
    vectors = np.vstack([vectors, np.zeros(vectors.shape[1])])
    for layer in find_layers(vectors).layers:
        assert layer.labels[-1] == -1
        assert (layer.labels[:-1] >= 0).all()
        assert set(layer.labels[:-1]) == set(range(layer.topics))
        assert np.isnan(layer.distances[-1])
        assert ((layer.confidences[:-1] >= 0) & (layer.confidences[:-1] <= 1 + 1e-9)).all()
        assert ((layer.distances[:-1] >= 0) & (layer.distances[:-1] <= 2)).all()


@given(plans)
@settings(max_examples=8, deadline=None)
def test_the_order_of_rows_makes_no_difference(plan: tuple[int, int, float, int]) -> None:
    topics, comments, spread, seed = plan
    vectors, _ = planted_vectors(topics, comments, spread, seed=seed)
    order = np.random.default_rng(seed).permutation(comments)
    one, other = find_layers(vectors), find_layers(vectors[order])
    assert len(one.layers) == len(other.layers)
    assert (one.outliers[order] == other.outliers).all()
    for left, right in zip(one.layers, other.layers, strict=True):
        assert (left.labels[order] == right.labels).all()
        assert np.array_equal(left.distances[order], right.distances)
        assert np.array_equal(left.centroids, right.centroids)
        assert np.array_equal(left.parents, right.parents)


def test_topics_are_numbered_by_size() -> None:
    found = find_layers(np.vstack([planted_vectors(3, 60)[0], planted_vectors(3, 60)[0][:7]]))
    for layer in found.layers:
        sizes = np.bincount(layer.labels)
        assert (np.diff(sizes) <= 0).all()


def test_copies_share_all_their_topics() -> None:
    vectors, _ = planted_vectors(3, 40)
    found = find_layers(np.vstack([vectors, np.repeat(vectors[:1], 30, axis=0)]))
    for layer in found.layers:
        assert (layer.labels[40:] == layer.labels[0]).all()


def test_a_stray_comment_is_an_outlier_and_has_a_topic_all_the_same() -> None:
    vectors, topic_of = planted_vectors(4, 80, spread=0.04)
    strays = np.random.default_rng(9).normal(size=(4, vectors.shape[1]))
    found = find_layers(np.vstack([vectors, strays]))
    assert agreement(topic_of, found.layers[found.steadiest].labels[:80]) >= 0.95
    assert found.outliers[80:].all()
    assert found.outliers[:80].mean() < 0.1
    assert (found.layers[0].labels >= 0).all()
    assert found.layers[found.steadiest].distances[80:].min() > found.layers[found.steadiest].distances[:80].mean()


def _shape(found: Layers) -> list[int]:
    return [layer.topics for layer in found.layers]


@pytest.mark.parametrize("comments", [1, 2, 3, 5])
def test_a_tiny_conversation_is_one_topic(comments: int) -> None:
    assert _shape(find_layers(planted_vectors(1, comments)[0])) == [1]


def test_no_comments_have_no_layers() -> None:
    assert find_layers(np.zeros((0, 8))).layers == ()
    silent = find_layers(np.zeros((3, 8)))
    assert silent.layers == ()
    assert silent.outliers.tolist() == [False] * 3


def test_no_more_layers_than_asked_for() -> None:
    assert len(find_layers(planted_vectors(12, 240)[0], most_layers=1).layers) == 1
