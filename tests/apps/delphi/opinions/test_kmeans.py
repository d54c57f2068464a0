import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import silhouette_samples  # type: ignore[import-untyped]

from gateleg.apps.delphi.conversations.votes import Floats
from gateleg.apps.delphi.opinions.kmeans import k_means, nearest
from gateleg.apps.delphi.opinions.silhouette import silhouettes

POINTS = st.integers(1, 30).flatmap(lambda n: arrays(np.float64, (n, 2), elements=st.integers(-5, 5).map(float)))
LINE = np.array([[0.0, 0], [0, 0], [1, 0], [10, 0], [11, 0]])


def test_the_first_distinct_points_are_the_first_centres() -> None:
    found = k_means(LINE, 2, iterations=0)
    # Begins with 0 and 1: the copy of 0 is skipped.
    assert found.centers[:, 0].tolist() == [0, pytest.approx(22 / 3)]
    assert found.labels.tolist() == [0, 0, 1, 1, 1]
    assert k_means(LINE, 2).labels.tolist() == [0, 0, 0, 1, 1]


def test_there_are_no_more_clusters_than_distinct_points() -> None:
    assert len(k_means(np.zeros((5, 2)), 3)) == 1
    assert len(k_means(LINE, 100)) == 4


def test_weights_pull_the_centre() -> None:
    assert k_means(np.array([[0.0, 0], [1, 0]]), 1, np.array([3.0, 1.0])).centers[0, 0] == 0.25


def test_empty_clusters_are_dropped_and_others_keep_their_ids() -> None:
    points = np.array([[0.0, 0], [4, 0], [1, 0], [-3, 0], [9, 0]])
    found = k_means(points, 3, np.array([1.0, 1, 1, 1, 1]), earlier=np.array([0, 2, 5, 0, 2]))
    assert set(found.ids.tolist()) <= {0, 2, 5}


def test_centres_may_move_as_often_as_is_said_after_the_first_time() -> None:
    slow = np.array([[x, 0.0] for x in (0, 1, 2, 4, 8, 16, 32, 64)])
    ends = [k_means(slow, 2, iterations=often).centers[1, 0] for often in range(6)]
    assert ends == sorted(ends)
    assert ends[0] < ends[1] < ends[2]
    assert ends[-1] == k_means(slow, 2).centers[1, 0]


def test_a_far_point_leaves_its_members_behind() -> None:
    """The centre that it leaves is that of its other members, not of the points that happen to lie near."""
    points = np.array([[0.0, 0], [2, 0], [90, 0], [1, 0], [1, 1]])
    found = k_means(points, 2, earlier=np.array([4, 4, 4, -1, -1]), iterations=0)
    assert found.labels.tolist() == [4, 4, 5, 4, 4]


def test_clusters_go_on_where_they_were_and_new_points_join() -> None:
    earlier = np.array([7, 7, 7, 3, -1])
    found = k_means(LINE, 2, earlier=earlier)
    assert found.labels.tolist() == [7, 7, 7, 3, 3]


def test_identical_centres_merge_and_far_points_split_off() -> None:
    points = np.array([[1.0, 0], [-1, 0], [1, 0], [-1, 0], [50, 0]])
    found = k_means(points, 2, earlier=np.array([0, 0, 1, 1, -1]))
    assert found.labels.tolist() == [0, 0, 0, 0, 1]


@settings(deadline=None)
@given(POINTS, st.integers(1, 6))
def test_every_point_is_in_the_cluster_whose_centre_was_nearest(points: Floats, k: int) -> None:
    found = k_means(points, k)
    assert found.sizes.min() >= 1
    assert len(found) <= k
    assert found.centers == pytest.approx(np.array([points[found.places == place].mean(axis=0) for place in range(len(found))]))


@settings(deadline=None)
@given(POINTS, st.integers(1, 6))
def test_clustering_is_repeatable(points: Floats, k: int) -> None:
    assert np.array_equal(k_means(points, k).labels, k_means(points.copy(), k).labels)


def test_the_first_of_equally_near_centres_is_taken() -> None:
    assert nearest(np.array([[0.0, 0]]), np.array([[1.0, 0], [-1, 0]])).tolist() == [0]


@settings(deadline=None)
@given(POINTS, st.integers(2, 4))
def test_silhouettes_are_those_of_scikit_learn(points: Floats, k: int) -> None:
    found = k_means(points, k)
    if not 2 <= len(found) < len(points):
        return
    assert silhouettes(points, found.places) == pytest.approx(silhouette_samples(points, found.places), abs=1e-9)


def test_a_point_alone_and_a_cluster_alone_have_no_silhouette() -> None:
    assert silhouettes(LINE, np.array([0, 0, 0, 0, 1]))[4] == 0
    assert silhouettes(LINE, np.zeros(5, dtype=int)).tolist() == [0] * 5


def test_weighted_silhouettes_are_those_of_repeated_points() -> None:
    points, places = np.array([[0.0, 0], [1, 0], [9, 0]]), np.array([0, 0, 1])
    weighted = silhouettes(points, places, np.array([2.0, 1.0, 2.0]))
    repeated = silhouettes(points[[0, 0, 1, 2, 2]], places[[0, 0, 1, 2, 2]])
    assert weighted == pytest.approx(repeated[[0, 2, 3]])


def test_clusters_go_on_although_rounding_alone_tells_points_apart() -> None:
    points = np.array([[0.0, 0.0], [1e-8, 0.0], [2e-8, 0.0], [3e-8, 0.0]])
    assert len(k_means(points, 4, earlier=np.array([0, 1, 1, 1]))) >= 1
