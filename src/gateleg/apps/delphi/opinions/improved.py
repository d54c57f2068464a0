"""Groups as `mode="improved"` finds them: many beginnings, a number that holds for people who had no part in it, and no group too small."""

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

#: With as many participants each has a base cluster of their own.
MOST_ALONE = 2_000
#: A group has at least so many people, and at least this share of those who are grouped.
LEAST_PEOPLE = 3
LEAST_SHARE = 0.02


def least_size(people: int) -> int:
    """How many of so many people a group must have."""
    return max(LEAST_PEOPLE, math.ceil(LEAST_SHARE * people))


def improved_base_clusters(people: Floats) -> Clusters:
    """A base cluster for each different position, in the order in which they come; of many participants as many as in exact mode."""
    if len(people) > MOST_ALONE:
        return base_clusters(people)
    _, first, inverse = np.unique(people, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return Clusters(np.arange(len(first)), people[np.sort(first)], rank[inverse.ravel()])


def find_improved_groups(positions: Floats, inside: Ints, apart: bool = True) -> Groups:
    """Groups of the participants whose rows are given, without subgroups; one of all if they are not `apart`, or if no division holds."""
    people = positions[inside]
    base = improved_base_clusters(people)
    every = np.arange(len(base))
    return Groups(inside, base, _grouping(people, base, every) if apart else _one_group(base, every, {}), {}, {})


def regrouped(found: Groups, places: Indices) -> Groups:
    """The same people in other groups: for each member the place of theirs. The largest has the id 0."""
    base = found.base
    _, first = np.unique(base.places, return_index=True)
    clusters = by_mass(base.centers, base.sizes.astype(np.float64), places[first], int(places.max()) + 1)
    return replace(found, groups=Grouping(clusters, found.groups.scores, found.groups.tried))


def with_improved_subgroups(found: Groups, positions: Floats, apart: bool = True) -> Groups:
    """Each group divided in the same way as all people were."""
    people, base, clusters = positions[found.members], found.base, found.groups.clusters
    parts = {int(group): np.flatnonzero(clusters.labels == group) for group in clusters.ids}
    subgroups = {
        group: _grouping(people[np.isin(base.places, part)], base, part) if apart else _one_group(base, part, {})
        for group, part in parts.items()
    }
    return replace(found, subgroups=subgroups, parts=parts)


def _grouping(people: Floats, base: Clusters, part: Ints) -> Grouping:
    """The best separated number of groups of some base clusters, whose members are `people`; of equally good ones the smallest."""
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
