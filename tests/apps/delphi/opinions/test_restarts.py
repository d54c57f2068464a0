import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Floats, Ints
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.kmeans import k_means
from gateleg.apps.delphi.opinions.restarts import restarted_clusters
from gateleg.apps.delphi.opinions.stage import analyse


def many_and_few(many: int, few: int) -> Floats:
    """A wide cluster at the origin, and a small one apart from it."""
    random = np.random.default_rng(3)
    return np.concatenate([random.normal(size=(many, 2)) * [2.0, 1.0], random.normal(size=(few, 2)) * 0.3 + [0.0, 8.0]])


def looseness(points: Floats, places: Ints) -> float:
    return float(sum(((points[places == one] - points[places == one].mean(axis=0)) ** 2).sum() for one in (0, 1)))


def test_a_large_group_is_not_cut_where_a_small_one_is_clearly_apart() -> None:
    points = many_and_few(300, 9)
    few = np.arange(309) >= 300
    found = restarted_clusters(points, 2, np.ones(309))
    assert found.labels.tolist() == few.astype(int).tolist()
    # The tightest would cut the large one.
    assert looseness(points, (points[:, 0] > 0).astype(int)) < looseness(points, few.astype(int))


def test_the_tightest_is_taken_where_none_is_clearly_better_separated() -> None:
    points = np.random.default_rng(5).normal(size=(60, 2))
    found = restarted_clusters(points, 3, np.ones(60))
    begun = [k_means(points[np.roll(np.arange(60), shift)], 3) for shift in range(60)]
    inside = ((points - found.centers[found.places]) ** 2).sum()
    others = [((points[np.roll(np.arange(60), shift)] - one.centers[one.places]) ** 2).sum() for shift, one in enumerate(begun)]
    assert inside <= min(others) * 1.01


def test_groups_are_numbered_by_size_whatever_their_weight_comes_from() -> None:
    points = np.array([[0.0, 0], [0.1, 0], [9, 0]])
    assert restarted_clusters(points, 2, np.array([1.0, 1, 5])).labels.tolist() == [1, 1, 0]
    assert restarted_clusters(points, 2, np.ones(3)).labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((7, 2))], ids=["none", "one", "equal"])
def test_points_that_cannot_be_divided_are_not(points: Floats) -> None:
    assert len(restarted_clusters(points, 3, np.ones(len(points)))) == min(1, len(points))


@pytest.mark.parametrize(("mode", "people", "clusters"), [("exact", 101, 100), ("improved", 500, 500), ("improved", 501, 100)])
def test_few_participants_have_base_clusters_of_their_own(mode: str, people: int, clusters: int) -> None:
    votes = synthesise(SyntheticPlan(participants=people, comments=40, votes_per_participant=30)).conversation.votes
    opinions = analyse(votes, [], VotesConfig.model_validate({"mode": mode, "correlated_comments": 0}))
    assert int(opinions.inside.sum()) == people
    # Clusters that lose their last member are dropped.
    assert clusters - 5 <= len(opinions.groups.base) <= clusters
