import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.conversations.votes import Floats
from gateleg.apps.delphi.topics.communities import Graph
from gateleg.apps.delphi.topics.neighbours import affinities, nearest
from gateleg.apps.delphi.topics.reassignment import reassign
from tests.apps.delphi.planted import planted_vectors


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _graph(vectors: Floats) -> Graph:
    return Graph.of(affinities(nearest(vectors, 6)))


@given(st.integers(0, 1_000), st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_misplaced_comments_go_back_to_their_topic(seed: int, misplaced: int) -> None:
    vectors, topic_of = planted_vectors(3, 30, seed=seed)
    labels = topic_of.copy()
    labels[:misplaced] = (labels[:misplaced] + 1) % 3
    assert reassign(_graph(_unit(vectors)), labels, _unit(vectors)).tolist() == topic_of.tolist()


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_near_copies_do_not_keep_each_other_in_the_wrong_topic(copies: int) -> None:
    vectors, topic_of = planted_vectors(2, 16)
    random = np.random.default_rng(1)
    clump = vectors[topic_of == 0][0] + 0.001 * random.normal(size=(copies, vectors.shape[1]))
    every = _unit(np.vstack([vectors, clump]))
    assert reassign(_graph(every), np.append(topic_of, np.ones(copies, dtype=np.int64)), every)[16:].tolist() == [0] * copies


def test_who_belongs_where_they_are_stays() -> None:
    vectors, topic_of = planted_vectors(3, 30)
    assert reassign(_graph(_unit(vectors)), topic_of, _unit(vectors)).tolist() == topic_of.tolist()


def test_a_comment_alone_in_its_topic_joins_those_it_is_near_to() -> None:
    vectors = _unit(np.array([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [1.0, 0.0, 0.1]]))
    assert reassign(_graph(vectors), np.array([0, 0, 1]), vectors).tolist() == [0, 0, 0]
