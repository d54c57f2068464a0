"""Principal components of the votes.

A vote that was not cast counts as the comment's mean vote. Once the mean is taken away such a cell is zero, so what is decomposed is as
sparse as the votes are, and even the largest conversations are decomposed exactly; no sampling is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import linalg  # type: ignore[import-untyped]

from gateleg.apps.delphi.conversations.votes import Choice
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats
    from gateleg.apps.delphi.opinions.config import Method
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix

_LARGEST_FULL = 1_000_000
#: Of the randomized method: directions beyond those that are wanted, and how often it multiplies by the matrix and back.
_OVERSAMPLED, _POWER_ITERATIONS = 10, 7
#: A component that explains less than this share of the first one's deviation is rounding noise.
_NOISE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The centre of all votes, and the directions in which opinions differ most."""

    #: the mean vote on each comment: 1 when all agree, -1 when all disagree; 0 for comments that moderation takes out
    center: Floats
    #: one row of unit length for each component, zero when the votes do not vary in so many ways
    components: Floats
    #: the standard deviation that each component explains, times the root of the number of participants
    singular_values: Floats
    #: the share of all variance that each component explains
    explained: Floats


def deviations(matrix: VoteMatrix, out: Flags, center: Floats) -> Any:
    """The votes as a sparse matrix of differences from the centre, nothing left of comments that are out."""
    values = matrix.choices - center[matrix.columns]
    values[out[matrix.columns]] = 0.0
    return matrix.sparse(values)


def principal_components(matrix: VoteMatrix, out: Flags, count: int = 2, method: Method = "auto") -> Components:
    """The first components of the votes. `out` says of each comment whether moderation takes it out: then it counts as a pass of everybody.

    One participant alone has one component, their own votes; one comment alone has one, itself; both have a centre of zero.
    """
    people, comments = matrix.shape
    center = np.where(out, 0.0, matrix.column_means())
    if people == 0 or comments == 0:
        return Components(center, np.zeros((count, comments)), np.zeros(count), np.zeros(count))
    if comments == 1:
        return _alone(np.ones(1), count)
    if people == 1:
        return _alone(np.where(out, 0.0, matrix.dense(missing=Choice.PASS)[0]), count)
    apart = deviations(matrix, out, center)
    total = float((apart.data**2).sum())
    with one_blas_thread():
        singular, found = _decomposed(apart, min(count, people, comments), method)
    sound = singular > _NOISE * max(float(singular.max(initial=0.0)), 1.0)
    components = np.zeros((count, comments))
    values = np.zeros(count)
    components[: len(found)][sound] = _oriented(found[sound])
    values[: len(found)] = np.where(sound, singular, 0.0)
    return Components(center, components, values, values**2 / total if total > 0 else np.zeros(count))


def _alone(direction: Floats, count: int) -> Components:
    length = float(np.linalg.norm(direction))
    components = np.zeros((count, len(direction)))
    if length > 0:
        components[0] = direction / length
    return Components(np.zeros(len(direction)), components, np.zeros(count), np.zeros(count))


def _decomposed(apart: Any, count: int, method: Method) -> tuple[Floats, Floats]:
    """The largest singular values and their right vectors."""
    small = apart.shape[0] * apart.shape[1] <= _LARGEST_FULL or count >= min(apart.shape)
    if method == "full" or (method == "auto" and small) or count >= min(apart.shape):
        _, values, vectors = np.linalg.svd(apart.toarray(), full_matrices=False)
        return values[:count], vectors[:count]
    if method == "randomized":
        return _randomized(apart, count)
    # A fixed start makes the iteration repeatable; varying weights keep it from being orthogonal to a component by symmetry.
    start = np.random.default_rng(0).standard_normal(min(apart.shape))
    found: Any = linalg.svds(apart, k=count, v0=start, solver="arpack", tol=0, maxiter=10_000)
    _, values, vectors = found
    order = np.argsort(-values)
    return values[order], vectors[order]


def _randomized(apart: Any, count: int) -> tuple[Floats, Floats]:
    """Approximately the largest singular values and their right vectors: the matrix within the range of a few random directions, which
    multiplying by it again and again turns towards the largest (Halko, Martinsson and Tropp, 2011)."""
    width = min(count + _OVERSAMPLED, min(apart.shape))
    found = np.random.default_rng(0).standard_normal((apart.shape[1], width))
    for _ in range(_POWER_ITERATIONS):
        found = np.linalg.qr(apart.T @ np.linalg.qr(apart @ found)[0])[0]
    spanned = np.linalg.qr(apart @ found)[0]
    _, values, vectors = np.linalg.svd(np.asarray(apart.T @ spanned).T, full_matrices=False)
    return values[:count], vectors[:count]


def _oriented(components: Floats) -> Floats:
    """Each component turned so that its largest entry is positive: the decomposition itself leaves the sign open."""
    if not len(components):
        return components
    # Entries that are equal but for rounding must not compete for being the largest.
    largest = np.abs(components).round(9).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]
