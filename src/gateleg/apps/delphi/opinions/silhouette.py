"""Silhouettes: how well separated clusters are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats
    from gateleg.apps.delphi.opinions.matrix import Indices


def silhouettes(points: Floats, places: Indices, weights: Floats | None = None) -> Floats:
    """The silhouette of each point: how much nearer its own cluster is than the next one, from -1 (in the wrong cluster) to 1.

    0 for a point that is alone in its cluster, and for all points if there is only one cluster. A point with a weight stands for that many
    points.
    """
    return silhouettes_at(distances_between(points), places, weights)


def distances_between(points: Floats) -> Floats:
    """The distances between all points."""
    return np.asarray(np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2))


def silhouettes_at(distances: Floats, places: Indices, weights: Floats | None = None) -> Floats:
    """As `silhouettes`, but with given distances, to compare several divisions of the same points."""
    count = int(places.max(initial=-1)) + 1
    heavy = np.ones(len(distances)) if weights is None else weights
    if count < 2:
        return np.zeros(len(distances))
    belongs = np.eye(count)[places] * heavy[:, None]
    totals, mass = distances @ belongs, belongs.sum(axis=0)
    rows = np.arange(len(distances))
    own = mass[places]
    alone = own <= 1
    within = totals[rows, places] / np.where(alone, 1.0, own - 1)
    others = totals / mass
    others[rows, places] = np.inf
    between = others.min(axis=1)
    larger = np.maximum(within, between)
    return np.where(alone | (larger == 0), 0.0, (between - within) / np.where(larger == 0, 1.0, larger))
