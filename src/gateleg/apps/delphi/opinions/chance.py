"""A permutation test for whether chance alone explains the differences in opinion (parallel analysis).

The votes on each comment are shuffled many times among the participants who cast them. This keeps the number of votes of each participant
and the result of each comment, but destroys the correlation between comments. If shuffled votes vary as strongly in one direction (the
largest singular value) as the real ones, there is nothing to explain, and no groups are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import linalg  # type: ignore[import-untyped]

from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix

#: Shuffles. With 99, random votes pass the test in one of a hundred conversations.
DRAWS = 99
#: With more participants a sample is tested, which makes the test less powerful but not wrong.
_MOST_PARTICIPANTS = 2_000
#: The largest Gram matrix that is decomposed fully; of larger ones only the largest eigenvalue is computed.
_LARGEST_FULL = 200
#: Strengths whose relative difference is smaller are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Chance:
    """The result of the test."""

    #: the number of shuffles
    draws: int
    #: the number of shuffles that vary at least as strongly in one direction as the real votes
    as_strong: int

    @property
    def likely(self) -> bool:
        """Whether chance alone may explain the differences."""
        return self.as_strong > 0


def chance_of(matrix: VoteMatrix, out: Flags, members: Ints, draws: int = DRAWS) -> Chance:
    """Test the votes of the participants whose rows are given as `members`."""
    random = np.random.default_rng(0)
    rows = np.sort(members)
    if len(rows) > _MOST_PARTICIPANTS:
        rows = np.sort(random.choice(rows, _MOST_PARTICIPANTS, replace=False))
    part = matrix.part(rows, np.flatnonzero(~out))
    if min(part.shape) < 2 or not len(part.rows):
        return Chance(draws, draws)
    by_comment = np.lexsort((part.rows, part.columns))
    who, what = part.rows[by_comment], part.columns[by_comment]
    apart = (part.choices - part.column_means()[part.columns])[by_comment]
    with one_blas_thread():
        real = _strength(who, what, apart, part.shape)
        found = 0
        for _ in range(draws):
            dealt = np.lexsort((random.random(len(what)), what))
            found += _strength(who, what, apart[dealt], part.shape) >= real * (1 - _ROUNDING)
    return Chance(draws, int(found))


def _strength(rows: Any, columns: Any, values: Floats, shape: tuple[int, int]) -> float:
    """The variation of the votes along the first principal component (the largest singular value, squared)."""
    dense = np.zeros(shape)
    dense[rows, columns] = values
    products = dense @ dense.T if shape[0] <= shape[1] else dense.T @ dense
    if len(products) <= _LARGEST_FULL:
        return float(np.linalg.eigvalsh(products)[-1])
    # A fixed start makes the iteration repeatable.
    start = np.random.default_rng(0).standard_normal(len(products))
    return float(linalg.eigsh(products, k=1, v0=start, tol=1e-10, return_eigenvectors=False)[0])
