"""Deterministic k-means, which begins with the first distinct points or with an earlier clustering.

Library implementations begin at random and renumber clusters each time. Here a cluster keeps its id for as long as it has members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import Indices

#: Clustering has converged when all centres have moved less than this.
CONVERGED = 0.01
#: Squared distances whose relative difference is smaller are equal.
_ROUNDING = 1e-12
#: The number of distances that are computed at once, so that they stay in the processor's cache.
_BLOCK = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A division of points into clusters, none of which is empty."""

    #: ascending, possibly with gaps
    ids: Ints
    #: one row per cluster
    centers: Floats
    #: for each point the index of its cluster in `ids`
    places: Indices

    @property
    def labels(self) -> Ints:
        """For each point the id of its cluster."""
        return self.ids[self.places] if len(self.ids) else np.zeros(0, dtype=np.int64)

    @property
    def sizes(self) -> Ints:
        """The number of points in each cluster."""
        return np.bincount(self.places, minlength=len(self.ids)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.ids)


def k_means(points: Floats, k: int, weights: Floats | None = None, iterations: int = 100, earlier: Ints | None = None) -> Clusters:
    """Divide points into at most `k` clusters.

    `earlier` has the cluster id of each point in an earlier clustering, -1 for a new point; without it, the first `k` distinct points are
    the first centres. `weights` are the weights of points in the mean, `iterations` the maximum number of iterations after the first.
    """
    heavy = np.ones(len(points)) if weights is None else weights
    if not len(points):
        return Clusters(np.zeros(0, dtype=np.int64), np.zeros((0, points.shape[1])), np.zeros(0, dtype=np.intp))
    ids, centers = _first_distinct(points, k) if earlier is None or not (earlier >= 0).any() else _resume(points, k, heavy, earlier)
    left = iterations
    while True:
        kept, places = np.unique(nearest(points, centers), return_inverse=True)
        moved = means(points, places, len(kept), heavy)
        done = left == 0 or _has_converged(centers, moved)
        ids, centers = ids[kept], moved
        if done:
            return Clusters(ids, centers, places)
        left -= 1


def nearest(points: Floats, centers: Floats) -> Indices:
    """For each point the index of the nearest centre; on a tie, the first.

    Distances that differ only by rounding are ties, because which one comes out smaller depends on the machine.
    """
    found = np.empty(len(points), dtype=np.intp)
    step = max(1, _BLOCK // max(len(centers), 1))
    for start in range(0, len(points), step):
        squares = _squared_distances(points[start : start + step], centers)
        least = squares.min(axis=1, keepdims=True)
        found[start : start + step] = (squares <= least + _ROUNDING * (1.0 + least)).argmax(axis=1)
    return found


def means(points: Floats, places: Indices, count: int, weights: Floats) -> Floats:
    """The weighted mean of the points of each cluster."""
    total = np.bincount(places, weights=weights, minlength=count)
    sums = [np.bincount(places, weights=points[:, axis] * weights, minlength=count) for axis in range(points.shape[1])]
    return np.stack(sums, axis=1) / total[:, None]


def _squared_distances(points: Floats, centers: Floats) -> Floats:
    """Squared distances, summed axis by axis: differences preserve ties, which the expanded square does not."""
    squares = np.zeros((len(points), len(centers)))
    for axis in range(points.shape[1]):
        apart = np.subtract.outer(points[:, axis], centers[:, axis])
        apart *= apart
        squares += apart
    return squares


def _first_distinct(points: Floats, k: int) -> tuple[Ints, Floats]:
    seen: dict[tuple[float, ...], None] = {}
    for point in points:
        seen.setdefault(tuple(point.tolist()))
        if len(seen) == k:
            break
    centers = np.array(list(seen))
    return np.arange(len(centers)), centers


def _resume(points: Floats, k: int, weights: Floats, earlier: Ints) -> tuple[Ints, Floats]:
    """The first centres from an earlier clustering of points that have moved since: the centres of its clusters.

    Clusters with equal centres are merged. While there are fewer than `k`, the point furthest from all centres begins a cluster. New points
    belong to no earlier cluster, but may begin one.
    """
    labels = _merge_equal_centers(points, weights, earlier)
    possible = min(k, len(np.unique(points, axis=0)))
    while True:
        ids, centers = _centers_of(points, weights, labels)
        if len(ids) >= possible:
            return ids[:k], centers[:k]
        distances = ((points - centers[nearest(points, centers)]) ** 2).sum(axis=1)
        far = int(distances.argmax())
        if distances[far] <= _ROUNDING:
            # Except for rounding, all points lie on centres.
            return ids, centers
        labels[far] = ids[-1] + 1


def _centers_of(points: Floats, weights: Floats, labels: Ints) -> tuple[Ints, Floats]:
    """The ids and centres of the clusters; points with the label -1 belong to none."""
    known = labels >= 0
    ids, places = np.unique(labels[known], return_inverse=True)
    return ids, means(points[known], places, len(ids), weights[known])


def _merge_equal_centers(points: Floats, weights: Floats, earlier: Ints) -> Ints:
    """The labels after merging clusters with equal centres; a merged cluster has the id of its largest part."""
    labels = earlier.copy()
    ids, centers = _centers_of(points, weights, labels)
    _, same, shared = np.unique(centers, axis=0, return_inverse=True, return_counts=True)
    if len(shared) == len(ids):
        return labels
    sizes = np.array([(labels == number).sum() for number in ids])
    for place in np.flatnonzero(shared > 1):
        twins = np.flatnonzero(same.ravel() == place)
        labels[np.isin(labels, ids[twins])] = ids[twins[sizes[twins].argmax()]]
    return labels


def _has_converged(before: Floats, after: Floats) -> bool:
    """Whether sorted centres have hardly moved. If clusters were dropped, only as many as remain are compared, as the reference does."""
    shared = min(len(before), len(after))
    apart = _sorted(before)[:shared] - _sorted(after)[:shared]
    return bool((np.linalg.norm(apart, axis=1) < CONVERGED).all())


def _sorted(centers: Floats) -> Floats:
    return centers[np.lexsort(centers.T[::-1])]
