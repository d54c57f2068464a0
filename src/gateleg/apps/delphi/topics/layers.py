"""Topics in nested layers: layer 0 is the finest, the last the coarsest, and every topic lies within one topic of the next layer.

Comments and their nearest neighbours form a graph, whose communities are the topics. Communities are detected at many resolutions, and the
division that agrees best with all others is chosen, so that topics depend on the comments rather than on a setting. Then comments that fit
the rest of another topic better move there. If k-means with the same number of topics is more coherent, its topics are used instead, and
comments move until the topics are as coherent. Coarser layers merge topics while these reach the coherence of k-means; finer layers divide
them. Every comment with a vector belongs to a topic in every layer; its distance and confidence say how well it fits, and comments that
hardly fit are outliers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.topics.coherence import choose_coherent_topics, join_topics, refine_topics
from gateleg.apps.delphi.topics.communities import Graph, communities
from gateleg.apps.delphi.topics.config import MOST_LAYERS
from gateleg.apps.delphi.topics.neighbours import affinities, distinct, nearest, subtract_mean
from gateleg.apps.delphi.topics.reassignment import reassign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.topics.neighbours import Distinct, Vectors

#: With fewer distinct comments, all form one topic.
_FEWEST_COMMENTS = 6
_RESOLUTIONS = np.geomspace(0.1, 8.0, 17)
#: The number of neighbours of each comment, as a multiple of the square root of the number of comments, and its minimum.
_REACH = 1.3
_FEWEST_NEIGHBOURS = 8
#: The exponent for agreement between divisions, tuned on planted topics: the higher, the less weak agreement counts.
_POWER = 4
#: The minimum and maximum ratio of the numbers of topics in two adjacent layers.
_STEP = (1.7, 4.5)
#: The number of topics at which no coarser layer is made, and the minimum mean size of topics in a finer layer.
_COARSE_ENOUGH = 6
_FINE_ENOUGH = 6.0
#: The numbers of topics that are tried for a coarser layer.
_COARSE_CHOICES = 5
#: A comment is an outlier if less than this share of its neighbourhood lies in its topic, or if its distance exceeds the upper quartile of
#: its topic by this multiple of the interquartile range.
_BELONGING = 1 / 3
_FENCE = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One division into topics, numbered from 0 by size, largest first."""

    #: the topic of each comment; -1 for a comment without a vector
    labels: Ints
    #: the cosine distance of each comment from the centroid of its topic, 0 to 2; NaN without a topic
    distances: Floats
    #: the share of each comment's neighbourhood that lies in its topic, 0 to 1; NaN without a topic
    confidences: Floats
    #: the centroid of each topic, of length 1
    centroids: Floats
    #: the parent of each topic in the next layer; empty in the last layer
    parents: Ints

    @property
    def topics(self) -> int:
        """The number of topics."""
        return len(self.centroids)

    def members(self, topic: int) -> Ints:
        """The rows of a topic's comments."""
        return np.flatnonzero(self.labels == topic)


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """All layers, finest first, and which comments are outliers."""

    layers: tuple[Layer, ...]
    outliers: Flags
    #: the index of the most stable layer, which was found first and is a good default view
    steadiest: int = 0


def find_layers(vectors: Vectors, neighbours: int = 15, most_layers: int = MOST_LAYERS) -> Layers:
    """Divide comments into topics by their vectors. The order of the rows does not matter.

    `neighbours` is the number of nearest neighbours of each comment, fewer in small conversations. Equal vectors have the same topics.
    """
    unique = distinct(vectors)
    count = len(unique.vectors)
    if not count:
        return Layers((), np.zeros(len(unique.places), dtype=np.bool_))
    contrasts = subtract_mean(unique.vectors)
    found = nearest(contrasts, min(neighbours, max(_FEWEST_NEIGHBOURS, round(_REACH * count**0.5))))
    graph = Graph.of(affinities(found))
    divisions, steadiest = _divisions(graph, contrasts, unique.vectors, most_layers)
    sizes = np.bincount(unique.places[unique.places >= 0], minlength=count)
    ordered = [_by_size(labels, sizes) for labels in divisions]
    layers = [_layer(graph, unique, ordered, number) for number in range(len(ordered))]
    return Layers(tuple(layers), _outliers(layers[steadiest]), steadiest)


