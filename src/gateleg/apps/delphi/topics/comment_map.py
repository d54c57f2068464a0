"""The map of comments, computed with UMAP: similar comments lie side by side.

The same vectors yield the same map: the seed is fixed, the initial positions are principal components, and rows are sorted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.topics.config import MapConfig
from gateleg.apps.delphi.topics.neighbours import distinct
from gateleg.apps.delphi.topics.umap import umap_layout
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats
    from gateleg.apps.delphi.topics.neighbours import Vectors

#: Fewer distinct comments are laid out by their principal components, because they have no neighbourhoods to preserve.
FEWEST_FOR_UMAP = 8
#: The largest coordinate of the initial positions.
_EXTENT = 10.0


def project(vectors: Vectors, config: MapConfig | None = None) -> Floats:
    """The position of each row, in the config's number of dimensions. Equal rows share a position; zero vectors have NaN.

    Positions are centred and scaled so that the largest distance from the centre is 1.
    """
    config = config or MapConfig()
    unique = distinct(vectors)
    count = len(unique.vectors)
    places = _principal_components(unique.vectors, config.n_components)
    if count >= FEWEST_FOR_UMAP:
        spread = float(np.abs(places).max()) or 1.0
        places = umap_layout(unique.vectors, _EXTENT * places / spread, config)
    found: Floats = unique.expand(_normalized(places), np.nan)
    return found


def _principal_components(vectors: Floats, dimensions: int) -> Floats:
    """Coordinates along the principal components, whose signs are chosen so that their largest weights are positive."""
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


def _normalized(places: Floats) -> Floats:
    if not len(places):
        return places
    centred = places - (places.max(axis=0) + places.min(axis=0)) / 2
    furthest = float(np.linalg.norm(centred, axis=1).max())
    return np.asarray(centred / (furthest or 1.0))
