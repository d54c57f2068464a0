"""Groups found from many seeded beginnings instead of one: what `mode="improved"` uses.

Beginning with the first base clusters in order ties the result to who voted first, and often ends in a poor division. Here k-means begins
in many places chosen by a fixed seed, the tightest result is taken, and groups are numbered by size. Where groups are of unequal size the
tightest cuts the large ones; so another is taken if it is clearly better separated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.kmeans import Clusters, k_means, nearest
from gateleg.apps.delphi.opinions.silhouette import distances_between, silhouettes_at

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints

_RESTARTS = 20
_ITERATIONS = 100
#: Standard errors by which a mean must differ from 0.
_CLEARLY = 2.0


def restarted_clusters(points: Floats, k: int, weights: Floats) -> Clusters:
    """The tightest of many divisions into at most `k` clusters, or one that is clearly better separated; the largest has the id 0."""
    if not len(points):
        return k_means(points, k)
    random = np.random.default_rng(k)
    found = [k_means(points, k, weights, _ITERATIONS, earlier=_spread_out(points, k, weights, random)) for _ in range(_RESTARTS)]
    # Many beginnings come to rest in the same place.
    rested = {round(_looseness(points, clusters, weights), 9): clusters for clusters in reversed(found)}
    return _by_size(_best(points, [rested[looseness] for looseness in sorted(rested)], weights), weights)


def _best(points: Floats, divisions: list[Clusters], weights: Floats) -> Clusters:
    """The first, unless the silhouettes of the best separated exceed its own by more than chance among members would have it."""
    if len(divisions) == 1:
        return divisions[0]
    distances = distances_between(points)
    scores = [silhouettes_at(distances, division.places, weights) for division in divisions]
    means = [round(float(np.average(score, weights=weights)), 9) for score in scores]
    best = means.index(max(means))
    gains = scores[best] - scores[0]
    mean = np.average(gains, weights=weights)
    error = np.sqrt(np.average((gains - mean) ** 2, weights=weights) / weights.sum())
    return divisions[best if mean > _CLEARLY * error else 0]


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
