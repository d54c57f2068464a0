"""Chooses the division into groups that `mode="improved"` shows: the one that participants saw, unless the votes clearly show another.

Opinions usually form a continuum that can be divided in several ways, which the votes support about equally well. Where to cut is then a
convention, and the division that participants saw is used: the last one of a replay of the votes by time, with groups that are too small
joined to the nearest. Sometimes the votes show distinct groups: they separate people far better than any division of a random crowd
without groups (normally distributed positions with the same covariance). A replay that separates people less well is then rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.improved_groups import MAX_SINGLE_POSITIONS, least_size, regroup
from gateleg.apps.delphi.opinions.kmeans import means, nearest
from gateleg.apps.delphi.opinions.replay import replay
from gateleg.apps.delphi.opinions.restarts import restarted_clusters
from gateleg.apps.delphi.opinions.silhouette import distances_between, silhouettes_at

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints, Votes
    from gateleg.apps.delphi.opinions.config import VotesConfig
    from gateleg.apps.delphi.opinions.groups import Groups
    from gateleg.apps.delphi.opinions.matrix import Indices
    from gateleg.apps.delphi.opinions.moderation import Moderation
    from gateleg.apps.delphi.opinions.modes import Division

#: Conversations with more votes are not replayed, because each update reads all votes cast so far.
MAX_REPLAYED_VOTES = 200_000
#: The maximum of updates times votes in a replay, unless it has only `replay_updates`. Polis itself updates about once per vote.
REPLAY_BUDGET = 1_500_000
#: Groups are distinct if their mean silhouette exceeds that of divided random crowds by this.
DISTINCT_MARGIN = 0.1
#: The share of the silhouette of distinct groups that a replay must reach, with the same number of groups and with another.
SAME_NUMBER_SHARE, OTHER_NUMBER_SHARE = 0.85, 0.95
#: The number of random crowds, the starts of k-means for each, and the maximum number of people in them.
_CROWDS, _RESTARTS, _MAX_PEOPLE = 10, 4, 500


def choose_division(found: Groups, votes: Votes, moderation: Moderation, positions: Floats, config: VotesConfig) -> tuple[Groups, Division]:
    """The groups to show, and why, given the groups found from the votes alone."""
    if len(found.groups.clusters) < 2:
        return found, "one-group"
    if votes.times.min() == votes.times.max():
        return found, "no-times"
    if len(found.members) > MAX_SINGLE_POSITIONS or len(votes) > MAX_REPLAYED_VOTES:
        return found, "too-many"
    updates = replay_updates(len(votes), config.replay_updates)
    replayed = replay(votes, moderation, updates, config.n_components, config.pca_method, followed=False)
    people = positions[found.members]
    shown = without_small_groups(people, _places(people, replayed.groups.group_of(len(positions))[found.members]))
    division = weigh(found, positions, shown)
    return (regroup(found, shown) if division == "seen" else found), division


def replay_updates(votes: int, least: int) -> int:
    """The number of updates in a replay: one per vote if the budget allows that, and at least `least` if there are so many votes."""
    return min(votes, max(least, REPLAY_BUDGET // max(votes, 1)))


def without_small_groups(people: Floats, places: Indices) -> Indices:
    """Dissolve groups that are too small, smallest first: their members join the nearest of the other groups."""
    while True:
        _, places, sizes = np.unique(places, return_inverse=True, return_counts=True)
        if len(sizes) < 2 or sizes.min() >= least_size(len(people)):
            return places
        leaving = places == sizes.argmin()
        _, staying = np.unique(places[~leaving], return_inverse=True)
        centers = means(people[~leaving], staying, len(sizes) - 1, np.ones(len(staying)))
        places[~leaving], places[leaving] = staying, nearest(people[leaving], centers)


def weigh(found: Groups, positions: Floats, shown: Indices) -> Division:
    """Decide between the division that participants saw (`shown` has the index of each member's group) and the one found from the votes."""
    people, own = positions[found.members], found.groups.clusters.places[found.base.places]
    if _is_same(own, shown):
        return "same"
    if len(np.unique(shown)) < 2:
        return "too-small"
    distances = distances_between(people)
    ours, theirs = (float(silhouettes_at(distances, places).mean()) for places in (own, shown))
    share = SAME_NUMBER_SHARE if len(np.unique(shown)) == len(np.unique(own)) else OTHER_NUMBER_SHARE
    if theirs >= share * ours:
        return "seen"
    return "less-separated" if ours > crowd_silhouette(people, len(np.unique(own))) + DISTINCT_MARGIN else "seen"


def crowd_silhouette(people: Floats, groups: int) -> float:
    """The mean silhouette of random crowds, with the covariance of `people`, that k-means divides into this number of groups."""
    random = np.random.default_rng(0)
    count = min(len(people), _MAX_PEOPLE)
    spread = np.linalg.cholesky(np.cov(people.T).reshape(people.shape[1], -1) + 1e-9 * np.eye(people.shape[1]))
    scores = []
    for _ in range(_CROWDS):
        crowd = random.standard_normal((count, people.shape[1])) @ spread.T
        divided = restarted_clusters(crowd, groups, np.ones(count), least_size(count), _RESTARTS)
        scores.append(0.0 if divided is None else float(silhouettes_at(distances_between(crowd), divided.places).mean()))
    return float(np.mean(scores))


def _places(people: Floats, labels: Ints) -> Indices:
    """The index of each person's group. People who are not in the replayed conversation join the nearest group."""
    known = labels >= 0
    ids, own = np.unique(labels[known], return_inverse=True)
    places = np.zeros(len(people), dtype=np.intp)
    places[known] = own
    if not known.all() and len(ids):
        places[~known] = nearest(people[~known], means(people[known], own, len(ids), np.ones(int(known.sum()))))
    return places


def _is_same(one: Indices, other: Indices) -> bool:
    """Whether two divisions are equal except for the numbering of their groups."""
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))
