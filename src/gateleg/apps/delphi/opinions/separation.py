"""How well a number of groups separates people who had no part in finding them: what `mode="improved"` chooses the number by.

The silhouette of a division is judged by the very people it was fitted to, and flatters more groups. Here groups are found among one half
of the people, the other half joins the nearest centres, and its silhouettes count; then the halves change parts, several times. Groups that
are an accident of who took part do not separate anybody else. There is nothing to tune: no threshold and no penalty.
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
#: More people than this are drawn from, which changes the figures little.
_MOST_PEOPLE = 1_000


def separations(people: Floats, numbers: Iterable[int], least: float) -> dict[int, float]:
    """For each number of groups the mean silhouette of people who did not take part in finding them; 0 where none can be found.

    `least` is the size that a group must have among all people; among half of them it must have half of it.
    """
    random = np.random.default_rng(0)
    if len(people) > _MOST_PEOPLE:
        least *= _MOST_PEOPLE / len(people)
        people = people[np.sort(random.choice(len(people), _MOST_PEOPLE, replace=False))]
    halves = [np.array_split(random.permutation(len(people)), 2) for _ in range(_HALVINGS)]
    distances = distances_between(people)
    return {k: float(np.mean([_crossed(people, distances, pair, k, least / 2) for pair in halves])) for k in numbers}


def _crossed(people: Floats, distances: Floats, pair: list[np.ndarray[tuple[int], np.dtype[np.int64]]], k: int, least: float) -> float:
    """The mean of both halves."""
    scores = []
    for known, unknown in (pair, pair[::-1]):
        found = restarted_clusters(people[known], k, np.ones(len(known)), least, _RESTARTS)
        if found is None or not len(unknown):
            scores.append(0.0)
            continue
        _, joined = np.unique(nearest(people[unknown], found.centers), return_inverse=True)
        scores.append(float(silhouettes_at(distances[np.ix_(unknown, unknown)], joined).mean()))
    return float(np.mean(scores))
