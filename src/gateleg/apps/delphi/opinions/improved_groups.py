"""Groups as `mode="improved"` finds them: k-means with many starts, a cross-validated number of groups, and a minimum group size."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.groups import Grouping, Groups, base_clusters, best_of, choices_of_k
from gateleg.apps.delphi.opinions.kmeans import Clusters
from gateleg.apps.delphi.opinions.restarts import by_mass, restarted_clusters
from gateleg.apps.delphi.opinions.separation import separations

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.matrix import Indices

#: Up to this number of participants, every distinct position is a base cluster.
MAX_SINGLE_POSITIONS = 2_000
#: The minimum size of a group, in people and as a share of all who are grouped.
LEAST_PEOPLE = 3
LEAST_SHARE = 0.02


def least_size(people: int) -> int:
    """The minimum size of a group when `people` are grouped."""
    return max(LEAST_PEOPLE, math.ceil(LEAST_SHARE * people))


def improved_base_clusters(people: Floats) -> Clusters:
    """One base cluster for each distinct position, in order of appearance; for many participants, the base clusters of exact mode."""
    if len(people) > MAX_SINGLE_POSITIONS:
        return base_clusters(people)
    _, first, inverse = np.unique(people, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return Clusters(np.arange(len(first)), people[np.sort(first)], rank[inverse.ravel()])


def find_improved_groups(positions: Floats, inside: Ints, apart: bool = True) -> Groups:
    """Group the participants whose rows are given, without subgroups. There is one group if not `apart`, or if no division is stable."""
    people = positions[inside]
    base = improved_base_clusters(people)
    every = np.arange(len(base))
    return Groups(inside, base, _grouping(people, base, every) if apart else _one_group(base, every, {}), {}, {})


def regroup(found: Groups, places: Indices) -> Groups:
    """The same people in other groups: `places` has the index of each member's group. The largest group gets the id 0."""
    base = found.base
    _, first = np.unique(base.places, return_index=True)
    clusters = by_mass(base.centers, base.sizes.astype(np.float64), places[first], int(places.max()) + 1)
    return replace(found, groups=Grouping(clusters, found.groups.scores, found.groups.tried))


def with_improved_subgroups(found: Groups, positions: Floats, apart: bool = True) -> Groups:
    """The groups with subgroups, found in the same way within each group."""
    people, base, clusters = positions[found.members], found.base, found.groups.clusters
    parts = {int(group): np.flatnonzero(clusters.labels == group) for group in clusters.ids}
    subgroups = {
        group: _grouping(people[np.isin(base.places, part)], base, part) if apart else _one_group(base, part, {})
        for group, part in parts.items()
    }
    return replace(found, subgroups=subgroups, parts=parts)


def _grouping(people: Floats, base: Clusters, part: Ints) -> Grouping:
    """The best separated grouping of the base clusters in `part`, whose members are `people`; on a tie, the one with fewest groups."""
    points, weights, least = base.centers[part], base.sizes[part].astype(np.float64), least_size(len(people))
    tried = {k: restarted_clusters(points, k, weights, least) for k in choices_of_k(len(part))}
    divisions = {k: division for k, division in tried.items() if division is not None}
    scores = separations(people, divisions, least)
    if not divisions or max(scores.values()) <= 0:
        return _one_group(base, part, scores)
    return Grouping(divisions[best_of(scores)], scores, divisions)


def _one_group(base: Clusters, part: Ints, scores: dict[int, float]) -> Grouping:
    points, weights = base.centers[part], base.sizes[part].astype(np.float64)
    count = min(1, len(part))
    centers = np.average(points, axis=0, weights=weights).reshape(1, -1) if count else points
    return Grouping(Clusters(np.arange(count), centers, np.zeros(len(part), dtype=np.intp)), scores)
