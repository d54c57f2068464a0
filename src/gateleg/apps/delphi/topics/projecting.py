"""The map of comments: a place in the plane for each, similar comments side by side (UMAP).

The same vectors give the same map: a fixed seed, a beginning that is computed and not drawn, and an order of rows that does not depend
on the input's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.topics.config import MapConfig
from gateleg.apps.delphi.topics.layout import lay_out
from gateleg.apps.delphi.topics.neighbours import distinct
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats
    from gateleg.apps.delphi.topics.neighbours import Vectors

#: Fewer different comments are laid out by their two main directions: there is no neighbourhood to preserve.
FEWEST_FOR_UMAP = 8
#: How far from the middle comments begin at most.
_EXTENT = 10.0


def project(vectors: Vectors, config: MapConfig | None = None) -> Floats:
    """A place for each row, in as many dimensions as the config says; equal rows share their place, rows that say nothing lie at NaN.

    The places are centred, and scaled so that the furthest lies at distance 1.
    """
    config = config or MapConfig()
    unique = distinct(vectors)
    count = len(unique.vectors)
    places = _main_directions(unique.vectors, config.n_components)
    if count >= FEWEST_FOR_UMAP:
        spread = float(np.abs(places).max()) or 1.0
        places = lay_out(unique.vectors, _EXTENT * places / spread, config)
    found: Floats = unique.spread(_framed(places), np.nan)
    return found


def _main_directions(vectors: Floats, dimensions: int) -> Floats:
    """Coordinates along the directions in which the vectors differ most, each pointing to where its largest weight is positive."""
    places = np.zeros((len(vectors), dimensions))
    if len(vectors) < 2:
        return places
    centred = vectors - vectors.mean(axis=0)
    with one_blas_thread():
        left, strength, right = np.linalg.svd(centred, full_matrices=False)
    kept = min(dimensions, len(strength))
    signs = np.sign(right[np.arange(kept), np.abs(right[:kept]).argmax(axis=1)])
    places[:, :kept] = left[:, :kept] * strength[:kept] * np.where(signs == 0, 1.0, signs)
    return places


def _framed(places: Floats) -> Floats:
    if not len(places):
        return places
    centred = places - (places.max(axis=0) + places.min(axis=0)) / 2
    furthest = float(np.linalg.norm(centred, axis=1).max())
    return np.asarray(centred / (furthest or 1.0))
