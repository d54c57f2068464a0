"""Which comments say similar things: the exact cosine neighbours of each, and the graph that they make.

Equal texts have equal vectors, and a text that is sent in fifty times would have no neighbours but its copies. `distinct` takes the copies
together; as it also puts the vectors in an order of their own, what is computed from it does not depend on the order of the input.
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

#: Rows that are compared with all others at a time, so that memory grows with the number of comments and not with its square.
_BLOCK = 1024
#: Similarities are rounded to this many decimals: what lies below is rounding, and must not decide who is nearer.
_DECIMALS = 6
#: How fast belonging falls with distance: chosen among several on planted topics of many sizes.
_FALL = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Vectors without copies and without those that say nothing, in an order that is their own."""

    #: of length 1
    vectors: Floats
    #: for each row of the input its place in `vectors`; -1 for a vector of zeros
    places: Ints

    def spread(self, values: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        """Values of the distinct vectors, for each row of the input; `empty` for those that say nothing."""
        found = np.full((len(self.places), *values.shape[1:]), empty, dtype=values.dtype)
        said = self.places >= 0
        found[said] = values[self.places[said]]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """For each row its nearest others, nearest first: rows are comments, columns ranks."""

    indices: Ints
    #: cosines, from -1 to 1
    similarities: Floats


@dataclass(frozen=True, slots=True)
class Edge:
    """Two similar comments, the one with the smaller id first."""

    source: int
    target: int
    #: the cosine of the angle between their vectors
    similarity: float


def distinct(vectors: Vectors) -> Distinct:
    """Take equal vectors together, leave out those of length 0, and bring the others to length 1."""
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or not len(rows):
        return Distinct(np.zeros((0, rows.shape[1] if rows.ndim == 2 else 0)), np.full(len(rows), -1, dtype=np.int64))
    lengths = np.linalg.norm(rows, axis=1)
    said: Flags = np.asarray(lengths > 1e-12)
    places = np.full(len(rows), -1, dtype=np.int64)
    # Seven decimals are what single precision carries; copies that went through different batches may differ below.
    unit = np.round(rows[said] / lengths[said, None], 7) + 0.0
    unique, inverse = np.unique(unit, axis=0, return_inverse=True)
    places[said] = inverse.ravel()
    return Distinct(unique / np.linalg.norm(unique, axis=1, keepdims=True), places)


def centred(vectors: Floats) -> Floats:
    """The same vectors without what all of them have in common, again of length 1; the vectors have length 1.

    Comments of one conversation share a subject and ways to begin a sentence, which make all of them similar. What is left is how they
    differ. A vector that has nothing but what is common stays as it is.
    """
    if len(vectors) < 2:
        return vectors
    left = vectors - vectors.mean(axis=0)
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.where(lengths > 1e-6, left / np.where(lengths > 1e-6, lengths, 1.0), vectors)


def nearest(vectors: Floats, count: int) -> Neighbours:
    """The nearest others of each vector; the vectors have length 1. Of equally near ones the earlier row comes first."""
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
    """The graph of similar comments: each with its nearest others, every pair once, by ids. Comments that say nothing have no edges."""
    order = np.argsort(comment_ids, kind="stable")
    rows = np.asarray(vectors, dtype=np.float64)[order]
    lengths = np.linalg.norm(rows, axis=1) if len(rows) else np.zeros(0)
    said = np.flatnonzero(lengths > 1e-12)
    ids = np.asarray(comment_ids)[order][said]
    found = nearest(rows[said] / lengths[said, None], count)
    pairs: dict[tuple[int, int], float] = {}
    for row, (others, cosines) in enumerate(zip(found.indices.tolist(), found.similarities.tolist(), strict=True)):
        for other, cosine in zip(others, cosines, strict=True):
            pairs[min(row, other), max(row, other)] = cosine
    return [Edge(int(ids[a]), int(ids[b]), cosine) for (a, b), cosine in sorted(pairs.items())]


def affinities(found: Neighbours) -> Any:
    """How much rows belong together: a symmetric sparse matrix with values from 0 to 1.

    The nearest neighbour of a row counts fully, others by how much further away they are, measured by what is usual for that row: so
    neighbours weigh alike where comments lie close and where they lie far apart. Two rows that choose each other count more than either.
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
