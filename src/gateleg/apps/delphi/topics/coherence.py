"""Measures and improves the coherence of topics, and merges topics while they stay coherent.

Coherence is the mean cosine of comments within topics minus that of comments in different topics. It grows with the number of topics, so a
division is compared with a baseline: the most coherent of ten runs of k-means with the same number of topics. If a division is below its
baseline, comments move to the topic where they improve coherence most, one at a time, until it exceeds the baseline by a twentieth, because
other starts of k-means may do better. They do not move further: maximal coherence means one large topic and tiny remainders.
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

_STARTS = 10
#: The starts of k-means when numbers of topics are compared: with few, the number would win for which k-means was unlucky.
_MORE_STARTS = 40
#: The coherence that moves aim for, as a multiple of the baseline.
_TARGET = 1.05
#: With more comments, k-means has only one start.
_MANY = 2_000


def coherence(vectors: Floats, labels: Ints) -> float:
    """The mean cosine within topics minus that between topics. `vectors` have length 1, labels count from 0."""
    sizes = np.bincount(labels).astype(np.float64)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, labels, vectors)
    within = float((sums**2).sum()) - len(vectors)
    between = float((sums.sum(axis=0) ** 2).sum()) - len(vectors) - within
    pairs = float((sizes * (sizes - 1)).sum())
    others = len(vectors) * (len(vectors) - 1.0) - pairs
    return within / max(pairs, 1.0) - between / max(others, 1.0)


def join_topics(vectors: Floats, middles: Floats, labels: Ints, numbers: Iterable[int]) -> Ints | None:
    """Merge topics, whose centroids are `middles`, to the number of topics that exceeds its k-means baseline most.

    None if no number reaches its baseline: coarser topics would mix unrelated comments.
    """
    sizes = np.bincount(labels).astype(np.float64)
    best: tuple[float, Ints] | None = None
    with one_blas_thread():
        for number in numbers:
            divisions = [_k_means(middles, number, seed, sizes)[labels] for seed in range(_STARTS)]
            joined = max(divisions, key=lambda division: round(coherence(vectors, division), 9))
            bar = _baseline(vectors, number, _MORE_STARTS)
            joined = _move_blocks(_Blocks.of(vectors, labels), _first_by_label(joined, labels), _TARGET * bar, 1)[labels]
            gain = round(coherence(vectors, joined) - bar, 9)
            if gain >= 0 and (best is None or gain > best[0]):
                best = gain, joined
    return None if best is None else best[1]


def choose_coherent_topics(vectors: Floats, labels: Ints, tidy: Callable[[Ints], Ints]) -> Ints:
    """The topics, if they reach their k-means baseline; else the topics of k-means, started from them or at random, that do best relative
    to their baseline after `tidy` has dissolved those that are too small."""
    count = int(labels.max()) + 1
    if count < 2:
        return labels
    with one_blas_thread():
        runs = _runs(vectors, count)
        bars = {count: max(coherence(vectors, run) for run in runs)}
        best, most = labels, round(coherence(vectors, labels) - bars[count], 9)
        others = [_k_means_from(vectors, labels), *runs] if most < 0 else []
        for other in map(tidy, others):
            number = int(other.max()) + 1
            if number not in bars:
                bars[number] = _baseline(vectors, number)
            gain = round(coherence(vectors, other) - bars[number], 9)
            if number > 1 and gain > most:
                best, most = other, gain
    return best


def refine_topics(vectors: Floats, labels: Ints, smallest: int, parents: Ints | None = None) -> Ints:
    """Move comments between topics if these are below their k-means baseline, until the target is reached or no move helps.

    Topics keep at least `smallest` comments. With `parents`, the parent topics of the comments, comments stay within them.
    """
    count = int(labels.max()) + 1
    if count < 2 or len(vectors) > _MANY:
        return labels
    with one_blas_thread():
        bar = _baseline(vectors, count)
    if round(coherence(vectors, labels) - bar, 9) >= 0:
        return labels
    return _move_blocks(_Blocks.of(vectors, np.arange(len(vectors))), labels, _TARGET * bar, smallest, parents)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Sets of comments that move together."""

    #: the sums of their vectors
    sums: Floats
    sizes: Floats
    comments: int

    @classmethod
    def of(cls, vectors: Floats, blocks: Ints) -> _Blocks:
        sizes = np.bincount(blocks).astype(np.float64)
        sums = np.zeros((len(sizes), vectors.shape[1]))
        np.add.at(sums, blocks, vectors)
        return cls(sums, sizes, len(vectors))


def _move_blocks(blocks: _Blocks, labels: Ints, aim: float, smallest: int, parents: Ints | None = None) -> Ints:
    """Move blocks one at a time, always the move that improves coherence most, until the coherence `aim` is reached."""
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

    # At most as many moves as there are blocks, to rule out cycles.
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


def _first_by_label(values: Ints, labels: Ints) -> Ints:
    """For each label, the value of its first row."""
    return np.asarray(values[np.unique(labels, return_index=True)[1]])


def _runs(vectors: Floats, number: int, starts: int = _STARTS) -> list[Ints]:
    return [_k_means(vectors, number, seed) for seed in range(starts if len(vectors) <= _MANY else 1)]


def _baseline(vectors: Floats, number: int, starts: int = _STARTS) -> float:
    """The best coherence that k-means reaches with this number of topics."""
    return max(coherence(vectors, run) for run in _runs(vectors, number, starts))


def _k_means_from(vectors: Floats, labels: Ints) -> Ints:
    """K-means that starts from the centroids of topics."""
    sizes = np.bincount(labels).astype(np.float64)
    middles = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(middles, labels, vectors)
    return _renumber(resumed_k_means(vectors, middles / sizes[:, None]))


def _k_means(points: Floats, number: int, seed: int, weights: Floats | None = None) -> Ints:
    return _renumber(seeded_k_means(points, number, seed, weights))


def _renumber(labels: Ints) -> Ints:
    """The labels, renumbered without gaps."""
    return np.asarray(np.unique(labels, return_inverse=True)[1]).ravel()
