import subprocess
import sys

import numpy as np
import pytest
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.topics.kmeans_plus_plus import resumed_k_means, seeded_k_means
from tests.apps.delphi.planted import planted_vectors


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_clusters_are_those_of_scikit_learn_with_the_same_seed(count: int) -> None:
    vectors, _ = planted_vectors(6, 90)
    weights = np.random.default_rng(count).uniform(0.5, 4.0, len(vectors))
    for seed in range(10):
        plain = KMeans(count, n_init=1, random_state=seed)
        assert np.array_equal(seeded_k_means(vectors, count, seed), plain.fit(vectors).labels_)
        assert np.array_equal(seeded_k_means(vectors, count, seed, weights), plain.fit(vectors, sample_weight=weights).labels_)


def test_k_means_that_begins_with_planted_topics_ends_with_them() -> None:
    vectors, topics = planted_vectors(4, 80)
    middles = np.stack([vectors[topics == one].mean(axis=0) for one in range(4)])
    assert np.array_equal(resumed_k_means(vectors, middles), topics)


def test_a_cluster_that_loses_all_points_begins_anew_with_the_one_that_lies_furthest_out() -> None:
    points = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [30.0]])
    found = resumed_k_means(points, np.array([[0.1], [9.0], [1e6]]))
    assert agreement(found, np.array([0, 0, 0, 1, 1, 2])) == 1.0


def test_points_that_are_all_equal_are_divided_without_an_error() -> None:
    assert set(seeded_k_means(np.ones((6, 3)), 3, seed=0).tolist()) <= {0, 1, 2}


def test_an_analysis_never_loads_scikit_learn() -> None:
    # Loading it takes longer than the analysis of a usual conversation.
    asked = """
import sys
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.opinions.stage import analyse
import gateleg.apps.delphi.topics.stage, gateleg.apps.delphi.reports.artifacts
made = synthesise(SyntheticPlan(participants=60, comments=20)).conversation
analyse(made.votes, made.comments)
print([name for name in ("sklearn", "scipy.stats", "pandas") if name in sys.modules])
"""
    answered = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=120)
    assert answered.stdout.strip() == "[]"
