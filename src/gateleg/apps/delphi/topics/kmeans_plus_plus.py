"""K-means on high-dimensional vectors with seeded greedy k-means++ initialization.

K-means++ (Arthur and Vassilvitskii, 2007) draws each further centre with a probability proportional to the squared distance from those
chosen so far; the greedy variant draws a few candidates and keeps the best. scikit-learn does the same and finds the same topics, but
importing it takes longer than the whole analysis of a typical conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints

_ITERATIONS = 300
#: The tolerance for convergence: the total squared shift of centres, relative to the variance of the points.
_TOLERANCE = 1e-4


def seeded_k_means(points: Floats, count: int, seed: int, weights: Floats | None = None) -> Ints:
    """The cluster of each point, numbered from 0. Deterministic for the same points and seed. A cluster may end up empty."""
    heavy = np.ones(len(points)) if weights is None else weights
    centred = points - points.mean(axis=0)
    return _run(centred, _initial_centers(centred, count, heavy, np.random.RandomState(seed)), heavy)


def resumed_k_means(points: Floats, centers: Floats) -> Ints:
    """The cluster of each point, with given initial centres."""
    middle = points.mean(axis=0)
    return _run(points - middle, centers - middle, np.ones(len(points)))


def _initial_centers(points: Floats, count: int, weights: Floats, random: np.random.RandomState) -> Floats:
    tries = 2 + int(np.log(count))
    lengths = (points**2).sum(axis=1)
    chosen = [int(random.choice(len(points), p=weights / weights.sum()))]
    apart = _squares(points, lengths, points[chosen])[:, 0]
    while len(chosen) < count:
        chances = np.cumsum(weights * apart)
        drawn = np.minimum(np.searchsorted(chances, random.uniform(size=tries) * (apart @ weights)), len(points) - 1)
        left = np.minimum(apart[:, None], _squares(points, lengths, points[drawn]))
        best = int((weights @ left).argmin())
        apart = left[:, best]
        chosen.append(int(drawn[best]))
    return points[chosen]


def _run(points: Floats, centers: Floats, weights: Floats) -> Ints:
    """Iterate until no point changes its cluster, or the centres hardly move."""
    lengths = (points**2).sum(axis=1)
    least = _TOLERANCE * float(points.var(axis=0).mean())
    labels = np.full(len(points), -1)
    for _ in range(_ITERATIONS):
        squares = _squares(points, lengths, centers)
        found = squares.argmin(axis=1)
        moved = _centers(points, weights, found, squares, len(centers))
        if np.array_equal(found, labels):
            return labels
        labels, shift, centers = found, float(((moved - centers) ** 2).sum()), moved
        if shift <= least:
            break
    return np.asarray(_squares(points, lengths, centers).argmin(axis=1))


def _centers(points: Floats, weights: Floats, labels: Ints, squares: Floats, count: int) -> Floats:
    """The centre of each cluster. An empty cluster restarts from the point furthest from its centre, which leaves its own cluster."""
    belongs = np.zeros((len(points), count))
    belongs[np.arange(len(points)), labels] = weights
    empty = np.flatnonzero(belongs.sum(axis=0) == 0)
    if len(empty):
        furthest = np.argsort(-squares[np.arange(len(points)), labels], kind="stable")[: len(empty)]
        belongs[furthest] = 0.0
        belongs[furthest, empty] = weights[furthest]
    masses = belongs.sum(axis=0)
    return (belongs.T @ points) / np.where(masses > 0, masses, 1.0)[:, None]


def _squares(points: Floats, lengths: Floats, centers: Floats) -> Floats:
    """The squared distances of all points from all centres."""
    return np.asarray(np.maximum(lengths[:, None] - 2 * (points @ centers.T) + (centers**2).sum(axis=1), 0.0))
