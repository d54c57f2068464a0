"""Where each comment belongs once topics are found.

Communities weigh how topics as a whole hang together, and a few comments with nearly the same words may end up in the wrong one: they hold
on to each other more than to anything else. Here each comment is asked by itself, and has no say in what its topic is: with a part in the
middle of its topic it would pull that middle towards itself, and in a small topic always seem to belong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.topics.communities import Graph

#: How often comments may move.
_ROUNDS = 5
#: How much the share of a comment's neighbours in a topic counts beside how near it is to the middle of the others there.
_NEIGHBOURHOOD = 0.2
#: Lengths below are rounding.
_NOTHING = 1e-6


def settled(graph: Graph, labels: Ints, vectors: Floats) -> Ints:
    """The same topics, with every comment in the one whose others it is nearest to and neighbour of.

    The vectors have length 1. A topic that all comments leave is gone; labels count from 0 again.
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
    """How near each comment is to the middle of each topic, of its own to the middle of the others in it; 0 where there are none."""
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
