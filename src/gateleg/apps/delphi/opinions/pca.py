"""Principal components of the votes.

A missing vote counts as the comment's mean vote. After centring, such a cell is zero, so the matrix is as sparse as the votes, and even the
largest conversations are decomposed exactly, without sampling.
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
#: For the randomized method: extra random directions, and the number of power iterations.
_OVERSAMPLED, _POWER_ITERATIONS = 10, 7
#: A component that explains less than this share of the first one's deviation is rounding noise.
_NOISE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The centre of all votes, and the directions in which opinions differ most."""

    #: the mean vote on each comment: 1 when all agree, -1 when all disagree; 0 for comments excluded by moderation
    center: Floats
    #: one row of unit length per component; zeros if the votes vary in fewer directions
    components: Floats
    #: the standard deviation along each component, times the square root of the number of participants
    singular_values: Floats
    #: the share of the total variance that each component explains
    explained: Floats


def deviations(matrix: VoteMatrix, out: Flags, center: Floats) -> Any:
    """The votes as a sparse matrix of differences from the centre; 0 for excluded comments."""
    values = matrix.choices - center[matrix.columns]
    values[out[matrix.columns]] = 0.0
    return matrix.sparse(values)


def principal_components(matrix: VoteMatrix, out: Flags, count: int = 2, method: Method = "auto") -> Components:
    """The first principal components of the votes. On comments that moderation excludes (`out`), everybody counts as passing.

    A single participant yields one component, their votes; a single comment yields one, itself. In both cases the centre is zero.
    """
    people, comments = matrix.shape
    center = np.where(out, 0.0, matrix.column_means())
    if people == 0 or comments == 0:
        return Components(center, np.zeros((count, comments)), np.zeros(count), np.zeros(count))
    if comments == 1:
        return _single_component(np.ones(1), count)
    if people == 1:
        return _single_component(np.where(out, 0.0, matrix.dense(missing=Choice.PASS)[0]), count)
    apart = deviations(matrix, out, center)
    total = float((apart.data**2).sum())
    with one_blas_thread():
        singular, found = _truncated_svd(apart, min(count, people, comments), method)
    sound = singular > _NOISE * max(float(singular.max(initial=0.0)), 1.0)
    components = np.zeros((count, comments))
    values = np.zeros(count)
    components[: len(found)][sound] = _with_fixed_signs(found[sound])
    values[: len(found)] = np.where(sound, singular, 0.0)
    return Components(center, components, values, values**2 / total if total > 0 else np.zeros(count))


def _single_component(direction: Floats, count: int) -> Components:
    length = float(np.linalg.norm(direction))
    components = np.zeros((count, len(direction)))
    if length > 0:
        components[0] = direction / length
    return Components(np.zeros(len(direction)), components, np.zeros(count), np.zeros(count))


def _truncated_svd(apart: Any, count: int, method: Method) -> tuple[Floats, Floats]:
    """The largest singular values and their right singular vectors."""
    small = apart.shape[0] * apart.shape[1] <= _LARGEST_FULL or count >= min(apart.shape)
    if method == "full" or (method == "auto" and small) or count >= min(apart.shape):
        _, values, vectors = np.linalg.svd(apart.toarray(), full_matrices=False)
        return values[:count], vectors[:count]
    if method == "randomized":
        return _randomized_svd(apart, count)
    # A fixed random start makes the iteration repeatable, and is not orthogonal to a component by symmetry.
    start = np.random.default_rng(0).standard_normal(min(apart.shape))
    found: Any = linalg.svds(apart, k=count, v0=start, solver="arpack", tol=0, maxiter=10_000)
    _, values, vectors = found
    order = np.argsort(-values)
    return values[order], vectors[order]


def _randomized_svd(apart: Any, count: int) -> tuple[Floats, Floats]:
    """The approximate largest singular values and their right singular vectors, by random projection with power iterations (Halko,
    Martinsson and Tropp, 2011)."""
    width = min(count + _OVERSAMPLED, min(apart.shape))
    found = np.random.default_rng(0).standard_normal((apart.shape[1], width))
    for _ in range(_POWER_ITERATIONS):
        found = np.linalg.qr(apart.T @ np.linalg.qr(apart @ found)[0])[0]
    spanned = np.linalg.qr(apart @ found)[0]
    _, values, vectors = np.linalg.svd(np.asarray(apart.T @ spanned).T, full_matrices=False)
    return values[:count], vectors[:count]


def _with_fixed_signs(components: Floats) -> Floats:
    """The components with their largest entries positive, because the decomposition leaves the signs undefined."""
    if not len(components):
        return components
    # Rounded, so that rounding errors do not decide which of two equal entries is the largest.
    largest = np.abs(components).round(9).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * np.where(signs == 0, 1.0, signs)[:, None]
