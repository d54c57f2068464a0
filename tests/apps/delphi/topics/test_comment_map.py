import numpy as np
import pytest
from pydantic import ValidationError

from gateleg.apps.delphi.topics.comment_map import project
from gateleg.apps.delphi.topics.config import MapConfig
from tests.apps.delphi.planted import planted_vectors


def test_similar_comments_lie_side_by_side_in_whatever_order_they_come() -> None:
    vectors, topic_of = planted_vectors(4, 60)
    places = project(vectors)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (topic_of[apart.argmin(axis=1)] == topic_of).mean() > 0.95
    order = np.random.default_rng(1).permutation(60)
    assert np.array_equal(project(vectors[order]), places[order])


def test_the_parameters_make_a_difference() -> None:
    vectors, _ = planted_vectors(3, 30)
    plain = project(vectors)
    for config in (MapConfig(n_neighbors=3), MapConfig(min_dist=0.8), MapConfig(metric="euclidean"), MapConfig(random_state=7)):
        assert not np.allclose(project(vectors * (1 + np.arange(30)[:, None] % 3), config), plain)
    assert project(vectors, MapConfig(n_components=3)).shape == (30, 3)


@pytest.mark.parametrize("comments", [0, 1, 2, 3, 7])
def test_a_few_comments_are_laid_out_without_neighbourhoods(comments: int) -> None:
    places = project(planted_vectors(1, max(comments, 1))[0][:comments])
    assert places.shape == (comments, 2)
    assert np.isfinite(places).all()


def test_two_comments_lie_at_opposite_ends() -> None:
    places = project(np.eye(2))
    assert np.allclose(np.linalg.norm(places, axis=1), 1.0)
    assert np.allclose(places[0], -places[1])


def test_copies_share_their_place_and_empty_texts_have_none() -> None:
    vectors = np.vstack([planted_vectors(1, 4)[0], planted_vectors(1, 4)[0][:1], np.zeros((1, 96))])
    places = project(vectors)
    assert np.array_equal(places[4], places[0])
    assert np.isnan(places[5]).all()


@pytest.mark.parametrize("wrong", [{"n_neighbors": 1}, {"min_dist": -0.1}, {"metric": "nearness"}, {"min_distance": 0.1}])
def test_parameters_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MapConfig.model_validate(wrong)
