"""The groups that participants saw, as far as a replay tells: what `mode="improved"` takes among divisions that are nearly as good.

People can often be divided in several ways that the votes support nearly equally well, and the votes do not tell which of them was shown
while the conversation ran. A replay of the votes by time does, if not surely. Its division is taken if none of its groups is too small and
it separates people nearly as well as the one that was found from the votes alone; one with another number of groups has to be as good as
equal to it, because a replay that merges or splits groups that are really there separates people only a little less well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.improved import MOST_ALONE, least_size, regrouped
from gateleg.apps.delphi.opinions.kmeans import means, nearest
from gateleg.apps.delphi.opinions.replay import replay
from gateleg.apps.delphi.opinions.silhouette import distances_between, silhouettes_at

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints, Votes
    from gateleg.apps.delphi.opinions.config import VotesConfig
    from gateleg.apps.delphi.opinions.groups import Groups
    from gateleg.apps.delphi.opinions.matrix import Indices
    from gateleg.apps.delphi.opinions.moderation import Moderation
    from gateleg.apps.delphi.opinions.modes import Division

#: More votes than this are not replayed: each update reads all votes that were cast by then.
MOST_VOTES = 200_000
#: The share that its mean silhouette must have of that of the groups found from the votes alone: with as many groups, and with others.
NEARLY, EQUALLY = 0.85, 0.95


def with_history(found: Groups, votes: Votes, moderation: Moderation, positions: Floats, config: VotesConfig) -> tuple[Groups, Division]:
    """The groups that participants saw if the votes allow for them, else those found; and which it was and why."""
    if len(found.groups.clusters) < 2:
        return found, "one-group"
    if votes.times.min() == votes.times.max():
        return found, "no-times"
    if len(found.members) > MOST_ALONE or len(votes) > MOST_VOTES:
        return found, "too-many"
    replayed = replay(votes, moderation, config.replay_updates, config.n_components, config.pca_method, followed=False)
    seen = _places(positions[found.members], replayed.groups.group_of(len(positions))[found.members])
    division = weigh(found, positions, seen)
    return (regrouped(found, positions, seen) if division == "seen" else found), division


def weigh(found: Groups, positions: Floats, seen: Indices) -> Division:
    """Whether to take a division, in which each member has the place of a group, instead of the one that was found."""
    people, own = positions[found.members], found.groups.clusters.places[found.base.places]
    if _is_same(own, seen):
        return "same"
    if np.bincount(seen).min() < least_size(len(people)):
        return "too-small"
    distances = distances_between(people)
    ours, theirs = (float(silhouettes_at(distances, places).mean()) for places in (own, seen))
    share = NEARLY if len(np.unique(seen)) == len(np.unique(own)) else EQUALLY
    return "seen" if theirs > 0 and theirs >= share * ours else "less-separated"


def _places(people: Floats, labels: Ints) -> Indices:
    """For each of some people the place of their group; those whom the replay has not let in join the nearest."""
    known = labels >= 0
    ids, own = np.unique(labels[known], return_inverse=True)
    places = np.zeros(len(people), dtype=np.intp)
    places[known] = own
    if not known.all() and len(ids):
        places[~known] = nearest(people[~known], means(people[known], own, len(ids), np.ones(int(known.sum()))))
    return places


def _is_same(one: Indices, other: Indices) -> bool:
    """Whether two divisions are equal but for the names of their groups."""
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))
