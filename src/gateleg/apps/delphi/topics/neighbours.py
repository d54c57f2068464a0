"""The exact nearest neighbours of comments by cosine, and the graph that they form.

Equal texts have equal vectors; a text submitted fifty times would have only its copies as neighbours. So `distinct` removes duplicates. It
also sorts the vectors, so that results do not depend on the order of the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints

Vectors = npt.NDArray[np.floating[Any]]

#: The number of rows that are compared with all others at a time, so that memory does not grow with the square of the comments.
_BLOCK = 1024
#: Similarities are rounded to this number of decimals, so that rounding errors do not decide which is larger.
_DECIMALS = 6
#: How fast affinity falls with distance, tuned on planted topics of many sizes.
_FALL = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Sorted vectors without duplicates and zero vectors."""

    #: of length 1
    vectors: Floats
    #: for each input row, its index in `vectors`; -1 for a zero vector
    places: Ints

    def expand(self, values: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        """Map values of the distinct vectors back to the input rows; zero vectors get `empty`."""
        found = np.full((len(self.places), *values.shape[1:]), empty, dtype=values.dtype)
        nonzero = self.places >= 0
        found[nonzero] = values[self.places[nonzero]]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest neighbours of each comment: rows are comments, columns ranks, nearest first."""

    indices: Ints
    #: cosines, from -1 to 1
    similarities: Floats


@dataclass(frozen=True, slots=True)
class Edge:
    """Two similar comments, the one with the smaller id first."""

    source: int
    target: int
    #: the cosine of their vectors
    similarity: float


def distinct(vectors: Vectors) -> Distinct:
    """Remove duplicate and zero vectors, and normalize the others to length 1."""
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or not len(rows):
        return Distinct(np.zeros((0, rows.shape[1] if rows.ndim == 2 else 0)), np.full(len(rows), -1, dtype=np.int64))
    lengths = np.linalg.norm(rows, axis=1)
    nonzero: Flags = np.asarray(lengths > 1e-12)
    places = np.full(len(rows), -1, dtype=np.int64)
    # Rounded to single precision, because copies that were embedded in different batches may differ beyond it.
    unit = np.round(rows[nonzero] / lengths[nonzero, None], 7) + 0.0
    unique, inverse = np.unique(unit, axis=0, return_inverse=True)
    places[nonzero] = inverse.ravel()
    return Distinct(unique / np.linalg.norm(unique, axis=1, keepdims=True), places)


def subtract_mean(vectors: Floats) -> Floats:
    """Subtract the mean from vectors of length 1, and normalize them again.

    Comments of one conversation share a subject and ways to begin a sentence, which make all of them similar. After centring, vectors
    represent differences. A vector that equals the mean stays unchanged.
    """
    if len(vectors) < 2:
        return vectors
    left = vectors - vectors.mean(axis=0)
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.where(lengths > 1e-6, left / np.where(lengths > 1e-6, lengths, 1.0), vectors)


def nearest(vectors: Floats, count: int) -> Neighbours:
    """The nearest neighbours of each vector; `vectors` have length 1. On a tie, the earlier row comes first."""
    kept = max(0, min(count, len(vectors) - 1))
    indices = np.zeros((len(vectors), kept), dtype=np.int64)
    similarities = np.zeros((len(vectors), kept))
    for start, block in _blocks(vectors) if kept else ():
        own = np.arange(len(block))
        block[own, start + own] = -np.inf
        order = np.argsort(-block, axis=1, kind="stable")[:, :kept]
        indices[start : start + len(block)] = order
        similarities[start : start + len(block)] = np.take_along_axis(block, order, axis=1)
    return Neighbours(indices, similarities)


def _blocks(vectors: Floats) -> Iterator[tuple[int, Floats]]:
    for start in range(0, len(vectors), _BLOCK):
        yield start, np.clip(np.round(vectors[start : start + _BLOCK] @ vectors.T, _DECIMALS), -1.0, 1.0)


def edges(comment_ids: Ints, vectors: Vectors, count: int = 5) -> list[Edge]:
    """The graph of similar comments: edges to the nearest neighbours, every pair once, by ids. Comments with zero vectors have no edges."""
    order = np.argsort(comment_ids, kind="stable")
    rows = np.asarray(vectors, dtype=np.float64)[order]
    lengths = np.linalg.norm(rows, axis=1) if len(rows) else np.zeros(0)
    nonzero = np.flatnonzero(lengths > 1e-12)
    ids = np.asarray(comment_ids)[order][nonzero]
    found = nearest(rows[nonzero] / lengths[nonzero, None], count)
    pairs: dict[tuple[int, int], float] = {}
    for row, (others, cosines) in enumerate(zip(found.indices.tolist(), found.similarities.tolist(), strict=True)):
        for other, cosine in zip(others, cosines, strict=True):
            pairs[min(row, other), max(row, other)] = cosine
    return [Edge(int(ids[a]), int(ids[b]), cosine) for (a, b), cosine in sorted(pairs.items())]


def affinities(found: Neighbours) -> Any:
    """The affinities of rows: a symmetric sparse matrix with values from 0 to 1.

    The nearest neighbour of a row has affinity 1; it falls with the additional distance of others, relative to the typical one of the row,
    so that dense and sparse regions are treated alike. Mutual neighbours have a higher affinity than one-sided ones.
    """
    rows, kept = found.indices.shape
    if not kept:
        return sparse.csr_matrix((rows, rows))
    distances = 1.0 - found.similarities
    closest = distances[:, :1]
    usual = _FALL * np.maximum(distances.mean(axis=1, keepdims=True) - closest, 1e-3)
    weights = np.exp(-(distances - closest) / usual)
    one_way = sparse.csr_matrix((weights.ravel(), (np.repeat(np.arange(rows), kept), found.indices.ravel())), shape=(rows, rows))
    both = one_way + one_way.T - one_way.multiply(one_way.T)
    both = both.tocsr()
    both.sort_indices()
    return both
