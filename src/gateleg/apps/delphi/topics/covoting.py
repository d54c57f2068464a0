"""Vectors from the votes on comments, which are similar if votes on the comments correlate, positively or negatively.

They are appended to the word vectors if the embedding model does not know the language. The absolute correlation counts, because votes for
a tax and against its repeal are about the same topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gateleg.apps.delphi.conversations.votes import Floats, Votes

_DIMENSIONS = 16
#: With this number of common voters, a correlation counts half.
_HALF = 10.0
#: The weight of votes relative to words.
_SHARE = 0.25


def with_votes(words: NDArray[np.float32], votes: Votes, comments: Sequence[int]) -> NDArray[np.float32]:
    """Append the vectors of votes to the word vectors, which have length 1 or 0. Zero vectors, of texts without words, stay zero."""
    joined = np.hstack([words, np.sqrt(_SHARE) * covoting_vectors(votes, comments)])
    joined[~words.any(axis=1)] = 0.0
    lengths = np.linalg.norm(joined, axis=1, keepdims=True)
    return np.asarray((joined / np.where(lengths > 0, lengths, 1.0)).round(6), dtype=np.float32)


def covoting_vectors(votes: Votes, comments: Sequence[int]) -> Floats:
    """A vector of length 1 for each comment; zeros if its votes correlate with nothing."""
    alike = _correlations(votes, comments)
    with one_blas_thread():
        strengths, directions = np.linalg.eigh(alike)
    kept = np.argsort(-strengths, kind="stable")[:_DIMENSIONS]
    directions = directions[:, kept] * np.sqrt(np.maximum(strengths[kept], 0.0))
    # The decomposition leaves the sign of each direction undefined.
    largest = directions[np.abs(directions).round(9).argmax(axis=0), np.arange(len(kept))]
    vectors = np.zeros((len(alike), _DIMENSIONS))
    vectors[:, : len(kept)] = directions * np.where(largest < 0, -1.0, 1.0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > 1e-9, vectors / np.where(lengths > 1e-9, lengths, 1.0), 0.0)


def _correlations(votes: Votes, comments: Sequence[int]) -> Floats:
    """The absolute correlation of votes on every two comments, from 0 to 1; reduced if few have voted on both."""
    matrix = VoteMatrix.of(votes.take(np.isin(votes.comments, comments)))
    apart = matrix.sparse(matrix.choices - matrix.column_means()[matrix.columns])
    cast = matrix.sparse(np.ones(len(matrix.choices)))
    common = (cast.T @ cast).toarray()
    spread = ((apart**2).T @ cast).toarray()
    scale = np.sqrt(spread * spread.T)
    found = np.abs((apart.T @ apart).toarray()) / np.where(scale > 0, scale, 1.0) * common / (common + _HALF)
    place_of = {int(number): place for place, number in enumerate(matrix.comments)}
    places = np.array([place_of.get(number, -1) for number in comments], dtype=np.intp)
    alike = np.zeros((len(places), len(places)))
    known = np.flatnonzero(places >= 0)
    alike[np.ix_(known, known)] = found[np.ix_(places[known], places[known])]
    return alike
