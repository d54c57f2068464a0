import numpy as np
import pytest
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from gateleg.apps.delphi.topics.coherence import choose_coherent_topics, coherence, join_topics, refine_topics
from gateleg.apps.delphi.topics.neighbours import distinct
from gateleg.apps.delphi.topics.stage import analyse_comments
from tests.apps.delphi.planted import planted_vectors
from tests.apps.delphi.real import NAMES, needs_real_conversations, real_conversation
from tests.apps.delphi.texts import local_embeddings


def test_coherence_is_the_cosine_within_less_that_between() -> None:
    vectors, topics = planted_vectors(3, 30)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines, same, self_ = unit @ unit.T, topics[:, None] == topics[None, :], np.eye(30, dtype=bool)
    assert np.isclose(coherence(unit, topics), cosines[same & ~self_].mean() - cosines[~same].mean())


def test_topics_are_joined_as_they_belong_together() -> None:
    random = np.random.default_rng(1)
    fields = random.normal(size=(3, 96))
    middles = np.repeat(fields, 4, axis=0) + 0.4 * random.normal(size=(12, 96))
    labels = np.repeat(np.arange(12), 8)
    found = distinct(middles[labels] + 0.3 * random.normal(size=(96, 96)))
    joined = join_topics(found.vectors[found.places], middles, labels, [3])
    assert joined is not None
    assert len({(int(one), int(topic) // 4) for one, topic in zip(joined, labels, strict=True)}) == 3


def test_topics_that_would_mix_what_does_not_belong_together_are_not_joined() -> None:
    # Two topics that are far apart, and each cut in halves that cross: joining halves is worse than beginning again.
    random = np.random.default_rng(2)
    fields = random.normal(size=(2, 96))
    truth = np.repeat([0, 1], 40)
    vectors = fields[truth] + 0.2 * random.normal(size=(80, 96))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    crossed = np.arange(80) % 4
    middles = np.stack([unit[crossed == one].mean(axis=0) for one in range(4)])
    assert join_topics(unit, middles, crossed, [2]) is None


def test_topics_that_k_means_divides_better_give_way_to_its_own() -> None:
    vectors, topics = planted_vectors(4, 80)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wrong = np.where(np.arange(80) % 3 == 0, (topics + 1) % 4, topics)
    found = choose_coherent_topics(unit, wrong, lambda labels: labels)
    assert coherence(unit, found) > coherence(unit, wrong)
    assert len({(int(one), int(topic)) for one, topic in zip(found, topics, strict=True)}) == 4


def test_topics_as_coherent_as_those_of_k_means_stay() -> None:
    vectors, topics = planted_vectors(4, 80)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert choose_coherent_topics(unit, topics, lambda labels: labels) is topics


def test_topics_that_fall_short_of_k_means_get_better_by_as_few_moves_as_it_takes() -> None:
    vectors, topics = planted_vectors(4, 80)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    strayed = topics.copy()
    strayed[:3] = (topics[:3] + 1) % 4
    assert refine_topics(unit, strayed, 3).tolist() == topics.tolist()
    assert refine_topics(unit, topics, 3) is topics


def test_moves_keep_topics_as_large_as_they_must_be_and_inside_of_those_that_hold_them() -> None:
    vectors, topics = planted_vectors(4, 80)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wrong, parents = (topics + np.arange(80) % 3) % 4, np.arange(80) % 2
    # Two topics in each of two coarse ones.
    fine = parents * 2 + wrong // 2
    found = refine_topics(unit, fine, 19, parents)
    assert coherence(unit, found) > coherence(unit, fine)
    assert np.bincount(found).min() >= 19
    assert {(int(topic) // 2, int(parent)) for topic, parent in zip(found, parents, strict=True)} == {(0, 0), (1, 1)}


@pytest.mark.slow
@needs_real_conversations
@pytest.mark.parametrize("name", NAMES)
def test_the_coarsest_topics_of_real_conversations_are_as_coherent_as_those_of_k_means(name: str) -> None:
    real = real_conversation(name)
    topics = analyse_comments(real.comments, local_embeddings(), votes=real.counted_votes)
    unit = topics.vectors / np.linalg.norm(topics.vectors, axis=1, keepdims=True)
    labels = topics.layers.layers[-1].labels
    peer = KMeans(labels.max() + 1, n_init=10, random_state=1_000).fit(unit).labels_
    assert coherence(unit, labels) >= coherence(unit, peer)
