"""How coherent topics are, and topics joined to fewer so that they stay coherent.

Coherence is how much nearer comments of one topic are to each other, by the cosine of their vectors, than comments of different topics.
More topics are more coherent by themselves, so a division is judged beside k-means with the same number of topics, the most coherent of
ten beginnings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.apps.delphi.conversations.votes import Floats, Ints

_BEGINNINGS = 10
#: More comments than this are compared with k-means from one beginning only.
_MANY = 2_000


def coherence(vectors: Floats, labels: Ints) -> float:
    """The mean cosine within topics less that between them; the vectors have length 1, the labels count from 0."""
    sizes = np.bincount(labels).astype(np.float64)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, labels, vectors)
    within = float((sums**2).sum()) - len(vectors)
    between = float((sums.sum(axis=0) ** 2).sum()) - len(vectors) - within
    pairs = float((sizes * (sizes - 1)).sum())
    others = len(vectors) * (len(vectors) - 1.0) - pairs
    return within / max(pairs, 1.0) - between / max(others, 1.0)


def joined_topics(vectors: Floats, middles: Floats, labels: Ints, numbers: Iterable[int]) -> Ints | None:
    """The topics, whose middles are given, joined to one of some numbers: the one that is most coherent beside k-means with as many.

    None if every number is less coherent than k-means is: then coarser topics would mix what does not belong together.
    """
    sizes = np.bincount(labels).astype(np.float64)
    best: tuple[float, Ints] | None = None
    with threadpool_limits(limits=1):
        for number in numbers:
            divisions = [_k_means(middles, number, seed, sizes)[labels] for seed in range(_BEGINNINGS)]
            joined = max(divisions, key=lambda division: round(coherence(vectors, division), 9))
            gain = round(coherence(vectors, joined) - _bar(vectors, number), 9)
            if gain >= 0 and (best is None or gain > best[0]):
                best = gain, joined
    return None if best is None else best[1]


def coherent_topics(vectors: Floats, labels: Ints, tidied: Callable[[Ints], Ints]) -> Ints:
    """The topics, if they are as coherent as k-means makes as many; else those of k-means, begun with them and otherwise, that come out
    best beside the bar of their own number once they are `tidied`, which may make them fewer."""
    count = int(labels.max()) + 1
    if count < 2:
        return labels
    with threadpool_limits(limits=1):
        runs = _runs(vectors, count)
        bars = {count: max(coherence(vectors, run) for run in runs)}
        best, most = labels, round(coherence(vectors, labels) - bars[count], 9)
        others = [_resumed(vectors, labels), *runs] if most < 0 else []
        for other in map(tidied, others):
            number = int(other.max()) + 1
            if number not in bars:
                bars[number] = _bar(vectors, number)
            gain = round(coherence(vectors, other) - bars[number], 9)
            if number > 1 and gain > most:
                best, most = other, gain
    return best


def _runs(vectors: Floats, number: int) -> list[Ints]:
    return [_k_means(vectors, number, seed) for seed in range(_BEGINNINGS if len(vectors) <= _MANY else 1)]


def _bar(vectors: Floats, number: int) -> float:
    """How coherent k-means makes so many topics, at its best."""
    return max(coherence(vectors, run) for run in _runs(vectors, number))


def _resumed(vectors: Floats, labels: Ints) -> Ints:
    """K-means that begins with the middles of topics."""
    sizes = np.bincount(labels).astype(np.float64)
    middles = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(middles, labels, vectors)
    make: Any = KMeans
    found = make(len(sizes), n_init=1, init=middles / sizes[:, None]).fit(vectors).labels_
    return np.asarray(np.unique(found, return_inverse=True)[1]).ravel()


def _k_means(points: Floats, number: int, seed: int, weights: Floats | None = None) -> Ints:
    make: Any = KMeans
    found = make(number, n_init=1, random_state=seed).fit(points, sample_weight=weights).labels_
    return np.asarray(np.unique(found, return_inverse=True)[1]).ravel()
