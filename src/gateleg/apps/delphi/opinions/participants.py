"""Statistics of participants: what they voted, where they stand in their group, and with whom they vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.groups import Groups
    from gateleg.apps.delphi.opinions.matrix import VoteMatrix
    from gateleg.apps.delphi.opinions.tallies import Tally

#: A group's mean vote on a comment is compared with when so many of its members took a side.
_FEWEST_VOTES = 3
_FEWEST_COMMENTS = 3
_FEWEST_MEMBERS = 3


@dataclass(frozen=True, slots=True, eq=False)
class ParticipantStatistics:
    """An entry for each participant in every array; NaN where there is no group to compare with."""

    agrees: Ints
    disagrees: Ints
    passes: Ints
    #: 1 in the middle of everybody, less with distance
    centricness: Floats
    #: 1 in the middle of their group, less with distance
    coreness: Floats
    #: how much further out than their group they stand, seen from the middle of everybody
    extremeness: Floats
    #: a column for each group by id: how far they vote as its members do on average, from -1 to 1
    group_correlations: Floats


def participant_statistics(matrix: VoteMatrix, positions: Floats, groups: Groups, by_group: Tally) -> ParticipantStatistics:
    """The statistics of all participants; the middle of everybody is that of all who are in a group."""
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
    """Where the middle of each group lies, a row for each by id."""
    return groups.groups.clusters.centers


def _group_correlations(matrix: VoteMatrix, by_group: Tally, sizes: Ints) -> Floats:
    """Pearson's correlation of each participant's votes with each group's mean vote, votes not cast counting as 0.

    Over the comments that enough of the group took a side on; 0 where these, or the members, are too few.
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
