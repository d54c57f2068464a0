"""Groups found from many seeded beginnings instead of one: what `mode="improved"` uses.

Beginning with the first base clusters in order ties the result to who voted first, and often ends in a poor division. Here k-means begins
in many places chosen by a fixed seed, the tightest result is taken, and groups are numbered by size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.kmeans import Clusters, k_means, nearest

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints

_RESTARTS = 20
_ITERATIONS = 100


def restarted_clusters(points: Floats, k: int, weights: Floats) -> Clusters:
    """The tightest of many divisions into at most `k` clusters; the largest cluster has the id 0."""
    if not len(points):
        return k_means(points, k)
    random = np.random.default_rng(k)
    found = [k_means(points, k, weights, _ITERATIONS, earlier=_spread_out(points, k, weights, random)) for _ in range(_RESTARTS)]
    tightest = min(found, key=lambda clusters: round(_looseness(points, clusters, weights), 9))
    return _by_size(tightest, weights)


def _spread_out(points: Floats, k: int, weights: Floats, random: np.random.Generator) -> Ints:
    """Labels for the points around seeds that are likely to lie far apart (k-means++)."""
    chosen = [int(random.choice(len(points), p=weights / weights.sum()))]
    while len(chosen) < k:
        apart = np.min([((points - points[seed]) ** 2).sum(axis=1) for seed in chosen], axis=0) * weights
        if apart.sum() <= 0:
            break
        chosen.append(int(random.choice(len(points), p=apart / apart.sum())))
    return nearest(points, points[chosen]).astype(np.int64)


def _looseness(points: Floats, clusters: Clusters, weights: Floats) -> float:
    return float((weights * ((points - clusters.centers[clusters.places]) ** 2).sum(axis=1)).sum())


def _by_size(clusters: Clusters, weights: Floats) -> Clusters:
    sizes = np.bincount(clusters.places, weights=weights, minlength=len(clusters))
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return Clusters(np.arange(len(order)), clusters.centers[order], rank[clusters.places])
