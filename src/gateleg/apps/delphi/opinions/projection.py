"""The positions of participants and comments on the opinion map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.conversations.votes import Choice
from gateleg.apps.delphi.opinions.pca import deviations

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.opinions.pca import Components


def participant_positions(matrix: VoteMatrix, out: Flags, pca: Components) -> Floats:
    """The position of each participant, one row each.

    Participants with few votes would lie near the centre for that reason alone, so positions are divided by the square root of the share of
    comments that they voted on. Here, as for the centre, excluded comments count as voted on by everybody.
    """
    people, comments = matrix.shape
    if people == 0:
        return np.zeros((0, len(pca.components)))
    seen = matrix.vote_counts - np.bincount(matrix.rows, weights=out[matrix.columns], minlength=people) + out.sum()
    stretch = np.sqrt(comments / np.maximum(seen, 1.0))
    apart = deviations(matrix, out, pca.center)
    return np.asarray(stretch[:, None] * (apart @ pca.components.T))


def comment_positions(pca: Components) -> Floats:
    """The position of each comment: that of a participant who agrees with it and has no other votes."""
    stretch = np.sqrt(len(pca.center))
    return np.asarray(stretch * (Choice.AGREE - pca.center)[:, None] * pca.components.T)


def map_extremity(positions: Floats, out: Flags) -> Floats:
    """The distance of each comment from the centre of the map; 0 for excluded comments.

    Not to be confused with `divisiveness`, to which it is hardly related.
    """
    return np.where(out, 0.0, np.linalg.norm(positions, axis=1))
