"""Cross-validated silhouettes, by which `mode="improved"` chooses the number of groups.

The silhouette of the people to whom groups were fitted favours more groups. Here groups are found among one half of the people, the other
half joins the nearest centres, and its silhouettes count; then the halves swap roles. This is repeated with several halvings. Groups that
exist by accident do not separate the other half. There is no threshold or penalty to tune.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.opinions.kmeans import nearest
from gateleg.apps.delphi.opinions.restarts import restarted_clusters
from gateleg.apps.delphi.opinions.silhouette import distances_between, silhouettes_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.apps.delphi.conversations.votes import Floats

_HALVINGS = 10
_RESTARTS = 6
#: With more people a sample is used, which changes the figures little.
_MOST_PEOPLE = 1_000


def separations(people: Floats, numbers: Iterable[int], least: float) -> dict[int, float]:
    """The cross-validated mean silhouette for each number of groups; 0 if there is no such division.

    `least` is the minimum size of a group among all people; among half of them, half of it suffices.
    """
    random = np.random.default_rng(0)
    if len(people) > _MOST_PEOPLE:
        least *= _MOST_PEOPLE / len(people)
        people = people[np.sort(random.choice(len(people), _MOST_PEOPLE, replace=False))]
    halves = [np.array_split(random.permutation(len(people)), 2) for _ in range(_HALVINGS)]
    distances = distances_between(people)
    return {k: float(np.mean([_cross_validated(people, distances, pair, k, least / 2) for pair in halves])) for k in numbers}


def _cross_validated(
    people: Floats, distances: Floats, pair: list[np.ndarray[tuple[int], np.dtype[np.int64]]], k: int, least: float
) -> float:
    """The mean silhouette of both halves, each in the groups of the other."""
    scores = []
    for known, unknown in (pair, pair[::-1]):
        found = restarted_clusters(people[known], k, np.ones(len(known)), least, _RESTARTS)
        if found is None or not len(unknown):
            scores.append(0.0)
            continue
        _, joined = np.unique(nearest(people[unknown], found.centers), return_inverse=True)
        scores.append(float(silhouettes_at(distances[np.ix_(unknown, unknown)], joined).mean()))
    return float(np.mean(scores))
