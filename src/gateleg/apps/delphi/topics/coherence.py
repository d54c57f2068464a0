"""How coherent topics are, and topics joined to fewer so that they stay coherent.

Coherence is how much nearer comments of one topic are to each other, by the cosine of their vectors, than comments of different topics.
More topics are more coherent by themselves, so a division is judged beside k-means with the same number of topics: by the most coherent of
ten beginnings. Where a division falls short of that bar, comments move to where they help most, one at a time, until it is a twentieth
above the bar, for other beginnings of k-means come out better. They move no further: topics as coherent as can be are one large one and
crumbs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.topics.kmeans_plus_plus import resumed_k_means, seeded_k_means
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gateleg.apps.delphi.conversations.votes import Floats, Ints

_BEGINNINGS = 10
#: Of several numbers of topics the one would be chosen for which k-means was unlucky: there it gets more beginnings.
_MORE_BEGINNINGS = 40
#: How far above the bar of k-means moves aim.
_AIM = 1.05
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
    with one_blas_thread():
        for number in numbers:
            divisions = [_k_means(middles, number, seed, sizes)[labels] for seed in range(_BEGINNINGS)]
            joined = max(divisions, key=lambda division: round(coherence(vectors, division), 9))
            bar = _bar(vectors, number, _MORE_BEGINNINGS)
            joined = _moved(_Blocks.of(vectors, labels), _first(joined, labels), _AIM * bar, 1)[labels]
            gain = round(coherence(vectors, joined) - bar, 9)
            if gain >= 0 and (best is None or gain > best[0]):
                best = gain, joined
    return None if best is None else best[1]


def coherent_topics(vectors: Floats, labels: Ints, tidied: Callable[[Ints], Ints]) -> Ints:
    """The topics, if they are as coherent as k-means makes as many; else those of k-means, begun with them and otherwise, that come out
    best beside the bar of their own number once they are `tidied`, which may make them fewer."""
    count = int(labels.max()) + 1
    if count < 2:
        return labels
    with one_blas_thread():
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


def refined_topics(vectors: Floats, labels: Ints, smallest: int, parents: Ints | None = None) -> Ints:
    """The topics; where k-means makes as many that are more coherent, with comments moved until they are as coherent, or no move helps.

    No topic gets fewer than `smallest` comments, and with `parents`, the topics that hold them, comments stay inside of these.
    """
    count = int(labels.max()) + 1
    if count < 2 or len(vectors) > _MANY:
        return labels
    with one_blas_thread():
        bar = _bar(vectors, count)
    if round(coherence(vectors, labels) - bar, 9) >= 0:
        return labels
    return _moved(_Blocks.of(vectors, np.arange(len(vectors))), labels, _AIM * bar, smallest, parents)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Comments that move together."""

    #: of their vectors
    sums: Floats
    sizes: Floats
    comments: int

    @classmethod
    def of(cls, vectors: Floats, blocks: Ints) -> _Blocks:
        sizes = np.bincount(blocks).astype(np.float64)
        sums = np.zeros((len(sizes), vectors.shape[1]))
        np.add.at(sums, blocks, vectors)
        return cls(sums, sizes, len(vectors))


def _moved(blocks: _Blocks, labels: Ints, aim: float, smallest: int, parents: Ints | None = None) -> Ints:
    """The topics of blocks, one after the other moved to where it helps most, until they are as coherent as is aimed at."""
    labels = labels.copy()
    count, places = int(labels.max()) + 1, np.arange(len(labels))
    topics = np.zeros((count, blocks.sums.shape[1]))
    np.add.at(topics, labels, blocks.sums)
    sizes = np.bincount(labels, weights=blocks.sizes, minlength=count)
    weights, lengths = blocks.sizes, (blocks.sums**2).sum(axis=1)
    everything = float((topics.sum(axis=0) ** 2).sum()) - blocks.comments
    pairs_of_all = blocks.comments * (blocks.comments - 1.0)
    within, pairs = float((topics**2).sum()) - blocks.comments, float((sizes * (sizes - 1)).sum())
    nearness = blocks.sums @ topics.T
    allowed = np.ones((len(labels), count), dtype=np.bool_)
    if parents is not None:
        parent_of = np.zeros(count, dtype=np.int64)
        parent_of[labels] = parents
        allowed = parent_of[None, :] == parents[:, None]

    def gap(within: Any, pairs: Any) -> Any:
        return within / np.maximum(pairs, 1.0) - (everything - within) / np.maximum(pairs_of_all - pairs, 1.0)

    # As many moves as there are blocks, each to one place: more would be going in circles.
    for _ in places:
        now = gap(within, pairs)
        if now >= aim:
            break
        more_within = 2 * (nearness - nearness[places, labels][:, None] + lengths[:, None])
        more_pairs = 2 * weights[:, None] * (sizes[None, :] - sizes[labels][:, None] + weights[:, None])
        after = gap(within + more_within, pairs + more_pairs)
        after[~allowed | (sizes[labels] - weights < smallest)[:, None]] = -np.inf
        after[places, labels] = -np.inf
        one, to = (int(place) for place in np.unravel_index(np.round(after, 9).argmax(), after.shape))
        if after[one, to] <= now + 1e-9:
            break
        left = int(labels[one])
        within, pairs = within + more_within[one, to], pairs + more_pairs[one, to]
        shift = blocks.sums @ blocks.sums[one]
        nearness[:, left] -= shift
        nearness[:, to] += shift
        sizes[left] -= weights[one]
        sizes[to] += weights[one]
        labels[one] = to
    return labels


def _first(values: Ints, labels: Ints) -> Ints:
    """For each label the value of the first that has it."""
    return np.asarray(values[np.unique(labels, return_index=True)[1]])


def _runs(vectors: Floats, number: int, beginnings: int = _BEGINNINGS) -> list[Ints]:
    return [_k_means(vectors, number, seed) for seed in range(beginnings if len(vectors) <= _MANY else 1)]


def _bar(vectors: Floats, number: int, beginnings: int = _BEGINNINGS) -> float:
    """How coherent k-means makes so many topics, at its best."""
    return max(coherence(vectors, run) for run in _runs(vectors, number, beginnings))


def _resumed(vectors: Floats, labels: Ints) -> Ints:
    """K-means that begins with the middles of topics."""
    sizes = np.bincount(labels).astype(np.float64)
    middles = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(middles, labels, vectors)
    return _counted(resumed_k_means(vectors, middles / sizes[:, None]))


def _k_means(points: Floats, number: int, seed: int, weights: Floats | None = None) -> Ints:
    return _counted(seeded_k_means(points, number, seed, weights))


def _counted(labels: Ints) -> Ints:
    """Labels without gaps."""
    return np.asarray(np.unique(labels, return_inverse=True)[1]).ravel()