def _divisions(graph: Graph, vectors: Floats, meanings: Floats, most_layers: int) -> tuple[list[Ints], int]:
    """The labels of all layers, finest first, and the index of the most stable one. `vectors` are the centred `meanings`."""
    whole = np.zeros(len(graph), dtype=np.int64)
    if len(graph) < _FEWEST_COMMENTS:
        return [whole], 0
    smallest = max(3, min(5, len(graph) // 15))
    beginnings = 2 if len(graph) <= 3_000 else 1

    def divide(parents: Ints, resolution: float) -> Ints:
        return _dissolve_small(communities(graph.within(parents), resolution, beginnings), parents, vectors, smallest)

    tried = [divide(whole, resolution) for resolution in _RESOLUTIONS]
    support = _support(tried)
    usable = [place for place, labels in enumerate(tried) if _count(labels) > 1]
    if not usable:
        return [whole], 0
    anchor = max(usable, key=lambda place: (round(support[place], 6), -place))
    steady = _dissolve_small(reassign(graph, tried[anchor], vectors), whole, vectors, smallest)
    coherent = choose_coherent_topics(meanings, steady, lambda labels: _dissolve_small(labels, whole, vectors, smallest))
    layers = [refine_topics(meanings, coherent, smallest)]
    while len(layers) < most_layers and (coarser := _coarser(layers[-1], vectors, meanings)) is not None:
        layers.append(coarser)
    joined = len(layers)
    while len(layers) < most_layers and (finer := _finer(layers[0], len(graph), divide)) is not None:
        layers.insert(0, refine_topics(meanings, finer, smallest, layers[0]))
    return layers, len(layers) - joined


def _coarser(labels: Ints, vectors: Floats, meanings: Floats) -> Ints | None:
    """The topics merged into fewer; None if they are few already, or would become incoherent."""
    count = _count(labels)
    if count <= _COARSE_ENOUGH:
        return None
    fewest, most = max(2, math.ceil(count / _STEP[1])), math.floor(count / _STEP[0])
    numbers = np.unique(np.linspace(fewest, most, _COARSE_CHOICES).round().astype(int)).tolist()
    return join_topics(meanings, _centroids(vectors, labels, count), labels, numbers)


def _finer(labels: Ints, comments: int, divide: Callable[[Ints, float], Ints]) -> Ints | None:
    """The topics divided into more; None if they would become too small."""
    count = _count(labels)
    most = min(count * _STEP[1], comments / _FINE_ENOUGH)
    if count * _STEP[0] > most:
        return None
    return _steadiest([divide(labels, resolution) for resolution in _RESOLUTIONS[6:]], count * _STEP[0], most)


def _steadiest(tried: Sequence[Ints], fewest: float, most: float) -> Ints | None:
    """Of the divisions with `fewest` to `most` topics, the one that agrees best with all others."""
    support = _support(tried)
    usable = [place for place, labels in enumerate(tried) if fewest <= _count(labels) <= most]
    return tried[max(usable, key=lambda place: (round(support[place], 6), -place))] if usable else None


def _support(tried: Sequence[Ints]) -> list[float]:
    """For each division, its agreement with those at all resolutions. Strong agreement with a few outweighs weak agreement with many."""
    found = np.ones((len(tried), len(tried)))
    for one, other in combinations(range(len(tried)), 2):
        found[one, other] = found[other, one] = max(0.0, agreement(tried[one], tried[other]))
    return [float(row) for row in (found**_POWER).sum(axis=1)]


def _count(labels: Ints) -> int:
    return int(labels.max()) + 1


def _dissolve_small(labels: Ints, parents: Ints, vectors: Floats, smallest: int) -> Ints:
    """Dissolve communities that are too small: their comments join the nearest large one with the same parent."""
    sizes = np.bincount(labels)
    parent_of = np.zeros(len(sizes), dtype=np.int64)
    parent_of[labels] = parents
    large = sizes >= smallest
    # A parent stays whole if all its pieces are too small.
    for parent in np.unique(parents):
        pieces = np.flatnonzero(parent_of == parent)
        if not large[pieces].any():
            labels = np.where(np.isin(labels, pieces), pieces[0], labels)
            large[pieces[0]] = True
    lost = np.flatnonzero(~large[labels])
    if len(lost):
        centroids = _centroids(vectors, labels, len(sizes))
        nearness = np.round(vectors[lost] @ centroids.T, 6)
        nearness[(parent_of[None, :] != parents[lost, None]) | ~large[None, :]] = -np.inf
        labels = labels.copy()
        labels[lost] = nearness.argmax(axis=1)
    return np.asarray(np.unique(labels, return_inverse=True)[1]).ravel()


def _centroids(vectors: Floats, labels: Ints, count: int) -> Floats:
    sums = np.zeros((count, vectors.shape[1]))
    np.add.at(sums, labels, vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths == 0, 1.0, lengths)


def _by_size(labels: Ints, sizes: Ints) -> Ints:
    """The topics, renumbered by size; on a tie, by their first comment."""
    totals = np.bincount(labels, weights=sizes)
    _, first = np.unique(labels, return_index=True)
    rank = np.empty(len(totals), dtype=np.int64)
    rank[np.lexsort((first, -totals))] = np.arange(len(totals))
    return rank[labels]


def _confidences(graph: Graph, labels: Ints) -> Floats:
    inside = graph.shares(labels)[np.arange(len(labels)), labels]
    return np.where(graph.degrees > 0, inside, 1.0)


def _layer(graph: Graph, unique: Distinct, divisions: Sequence[Ints], number: int) -> Layer:
    labels = divisions[number]
    centroids = _centroids(unique.vectors, labels, _count(labels))
    distances = 1.0 - np.einsum("ij,ij->i", unique.vectors, centroids[labels])
    parents = np.zeros(0, dtype=np.int64)
    if number + 1 < len(divisions):
        parents = np.zeros(_count(labels), dtype=np.int64)
        parents[labels] = divisions[number + 1]
    return Layer(
        labels=unique.expand(labels, -1),
        distances=unique.expand(np.maximum(distances, 0.0), np.nan),
        confidences=unique.expand(_confidences(graph, labels), np.nan),
        centroids=centroids,
        parents=parents,
    )


def _outliers(layer: Layer) -> Flags:
    found = np.asarray(layer.confidences < _BELONGING)
    for topic in range(layer.topics):
        rows = layer.members(topic)
        low, high = np.quantile(layer.distances[rows], (0.25, 0.75))
        found[rows] |= layer.distances[rows] > high + _FENCE * (high - low) + 1e-9
    return found
