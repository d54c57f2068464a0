"""Correlations between the votes on different comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster import hierarchy  # type: ignore[import-untyped]
from scipy.spatial.distance import squareform  # type: ignore[import-untyped]

from gateleg.apps.delphi.opinions.pca import deviations

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Pearson's correlation of every two comments, in an order that puts comments with similar votes side by side."""

    comments: Ints
    values: Floats


def correlate(matrix: VoteMatrix, out: Flags, most: int = 200) -> Correlations:
    """The correlations of the comments with the most votes, at most `most` comments. A missing vote counts as the comment's mean.

    Comments without any variation are left out, as are comments rejected by moderation.
    """
    votes = np.bincount(matrix.columns, minlength=len(matrix.comments))
    apart = deviations(matrix, out, np.where(out, 0.0, matrix.column_means())).tocsc()
    lengths = np.sqrt(np.asarray((apart * apart).sum(axis=0)).ravel())
    usable = np.flatnonzero(lengths > 1e-9)
    chosen = np.sort(usable[np.argsort(-votes[usable], kind="stable")][:most])
    part = apart[:, chosen]
    values = np.asarray((part.T @ part).toarray()) / np.outer(lengths[chosen], lengths[chosen])
    values = np.clip((values + values.T) / 2, -1.0, 1.0)
    np.fill_diagonal(values, 1.0)
    order = _order(values)
    return Correlations(matrix.comments[chosen][order], values[np.ix_(order, order)])


def _order(values: Floats) -> Ints:
    """The leaves of an average-linkage tree, ordered so that neighbours are similar."""
    if len(values) < 3:
        return np.arange(len(values))
    distances = squareform(np.round(1.0 - values, 12), checks=False)
    tree = hierarchy.linkage(distances, method="average", optimal_ordering=len(values) <= 300)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.int64)
