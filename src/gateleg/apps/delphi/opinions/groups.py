"""Opinion groups: participants form base clusters, base clusters form groups, and groups divide into subgroups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.kmeans import Clusters, k_means
from gateleg.apps.delphi.opinions.silhouette import silhouettes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.delphi.conversations.votes import Floats, Ints

#: The maximum number of base clusters. Up to this number, each participant has one.
BASE_CLUSTERS = 100
#: The maximum number of groups; one more than two is tried per this many base clusters.
MOST_GROUPS = 5
CLUSTERS_FOR_ANOTHER = 12
#: The maximum number of iterations of k-means after the first.
BASE_ITERATIONS = 100
GROUP_ITERATIONS = 20
#: How often in a row another number of groups must be best before the conversation changes to it.
PATIENCE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A division of base clusters into groups, chosen among several by its silhouette."""

    clusters: Clusters
    #: the mean silhouette by the number of groups; in improved mode, cross-validated (see `separation`)
    scores: Mapping[int, float]
    #: all divisions that were tried, by the number of groups
    tried: Mapping[int, Clusters] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """Delays a change of the number of groups, so that groups do not flicker while votes come in."""

    #: the number that was best in the last update, how often in a row it was, and the number in use
    last: int = 0
    wins: int = 0
    kept: int = 0

    def after(self, best: int) -> Patience:
        """The state after an update in which `best` was the best number; its `kept` is the number to use."""
        wins = self.wins + 1 if best == self.last else 1
        return Patience(best, wins, best if wins >= PATIENCE or not self.kept else self.kept)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The base clusters, groups and subgroups of the participants who are in the conversation."""

    #: the rows of the matrix that were clustered, in the order of clustering
    members: Ints
    base: Clusters
    #: groups of base clusters
    groups: Grouping
    #: by group id: the division of its base clusters into subgroups, and the indices of these clusters in `base`
    subgroups: Mapping[int, Grouping]
    parts: Mapping[int, Ints]

    def group_of(self, people: int) -> Ints:
        """The group id of each of the `people` rows; -1 for participants without a group."""
        return self._by_participant(people, self.groups.clusters.labels)

    def base_of(self, people: int) -> Ints:
        """The base cluster id of each of the `people` rows; -1 for participants without one."""
        found = np.full(people, -1, dtype=np.int64)
        found[self.members] = self.base.labels
        return found

    def subgroup_of(self, people: int) -> Ints:
        """The id of the subgroup within its group of each of the `people` rows; -1 for participants without one."""
        labels = np.full(len(self.base), -1, dtype=np.int64)
        for group, part in self.parts.items():
            labels[part] = self.subgroups[group].clusters.labels
        return self._by_participant(people, labels)

    def _by_participant(self, people: int, of_base: Ints) -> Ints:
        found = np.full(people, -1, dtype=np.int64)
        if len(self.base):
            found[self.members] = of_base[self.base.places]
        return found


def choices_of_k(clusters: int) -> range:
    """The numbers of groups to try for this number of base clusters."""
    return range(2, min(MOST_GROUPS, 2 + clusters // CLUSTERS_FOR_ANOTHER) + 1)


def base_clusters(points: Floats) -> Clusters:
    """The base clusters of participants: one each while there are few, otherwise clusters of participants who lie close together."""
    return k_means(points, BASE_CLUSTERS, iterations=BASE_ITERATIONS)


def grouping(points: Floats, weights: Floats) -> Grouping:
    """The grouping with the best silhouette over all numbers of groups; on a tie, the smallest number.

    K-means begins with the first base clusters in order. Base clusters are weighted by their members for centres, but equally for the
    silhouette.
    """
    tried = {k: k_means(points, k, weights, GROUP_ITERATIONS) for k in choices_of_k(len(points))}
    scores = {k: float(silhouettes(points, division.places).mean()) if len(points) else 0.0 for k, division in tried.items()}
    return Grouping(tried[best_of(scores)], scores, tried)


def best_of(scores: Mapping[int, float]) -> int:
    """The number with the highest score; on a tie, the smallest."""
    return max(scores, key=lambda k: (round(scores[k], 12), -k))


def find_groups(positions: Floats, inside: Ints) -> Groups:
    """Group the participants whose rows are given, in the order of clustering."""
    base = base_clusters(positions[inside])
    return with_subgroups(inside, base, grouping(base.centers, base.sizes.astype(np.float64)))


def with_subgroups(inside: Ints, base: Clusters, chosen: Grouping) -> Groups:
    """The groups with their subgroups."""
    sizes = base.sizes.astype(np.float64)
    parts = {int(group): np.flatnonzero(chosen.clusters.labels == group) for group in chosen.clusters.ids}
    return Groups(inside, base, chosen, {group: grouping(base.centers[part], sizes[part]) for group, part in parts.items()}, parts)
