"""How the groups formed: maps and groups at several moments, traced back from the end. Pure.

    moments = timeline(votes, moderation, End(ids, positions, groups))

Each moment is analysed with the votes cast by then. It has at most as many groups as the end, with the same identities: clustering starts
from the groups of the next later moment. While shuffled votes vary as strongly as the real ones, there are no groups yet. Each map is
rotated, mirrored and scaled to fit the next one, so that people whose opinions do not change stay in place. The final moderation applies
throughout, because exports do not say when decisions were made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.chance import chance_of
from gateleg.apps.delphi.opinions.groups import GROUP_ITERATIONS
from gateleg.apps.delphi.opinions.kmeans import k_means
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.membership import members
from gateleg.apps.delphi.opinions.pca import principal_components
from gateleg.apps.delphi.opinions.projection import participant_positions

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints, Votes
    from gateleg.apps.delphi.opinions.moderation import Moderation

#: The number of moments, the end included, with equally many votes between them.
MOMENTS = 24
#: The number of shuffles in the test for chance; with 19, random votes pass the test at one of twenty moments.
DRAWS = 19
#: The minimum size of a group that is shown at a moment.
LEAST_SHOWN = 3
#: The values in `Moment.groups` for people without a group, and for people who have not voted yet.
NO_GROUP, ABSENT = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A conversation after some of its votes. Arrays have an entry for every person who votes by the end."""

    #: the number of votes so far; of re-votes, only the last counts
    votes: int
    #: the time of the last vote, in milliseconds
    at: int
    #: the numbers of people who have voted, of comments with votes, and of people with enough votes to be compared
    participants: int
    comments: int
    compared: int
    #: whether shuffled votes vary as strongly as the real ones
    may_be_chance: bool
    #: the positions of people on the map; NaN for people who have not voted yet
    positions: Floats
    #: the index of each person's group, in the order of the groups at the end
    groups: Ints

    def size(self, group: int) -> int:
        """The number of people in a group."""
        return int((self.groups == group).sum())


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The final state: the ids of all people who voted, their positions and the indices of their groups (`NO_GROUP` without one)."""

    people: Ints
    positions: Floats
    groups: Ints
    may_be_chance: bool = False


def timeline(votes: Votes, moderation: Moderation, end: End, moments: int = MOMENTS) -> tuple[Moment, ...]:
    """The moments of a conversation in the order of time. Empty if there are no votes, or all have the same time."""
    ordered = votes.in_time()
    if not len(ordered) or ordered.times[0] == ordered.times[-1]:
        return ()
    ends = np.unique(np.linspace(0, len(ordered), moments + 1).round().astype(int)[1:])
    matrix = VoteMatrix.of(ordered)
    last = Moment(
        len(matrix.rows),
        int(ordered.times[-1]),
        len(matrix.participants),
        len(matrix.comments),
        int(members(matrix.vote_counts, len(matrix.comments)).sum()),
        end.may_be_chance,
        end.positions,
        end.groups,
    )
    found, seeds = [last], end.groups
    for count in ends[-2::-1].tolist():
        moment = _moment(ordered.take(np.arange(count)), moderation, end.people, found[-1].positions, seeds)
        # If a moment has no groups, earlier ones start from the next later groups.
        seeds = moment.groups if (moment.groups >= 0).any() else seeds
        found.append(moment)
    return tuple(reversed(found))


def _moment(votes: Votes, moderation: Moderation, people: Ints, later: Floats, seeds: Ints) -> Moment:
    matrix = VoteMatrix.of(votes)
    out = moderation.out_of(matrix.comments)
    rows = np.searchsorted(people, matrix.participants)
    inside = members(matrix.vote_counts, len(matrix.comments))
    placed = fit(participant_positions(matrix, out, principal_components(matrix, out)), later[rows], inside)
    chance = chance_of(matrix, out, np.flatnonzero(inside), DRAWS)
    groups = np.full(len(people), ABSENT, dtype=np.int64)
    groups[rows] = NO_GROUP
    if not chance.likely:
        groups[rows[inside]] = _trace_groups(placed[inside], seeds[rows[inside]])
    positions = np.full((len(people), 2), np.nan)
    positions[rows] = placed
    shape = len(matrix.participants), len(matrix.comments), int(inside.sum())
    return Moment(len(matrix.rows), int(votes.times.max()), *shape, chance.likely, positions, groups)


def _trace_groups(points: Floats, seeds: Ints) -> Ints:
    """The group of each point, starting k-means from the groups of a later moment. Groups that are too small are dropped."""
    known = np.where(seeds >= 0, seeds, -1)
    wanted = len(np.unique(known[known >= 0]))
    if not wanted:
        return np.full(len(points), NO_GROUP, dtype=np.int64)
    labels = k_means(points, wanted, iterations=GROUP_ITERATIONS, earlier=known).labels
    # An outlier may have begun a new cluster, which is not one of the groups.
    sizes = {int(label): int((labels == label).sum()) for label in np.unique(labels)}
    shown = [label for label, size in sizes.items() if size >= LEAST_SHOWN and label in known]
    return np.where(np.isin(labels, shown), labels, NO_GROUP)


def fit(points: Floats, onto: Floats, counted: Flags) -> Floats:
    """Rotate, mirror, scale and move points so that the `counted` ones lie as close as possible to `onto` (Procrustes analysis)."""
    flat = points[:, :2] if points.shape[1] > 1 else np.pad(points, ((0, 0), (0, 1)))
    known = counted & np.isfinite(onto).all(axis=1)
    if known.sum() < 2:
        return np.asarray(flat)
    middle, wanted = flat[known].mean(axis=0), onto[known].mean(axis=0)
    apart, spread = flat[known] - middle, float(((flat[known] - middle) ** 2).sum())
    if spread == 0:
        return np.asarray(flat - middle + wanted)
    left, strengths, right = np.linalg.svd(apart.T @ (onto[known] - wanted))
    return np.asarray((flat - middle) @ (left @ right) * (strengths.sum() / spread) + wanted)
