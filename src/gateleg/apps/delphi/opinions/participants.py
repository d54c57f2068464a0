"""Statistics of participants: their votes, their position in their group, and their agreement with each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.groups import Groups
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.opinions.tallies import Tally

#: The minimum for a correlation with a group: members who took a side on a comment, such comments, and members.
_FEWEST_VOTES = 3
_FEWEST_COMMENTS = 3
_FEWEST_MEMBERS = 3


@dataclass(frozen=True, slots=True, eq=False)
class ParticipantStatistics:
    """Every array has one entry per participant, NaN for comparisons with a group that does not exist."""

    agrees: Ints
    disagrees: Ints
    passes: Ints
    #: 1 minus the distance from the centre of all grouped participants
    centricness: Floats
    #: 1 minus the distance from the centre of their group
    coreness: Floats
    #: how much further out than the centre of their group they lie, seen from the centre of all
    extremeness: Floats
    #: one column per group, by id: the correlation with the mean votes of its members, from -1 to 1
    group_correlations: Floats


def participant_statistics(matrix: VoteMatrix, positions: Floats, groups: Groups, by_group: Tally) -> ParticipantStatistics:
    """The statistics of all participants."""
    people = len(matrix.participants)
    agrees, disagrees = (
        np.bincount(matrix.rows, weights=which, minlength=people).astype(np.int64) for which in (matrix.agreed, matrix.disagreed)
    )
    centers = group_centers(groups)
    place = np.full(people, -1, dtype=np.int64)
    place[groups.members] = groups.groups.clusters.places[groups.base.places]
    middle = positions[groups.members].mean(axis=0) if len(groups.members) else np.zeros(positions.shape[1])
    nearest = centers[np.maximum(place, 0)] if len(centers) else np.zeros_like(positions)
    grouped = place >= 0
    outwards = nearest - middle
    length = np.linalg.norm(outwards, axis=1, keepdims=True)
    unit = outwards / np.where(length == 0, 1.0, length)
    return ParticipantStatistics(
        agrees,
        disagrees,
        matrix.vote_counts - agrees - disagrees,
        1.0 - np.linalg.norm(positions - middle, axis=1),
        np.where(grouped, 1.0 - np.linalg.norm(positions - nearest, axis=1), np.nan),
        np.where(grouped, ((positions - nearest) * unit).sum(axis=1), np.nan),
        _group_correlations(matrix, by_group, np.bincount(place[grouped], minlength=len(centers))),
    )


def group_centers(groups: Groups) -> Floats:
    """The centre of each group, one row per group by id."""
    return groups.groups.clusters.centers


def _group_correlations(matrix: VoteMatrix, by_group: Tally, sizes: Ints) -> Floats:
    """Pearson's correlation of each participant's votes with each group's mean votes. Missing votes count as 0.

    Only comments on which enough members of the group took a side count. 0 if there are too few of these, or too few members.
    """
    people = len(matrix.participants)
    found = np.zeros((people, len(sizes)))
    own = matrix.sparse(matrix.choices.astype(np.float64))
    squares = matrix.sparse(matrix.choices.astype(np.float64) ** 2)
    for place in range(len(sizes)):
        usable = (by_group.agrees[place] + by_group.disagrees[place]) >= _FEWEST_VOTES
        n = int(usable.sum())
        if n < _FEWEST_COMMENTS or sizes[place] < _FEWEST_MEMBERS:
            continue
        mean = np.where(usable, (by_group.agrees[place] - by_group.disagrees[place]) / np.maximum(by_group.seen[place], 1), 0.0)
        apart = np.where(usable, mean - mean.sum() / n, 0.0)
        own_sum = own @ usable.astype(np.float64)
        own_spread = np.sqrt(np.maximum(squares @ usable.astype(np.float64) - own_sum**2 / n, 0.0))
        spread = own_spread * np.sqrt((apart**2).sum())
        found[:, place] = np.where(spread > 1e-12, (own @ apart) / np.where(spread > 1e-12, spread, 1.0), 0.0)
    return np.clip(found, -1.0, 1.0)
