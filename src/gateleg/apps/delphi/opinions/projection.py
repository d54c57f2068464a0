"""Where participants and comments lie on the map of opinions."""

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

    Whoever has voted on few comments would lie near the middle for that alone; their distance is stretched by the root of the share that
    they voted on. Comments that are out count as votes of everybody here, as they do for the centre.
    """
    people, comments = matrix.shape
    if people == 0:
        return np.zeros((0, len(pca.components)))
    seen = matrix.vote_counts - np.bincount(matrix.rows, weights=out[matrix.columns], minlength=people) + out.sum()
    stretch = np.sqrt(comments / np.maximum(seen, 1.0))
    apart = deviations(matrix, out, pca.center)
    return np.asarray(stretch[:, None] * (apart @ pca.components.T))


def comment_positions(pca: Components) -> Floats:
    """The position of each comment: where somebody would lie who has agreed with it and has voted on nothing else."""
    stretch = np.sqrt(len(pca.center))
    return np.asarray(stretch * (Choice.AGREE - pca.center)[:, None] * pca.components.T)


def map_extremity(positions: Floats, out: Flags) -> Floats:
    """How far each comment lies from the middle of the map; 0 for comments that are out.

    Not to be mistaken for how much groups differ on it (`divisiveness`): the two are hardly related.
    """
    return np.where(out, 0.0, np.linalg.norm(positions, axis=1))
