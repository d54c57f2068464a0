import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse  # type: ignore[import-untyped]
from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.topics.communities import Graph, communities, quality


def _two_triangles() -> Graph:
    weights = np.zeros((6, 6))
    for a, b in [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]:
        weights[a, b] = weights[b, a] = 1.0
    weights[2, 3] = weights[3, 2] = 0.1
    return Graph.of(sparse.csr_matrix(weights))


def test_two_triangles_are_two_communities() -> None:
    assert communities(_two_triangles(), 1.0).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_low_resolution_joins_and_a_high_one_divides() -> None:
    graph = _two_triangles()
    assert set(communities(graph, 0.01)) == {0}
    assert len(set(communities(graph, 50.0))) == 6


def test_communities_within_labels_do_not_cross_them() -> None:
    labels = np.array([0, 0, 1, 1, 1, 1])
    found = communities(_two_triangles().within(labels), 1.0)
    assert all(len(set(labels[found == community])) == 1 for community in set(found))


def test_quality_of_two_triangles_by_hand() -> None:
    found = quality(_two_triangles(), np.array([0, 0, 0, 1, 1, 1]), 1.0)
    assert found == pytest.approx(12 / 12.2 - 0.5)


def test_shares_say_where_the_weights_of_a_node_lead() -> None:
    shares = _two_triangles().shares(np.array([0, 0, 0, 1, 1, 1]))
    assert shares[0].tolist() == [1.0, 0.0]
    assert shares[2] == pytest.approx([2 / 2.1, 0.1 / 2.1])
    assert Graph.of(sparse.csr_matrix((2, 2))).shares(np.array([0, 1])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_graph_without_weights_leaves_every_node_alone() -> None:
    graph = Graph.of(sparse.csr_matrix((3, 3)))
    assert communities(graph, 1.0).tolist() == [0, 1, 2]
    assert quality(graph, np.arange(3), 1.0) == 0.0
    assert len(communities(Graph.of(sparse.csr_matrix((0, 0))), 1.0)) == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40))
@settings(max_examples=60, deadline=None)
def test_agreement_is_the_adjusted_rand_index(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(side) for side in zip(*pairs, strict=True))
    assert agreement(one, other) == pytest.approx(adjusted_rand_score(one, other), abs=1e-9)
