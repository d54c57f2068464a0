"""K-means from many seeded beginnings instead of one: what `mode="improved"` divides people with.

Beginning with the first base clusters in order ties the result to who voted first, and often ends in a poor division. Here k-means begins
in many places chosen by a fixed seed, and the tightest result is taken whose clusters are all large enough: k-means likes to give a few
people who stand far out a cluster of their own, whose votes would then be read as a group's opinion.
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
#: Squared distances that differ by less, relative to their size, are equal.
_ROUNDING = 1e-12
#: Distances that are worked out at once: few enough to stay in the processor's cache.
_BLOCK = 200_000


def restarted_clusters(points: Floats, k: int, weights: Floats, least: float = 1.0, restarts: int = RESTARTS) -> Clusters | None:
    """The tightest of many divisions into `k` clusters that all weigh `least` or more; the heaviest has the id 0. None if there is none.

    Points so far out that every division gives them a cluster of their own, which is too small, are set aside while clusters are looked for
    and then join the nearest.
    """
    kept = np.arange(len(points))
    while len(kept) >= k and weights[kept].sum() >= k * least:
        found = sorted(_all_rested(points[kept], k, weights[kept], restarts), key=lambda division: round(division.looseness, 9))
        for division in found:
            if float(division.masses.min()) >= max(least, _ROUNDING):
                return by_mass(points, weights, nearest(points, division.centers), k)
        alone = (found[0].masses < least)[found[0].places]
        if not alone.any():
            # Nobody is too far out: there are fewer different points than clusters.
            return None
        kept = kept[~alone]
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Division:
    """Where k-means has come to rest."""

    looseness: float
    places: Ints
    masses: Floats
    centers: Floats


def _all_rested(points: Floats, k: int, weights: Floats, restarts: int) -> list[_Division]:
    """Where k-means comes to rest from each of many beginnings, which the same points always have."""
    random = np.random.default_rng(k)
    at_once = max(1, _BLOCK // (len(points) * k))
    found: list[_Division] = []
    for begun in range(0, restarts, at_once):
        found += _rested(points, weights, _spread_out(points, k, weights, random, min(at_once, restarts - begun)))
    return found


def _spread_out(points: Floats, k: int, weights: Floats, random: np.random.Generator, count: int) -> Floats:
    """Centres to begin with, `k` for each of `count` beginnings, likely to lie far apart (k-means++)."""
    chosen = [_drawn(np.broadcast_to(weights, (count, len(points))), random)]
    apart = np.full((count, len(points)), np.inf)
    while len(chosen) < k:
        apart = np.minimum(apart, _squares(points, points[chosen[-1]][:, None, :])[:, :, 0])
        chosen.append(_drawn(apart * weights, random))
    return points[np.stack(chosen, axis=1)]


def _drawn(chances: Floats, random: np.random.Generator) -> Ints:
    """A place for each row, likely as its numbers are large; the first place where all are zero."""
    sums = np.cumsum(chances, axis=1)
    wanted = random.random(len(sums)) * sums[:, -1]
    return np.asarray(np.minimum((sums <= wanted[:, None]).sum(axis=1), len(sums[0]) - 1) * (sums[:, -1] > 0))


def _rested(points: Floats, weights: Floats, centers: Floats) -> list[_Division]:
    """Where k-means comes to rest from each beginning."""
    places = np.zeros((len(centers), len(points)), dtype=np.int64)
    for _ in range(_ITERATIONS):
        squares = _squares(points, centers)
        nearest = squares.min(axis=2, keepdims=True)
        moved = (squares <= nearest + _ROUNDING * (1.0 + nearest)).argmax(axis=2)
        belongs = np.eye(centers.shape[1])[moved] * weights[:, None]
        masses = belongs.sum(axis=1)
        # A cluster that loses its last point stays where it is, and is too small in the end.
        means = np.einsum("rnk,nd->rkd", belongs, points) / np.where(masses > 0, masses, 1.0)[:, :, None]
        centers = np.where(masses[:, :, None] > 0, means, centers)
        if np.array_equal(moved, places):
            break
        places = moved
    apart = ((points[None, :, :] - np.take_along_axis(centers, places[:, :, None], axis=1)) ** 2).sum(axis=2)
    return [_Division(*one) for one in zip((apart @ weights).tolist(), places, masses, centers, strict=True)]


def _squares(points: Floats, centers: Floats) -> Floats:
    """The squared distance of every point from every centre of each beginning."""
    found = np.zeros((len(centers), len(points), centers.shape[1]))
    for axis in range(points.shape[1]):
        found += (points[None, :, None, axis] - centers[:, None, :, axis]) ** 2
    return found


def by_mass(points: Floats, weights: Floats, places: Indices, k: int) -> Clusters:
    """A division of points whose clusters are numbered anew: the heaviest has the id 0."""
    masses = np.bincount(places, weights=weights, minlength=k)
    order = np.argsort(-masses, kind="stable")
    rank = np.empty(k, dtype=np.intp)
    rank[order] = np.arange(k)
    return Clusters(np.arange(k), means(points, places, k, weights)[order], rank[places])
