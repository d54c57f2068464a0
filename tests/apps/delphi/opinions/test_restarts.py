import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Floats
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.kmeans import k_means
from gateleg.apps.delphi.opinions.restarts import restarted_clusters
from gateleg.apps.delphi.opinions.stage import analyse


def test_the_tightest_is_taken() -> None:
    points = np.random.default_rng(5).normal(size=(60, 2))
    found = restarted_clusters(points, 3, np.ones(60))
    assert found is not None
    begun = [k_means(points[np.roll(np.arange(60), shift)], 3) for shift in range(60)]
    inside = ((points - found.centers[found.places]) ** 2).sum()
    others = [((points[np.roll(np.arange(60), shift)] - one.centers[one.places]) ** 2).sum() for shift, one in enumerate(begun)]
    assert inside <= min(others) * 1.01


def test_whoever_stands_alone_is_no_cluster_when_clusters_must_be_larger() -> None:
    random = np.random.default_rng(2)
    points = np.concatenate([random.normal(size=(40, 2)), random.normal(size=(20, 2)) + np.array([6, 0]), [[0.0, 60.0]]])
    alone, larger = (restarted_clusters(points, 2, np.ones(61), least) for least in (1, 3))
    assert alone is not None
    assert larger is not None
    assert alone.sizes.tolist() == [60, 1]
    assert sorted(larger.sizes.tolist()) in ([20, 41], [21, 40])


def test_groups_are_numbered_by_size_whatever_their_weight_comes_from() -> None:
    points = np.array([[0.0, 0], [0.1, 0], [9, 0]])
    heavy, light = restarted_clusters(points, 2, np.array([1.0, 1, 5])), restarted_clusters(points, 2, np.ones(3))
    assert heavy is not None
    assert light is not None
    assert (heavy.labels.tolist(), light.labels.tolist()) == ([1, 1, 0], [0, 0, 1])


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((7, 2))], ids=["none", "one", "equal"])
def test_points_that_cannot_be_divided_are_not(points: Floats) -> None:
    assert restarted_clusters(points, 3, np.ones(len(points))) is None


@pytest.mark.parametrize(
    ("mode", "people", "clusters"), [("exact", 101, 100), ("improved", 500, 500), ("improved", 501, 501), ("improved", 2001, 100)]
)
def test_few_participants_have_base_clusters_of_their_own(mode: str, people: int, clusters: int) -> None:
    votes = synthesise(SyntheticPlan(participants=people, comments=40, votes_per_participant=30)).conversation.votes
    opinions = analyse(votes, [], VotesConfig.model_validate({"mode": mode, "correlated_comments": 0}))
    assert int(opinions.inside.sum()) == people
    # Clusters that lose their last member are dropped.
    assert clusters - 5 <= len(opinions.groups.base) <= clusters
