"""K-means with many seeded starts, the clustering of `mode="improved"`.

Starting with the first base clusters in order makes the result depend on who voted first, and it is often poor. Here k-means starts many
times with a fixed seed, and of the results whose clusters are all large enough, the one with the smallest inertia is used. K-means tends to
put a few outliers into their own cluster, whose votes would then be read as a group's opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.kmeans import Clusters, means, nearest

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import Indices

RESTARTS = 20
_ITERATIONS = 100
#: Squared distances whose relative difference is smaller are equal.
_ROUNDING = 1e-12
#: The number of distances that are computed at once, so that they stay in the processor's cache.
_BLOCK = 200_000


def restarted_clusters(points: Floats, k: int, weights: Floats, least: float = 1.0, restarts: int = RESTARTS) -> Clusters | None:
    """The division into `k` clusters with the smallest inertia, of many starts; the heaviest cluster has the id 0.

    Every cluster weighs at least `least`; None if there is no such division. Outliers that end up in clusters that are too small in every
    start are set aside during clustering, and then join the nearest cluster.
    """
    kept = np.arange(len(points))
    while len(kept) >= k and weights[kept].sum() >= k * least:
        found = sorted(_run_all(points[kept], k, weights[kept], restarts), key=lambda division: round(division.inertia, 9))
        for division in found:
            if float(division.masses.min()) >= max(least, _ROUNDING):
                return by_mass(points, weights, nearest(points, division.centers), k)
        alone = (found[0].masses < least)[found[0].places]
        if not alone.any():
            # There are no outliers, but fewer distinct points than clusters.
            return None
        kept = kept[~alone]
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Division:
    """A converged result of k-means."""

    inertia: float
    places: Ints
    masses: Floats
    centers: Floats


def _run_all(points: Floats, k: int, weights: Floats, restarts: int) -> list[_Division]:
    """Run k-means with many starts. The same points always have the same starts."""
    random = np.random.default_rng(k)
    at_once = max(1, _BLOCK // (len(points) * k))
    found: list[_Division] = []
    for begun in range(0, restarts, at_once):
        found += _run(points, weights, _initial_centers(points, k, weights, random, min(at_once, restarts - begun)))
    return found


def _initial_centers(points: Floats, k: int, weights: Floats, random: np.random.Generator, count: int) -> Floats:
    """The initial centres of k-means++, `k` for each of `count` starts."""
    chosen = [_draw(np.broadcast_to(weights, (count, len(points))), random)]
    apart = np.full((count, len(points)), np.inf)
    while len(chosen) < k:
        apart = np.minimum(apart, _squares(points, points[chosen[-1]][:, None, :])[:, :, 0])
        chosen.append(_draw(apart * weights, random))
    return points[np.stack(chosen, axis=1)]


def _draw(chances: Floats, random: np.random.Generator) -> Ints:
    """A random index for each row, with probabilities proportional to its numbers; 0 if all are zero."""
    sums = np.cumsum(chances, axis=1)
    wanted = random.random(len(sums)) * sums[:, -1]
    return np.asarray(np.minimum((sums <= wanted[:, None]).sum(axis=1), len(sums[0]) - 1) * (sums[:, -1] > 0))


def _run(points: Floats, weights: Floats, centers: Floats) -> list[_Division]:
    """Run k-means from each set of initial centres."""
    places = np.zeros((len(centers), len(points)), dtype=np.int64)
    for _ in range(_ITERATIONS):
        squares = _squares(points, centers)
        nearest = squares.min(axis=2, keepdims=True)
        moved = (squares <= nearest + _ROUNDING * (1.0 + nearest)).argmax(axis=2)
        belongs = np.eye(centers.shape[1])[moved] * weights[:, None]
        masses = belongs.sum(axis=1)
        # An empty cluster keeps its centre; in the end it is rejected as too small.
        means = np.einsum("rnk,nd->rkd", belongs, points) / np.where(masses > 0, masses, 1.0)[:, :, None]
        centers = np.where(masses[:, :, None] > 0, means, centers)
        if np.array_equal(moved, places):
            break
        places = moved
    apart = ((points[None, :, :] - np.take_along_axis(centers, places[:, :, None], axis=1)) ** 2).sum(axis=2)
    return [_Division(*one) for one in zip((apart @ weights).tolist(), places, masses, centers, strict=True)]


def _squares(points: Floats, centers: Floats) -> Floats:
    """The squared distances of all points from all centres of each start."""
    found = np.zeros((len(centers), len(points), centers.shape[1]))
    for axis in range(points.shape[1]):
        found += (points[None, :, None, axis] - centers[:, None, :, axis]) ** 2
    return found


def by_mass(points: Floats, weights: Floats, places: Indices, k: int) -> Clusters:
    """The clusters, renumbered by weight: the heaviest has the id 0."""
    masses = np.bincount(places, weights=weights, minlength=k)
    order = np.argsort(-masses, kind="stable")
    rank = np.empty(k, dtype=np.intp)
    rank[order] = np.arange(k)
    return Clusters(np.arange(k), means(points, places, k, weights)[order], rank[places])
