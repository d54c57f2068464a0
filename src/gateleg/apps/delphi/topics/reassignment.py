"""Moves comments that fit another topic better, after topics are found.

Community detection optimizes topics as a whole. A few comments with nearly the same words may end up in the wrong one, because they are
closer to each other than to anything else. Here each comment is assigned individually, to the topic whose other comments are nearest. It
does not count towards the centroid of its own topic: it would pull the centroid towards itself, and always fit a small topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.topics.communities import Graph

#: The maximum number of rounds.
_ROUNDS = 5
#: The weight of the share of a comment's neighbours in a topic, relative to its cosine with the topic's centroid.
_NEIGHBOURHOOD = 0.2
#: Shorter vectors are rounding errors.
_NOTHING = 1e-6


def reassign(graph: Graph, labels: Ints, vectors: Floats) -> Ints:
    """Move each comment to the topic whose other comments it is nearest to, and that has most of its neighbours.

    `vectors` have length 1. Topics that lose all comments are dropped, and the labels renumbered from 0.
    """
    rows = np.arange(len(labels))
    for _ in range(_ROUNDS):
        belonging = np.round(_nearness(labels, vectors) + _NEIGHBOURHOOD * graph.shares(labels), 6)
        best = belonging.argmax(axis=1)
        better = belonging[rows, best] > belonging[rows, labels]
        if not better.any():
            break
        labels = np.asarray(np.unique(np.where(better, best, labels), return_inverse=True)[1]).ravel()
    return labels


def _nearness(labels: Ints, vectors: Floats) -> Floats:
    """The cosine of each comment with the centroid of each topic, computed without the comment itself; 0 if no other comments remain."""
    rows = np.arange(len(labels))
    sums = np.zeros((int(labels.max()) + 1, vectors.shape[1]))
    np.add.at(sums, labels, vectors)
    lengths = np.linalg.norm(sums, axis=1)
    nearness = vectors @ sums.T
    inside = nearness[rows, labels]
    nearness /= np.maximum(lengths, _NOTHING)
    others = np.sqrt(np.maximum(lengths[labels] ** 2 - 2 * inside + 1, 0.0))
    nearness[rows, labels] = (inside - 1) / np.maximum(others, _NOTHING)
    return np.asarray(nearness)
