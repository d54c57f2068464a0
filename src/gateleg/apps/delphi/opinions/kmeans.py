"""K-means that begins with the first points in order, or with the clusters of an earlier time, and so needs no chance.

Library implementations begin at random and number clusters anew each time. Here clusters keep their ids for as long as they have members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import Indices

#: Clustering ends when no centre has moved as far as this.
STILL = 0.01
#: Squared distances that differ by less, relative to their size, are equal.
_ROUNDING = 1e-12
#: Distances that are worked out at once: few enough to stay in the processor's cache.
_BLOCK = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A division of points into clusters, none of which is empty."""

    #: ascending, not necessarily without gaps
    ids: Ints
    #: one row for each cluster
    centers: Floats
    #: for each point the place of its cluster in `ids`
    places: Indices

    @property
    def labels(self) -> Ints:
        """For each point the id of its cluster."""
        return self.ids[self.places] if len(self.ids) else np.zeros(0, dtype=np.int64)

    @property
    def sizes(self) -> Ints:
        """How many points each cluster has."""
        return np.bincount(self.places, minlength=len(self.ids)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.ids)


def k_means(points: Floats, k: int, weights: Floats | None = None, iterations: int = 100, earlier: Ints | None = None) -> Clusters:
    """At most `k` clusters of points.

    `earlier` has the cluster id of each point in an earlier clustering, -1 for a point that was not there; without it the first `k`
    distinct points are the first centres. `weights` are how much each point counts for its centre, `iterations` how often centres may move
    after the first time.
    """
    heavy = np.ones(len(points)) if weights is None else weights
    if not len(points):
        return Clusters(np.zeros(0, dtype=np.int64), np.zeros((0, points.shape[1])), np.zeros(0, dtype=np.intp))
    ids, centers = _first_distinct(points, k) if earlier is None or not (earlier >= 0).any() else _resumed(points, k, heavy, earlier)
    left = iterations
    while True:
        kept, places = np.unique(nearest(points, centers), return_inverse=True)
        moved = means(points, places, len(kept), heavy)
        done = left == 0 or _unmoved(centers, moved)
        ids, centers = ids[kept], moved
        if done:
            return Clusters(ids, centers, places)
        left -= 1


def nearest(points: Floats, centers: Floats) -> Indices:
    """For each point the place of the nearest centre; of equally near ones the first.

    Distances that differ by rounding alone are equal: which of them comes out smaller depends on the machine.
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
    """Summed axis by axis: exact differences keep ties ties, which the expanded square does not."""
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


def _resumed(points: Floats, k: int, weights: Floats, earlier: Ints) -> tuple[Ints, Floats]:
    """Earlier clusters on points that have moved: centres of their members, equal ones merged, far points split off until there are `k`.

    A point that was not there belongs to none of them, but may be the one that lies furthest from all and begins a cluster.
    """
    labels = _merged(points, weights, earlier)
    possible = min(k, len(np.unique(points, axis=0)))
    while True:
        ids, centers = _centred(points, weights, labels)
        if len(ids) >= possible:
            return ids[:k], centers[:k]
        distances = ((points - centers[nearest(points, centers)]) ** 2).sum(axis=1)
        far = int(distances.argmax())
        if distances[far] <= _ROUNDING:
            # All points lie on centres but for rounding: the furthest may have one of its own already.
            return ids, centers
        labels[far] = ids[-1] + 1


def _centred(points: Floats, weights: Floats, labels: Ints) -> tuple[Ints, Floats]:
    """The clusters that points belong to and the centres of their members; -1 belongs to none."""
    known = labels >= 0
    ids, places = np.unique(labels[known], return_inverse=True)
    return ids, means(points[known], places, len(ids), weights[known])


def _merged(points: Floats, weights: Floats, earlier: Ints) -> Ints:
    """The labels once clusters with the same centre are one, which has the id of the one with most members."""
    labels = earlier.copy()
    ids, centers = _centred(points, weights, labels)
    _, same, shared = np.unique(centers, axis=0, return_inverse=True, return_counts=True)
    if len(shared) == len(ids):
        return labels
    sizes = np.array([(labels == number).sum() for number in ids])
    for place in np.flatnonzero(shared > 1):
        twins = np.flatnonzero(same.ravel() == place)
        labels[np.isin(labels, ids[twins])] = ids[twins[sizes[twins].argmax()]]
    return labels


def _unmoved(before: Floats, after: Floats) -> bool:
    """Whether sorted centres are where they were. Where clusters were dropped, as many as both have are compared, as the reference does."""
    shared = min(len(before), len(after))
    apart = _sorted(before)[:shared] - _sorted(after)[:shared]
    return bool((np.linalg.norm(apart, axis=1) < STILL).all())


def _sorted(centers: Floats) -> Floats:
    return centers[np.lexsort(centers.T[::-1])]
