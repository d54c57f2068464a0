"""Opinion groups: participants in base clusters, base clusters in groups, groups in subgroups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.kmeans import Clusters, k_means
from gateleg.apps.delphi.opinions.silhouette import silhouettes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.conversations.votes import Floats, Ints

#: The most base clusters: with as many participants or fewer each has one of their own.
BASE_CLUSTERS = 100
#: The most groups, and one more is tried for every so many base clusters.
MOST_GROUPS = 5
CLUSTERS_FOR_ANOTHER = 12
#: How often centres may move after the first time.
BASE_ITERATIONS = 100
GROUP_ITERATIONS = 20
#: How often in a row another number of groups must win before the conversation changes to it.
PATIENCE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A division of base clusters into groups, chosen among several by how well separated they are."""

    clusters: Clusters
    #: the mean silhouette of each number of groups that was tried; in improved mode that of people who had no part in finding them
    scores: Mapping[int, float]
    #: every division that was tried, for the next update to begin with
    tried: Mapping[int, Clusters] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """Remembers which number of groups has won of late, so that groups do not flicker while votes come in."""

    last: int = 0
    wins: int = 0
    kept: int = 0

    def after(self, best: int) -> Patience:
        """What is remembered after another number has won; `kept` is the one to use."""
        wins = self.wins + 1 if best == self.last else 1
        return Patience(best, wins, best if wins >= PATIENCE or not self.kept else self.kept)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """All divisions of the participants who are in the conversation."""

    #: the rows of the matrix that were clustered, in the order in which clustering took them
    members: Ints
    base: Clusters
    #: groups of base clusters
    groups: Grouping
    #: for each group id the groups of its own base clusters, whose points are the places in `base` that `parts` lists
    subgroups: Mapping[int, Grouping]
    parts: Mapping[int, Ints]

    def group_of(self, people: int) -> Ints:
        """For each of all participants the id of their group, -1 for those who have none."""
        return self._spread(people, self.groups.clusters.labels)

    def base_of(self, people: int) -> Ints:
        """For each of all participants the id of their base cluster, -1 for those who have none."""
        found = np.full(people, -1, dtype=np.int64)
        found[self.members] = self.base.labels
        return found

    def subgroup_of(self, people: int) -> Ints:
        """For each of all participants the id of their subgroup within their group, -1 for those who have none."""
        labels = np.full(len(self.base), -1, dtype=np.int64)
        for group, part in self.parts.items():
            labels[part] = self.subgroups[group].clusters.labels
        return self._spread(people, labels)

    def _spread(self, people: int, of_base: Ints) -> Ints:
        found = np.full(people, -1, dtype=np.int64)
        if len(self.base):
            found[self.members] = of_base[self.base.places]
        return found


def choices_of_k(clusters: int) -> range:
    """The numbers of groups to try for so many base clusters."""
    return range(2, min(MOST_GROUPS, 2 + clusters // CLUSTERS_FOR_ANOTHER) + 1)


def base_clusters(points: Floats) -> Clusters:
    """One cluster for each participant while there are few; of more those that lie close together share one."""
    return k_means(points, BASE_CLUSTERS, iterations=BASE_ITERATIONS)


def grouping(points: Floats, weights: Floats) -> Grouping:
    """The best of all numbers of groups, each beginning with the first base clusters in order; of equally good ones the smallest.

    A base cluster counts for its centre as much as it has members; for the silhouette all count alike.
    """
    tried = {k: k_means(points, k, weights, GROUP_ITERATIONS) for k in choices_of_k(len(points))}
    scores = {k: float(silhouettes(points, division.places).mean()) if len(points) else 0.0 for k, division in tried.items()}
    return Grouping(tried[best_of(scores)], scores, tried)


def best_of(scores: Mapping[int, float]) -> int:
    """The number with the highest score; of equally good ones the smallest."""
    return max(scores, key=lambda k: (round(scores[k], 12), -k))


def find_groups(positions: Floats, inside: Ints) -> Groups:
    """Groups of the participants whose rows are given, in the order in which clustering takes them."""
    base = base_clusters(positions[inside])
    return with_subgroups(inside, base, grouping(base.centers, base.sizes.astype(np.float64)))


def with_subgroups(inside: Ints, base: Clusters, chosen: Grouping) -> Groups:
    """The groups together with those that each falls into."""
    sizes = base.sizes.astype(np.float64)
    parts = {int(group): np.flatnonzero(chosen.clusters.labels == group) for group in chosen.clusters.ids}
    return Groups(inside, base, chosen, {group: grouping(base.centers[part], sizes[part]) for group, part in parts.items()}, parts)
