"""How the groups came about: the same people and groups after each part of the votes, followed back from the end.

    moments = timeline(votes, moderation, End(ids, positions, groups))

Every moment is analysed with the votes that were cast by then. It has as many groups as the end, or fewer, and each is the group that it
becomes: clustering begins where the groups of the next later moment lie. Where shuffled votes differ as strongly as those that were cast by
then, there are no groups yet. Each map is turned, mirrored and scaled to fit the next one, so that people who think alike throughout stay
where they are. The moderation is that of the end: when a decision was made is not in an export. Pure.
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

#: Moments of a timeline, the end included, as many votes apart from each other.
MOMENTS = 24
#: With so many draws, none as strong as the real votes happens by chance at one of twenty moments.
DRAWS = 19
#: A group of fewer is not shown at a moment.
LEAST_SHOWN = 3
#: What stands in `Moment.groups` for people without a group, and for those who have not voted by then.
NO_GROUP, ABSENT = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A conversation after some of its votes. Arrays have an entry for everybody who voted until the end."""

    #: votes that counted by then: the last of each person on each comment
    votes: int
    #: the time of the last of them, in milliseconds
    at: int
    #: people who had voted, comments that had been voted on, and people who had voted often enough to be compared
    participants: int
    comments: int
    compared: int
    #: whether shuffled votes differ as strongly as those cast by then
    may_be_chance: bool
    #: where people lie on the map; not a number for those who had not voted
    positions: Floats
    #: the place of each one's group at the end of the timeline
    groups: Ints

    def size(self, group: int) -> int:
        """How many people a group has."""
        return int((self.groups == group).sum())


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """How it ended: everybody who voted, by id, with their position and the place of their group, `NO_GROUP` without one."""

    people: Ints
    positions: Floats
    groups: Ints
    may_be_chance: bool = False


def timeline(votes: Votes, moderation: Moderation, end: End, moments: int = MOMENTS) -> tuple[Moment, ...]:
    """The moments of a conversation, the end last; none where all votes were cast at one moment or nobody has voted."""
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
        # Where nothing is grouped, earlier groups begin from the next that are.
        seeds = moment.groups if (moment.groups >= 0).any() else seeds
        found.append(moment)
    return tuple(reversed(found))


def _moment(votes: Votes, moderation: Moderation, people: Ints, later: Floats, seeds: Ints) -> Moment:
    matrix = VoteMatrix.of(votes)
    out = moderation.out_of(matrix.comments)
    rows = np.searchsorted(people, matrix.participants)
    inside = members(matrix.vote_counts, len(matrix.comments))
    placed = fitted(participant_positions(matrix, out, principal_components(matrix, out)), later[rows], inside)
    chance = chance_of(matrix, out, np.flatnonzero(inside), DRAWS)
    groups = np.full(len(people), ABSENT, dtype=np.int64)
    groups[rows] = NO_GROUP
    if not chance.likely:
        groups[rows[inside]] = _regrouped(placed[inside], seeds[rows[inside]])
    positions = np.full((len(people), 2), np.nan)
    positions[rows] = placed
    shape = len(matrix.participants), len(matrix.comments), int(inside.sum())
    return Moment(len(matrix.rows), int(votes.times.max()), *shape, chance.likely, positions, groups)


def _regrouped(points: Floats, seeds: Ints) -> Ints:
    """For each point the group that it is in, beginning with the groups of a later moment; small ones are none."""
    known = np.where(seeds >= 0, seeds, -1)
    wanted = len(np.unique(known[known >= 0]))
    if not wanted:
        return np.full(len(points), NO_GROUP, dtype=np.int64)
    labels = k_means(points, wanted, iterations=GROUP_ITERATIONS, earlier=known).labels
    # A far point may have begun a cluster of its own, which is none of the groups.
    sizes = {int(label): int((labels == label).sum()) for label in np.unique(labels)}
    shown = [label for label, size in sizes.items() if size >= LEAST_SHOWN and label in known]
    return np.where(np.isin(labels, shown), labels, NO_GROUP)


def fitted(points: Floats, onto: Floats, counted: Flags) -> Floats:
    """Points turned, mirrored, scaled and moved so that those that count lie as near as can be to where they are wanted (Procrustes)."""
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
