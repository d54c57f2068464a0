"""Vectors with planted topics."""

import numpy as np

from gateleg.apps.delphi.conversations.votes import Floats, Ints


def planted_vectors(topics: int, comments: int, spread: float = 0.06, dimensions: int = 96, seed: int = 0) -> tuple[Floats, Ints]:
    """Comments around the middles of their topics, and the topic of each."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(topics, dimensions))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    topic_of = random.permutation(np.arange(comments) % topics)
    return middles[topic_of] + spread * random.normal(size=(comments, dimensions)), topic_of
