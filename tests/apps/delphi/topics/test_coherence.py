import numpy as np

from gateleg.apps.delphi.topics.coherence import coherence, joined_topics
from gateleg.apps.delphi.topics.neighbours import distinct
from tests.apps.delphi.planted import planted_vectors


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
    joined = joined_topics(found.vectors[found.places], middles, labels, [3])
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
    assert joined_topics(unit, middles, crossed, [2]) is None
