"""Topics in layers: layer 0 is the finest, the last the coarsest, and every topic lies wholly inside one topic of the next layer.

Comments are joined with their nearest neighbours to a graph, whose communities are the topics. Communities are looked for at many
resolutions, and the division is chosen that those of most resolutions agree with: such topics are in the comments, not in the settings.
In it, comments that belong to the rest of another topic more than to the rest of their own move there. If k-means with as many topics is
more coherent, its topics take their place, and comments move until the topics are as coherent. Coarser layers join topics as long as they
stay as coherent as k-means would make them, finer layers divide them, so layers are nested by the way they are made. Every comment that
says something belongs to a topic in every layer; how surely is told by its distance and confidence, and those that hardly
belong are marked as outliers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.topics.belonging import settled
from gateleg.apps.delphi.topics.coherence import coherent_topics, joined_topics, refined_topics
from gateleg.apps.delphi.topics.communities import Graph, communities
from gateleg.apps.delphi.topics.config import MOST_LAYERS
from gateleg.apps.delphi.topics.neighbours import affinities, centred, distinct, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.delphi.conversations.votes import Flags, Floats, Ints
    from gateleg.apps.delphi.topics.neighbours import Distinct, Vectors

#: Below this many different comments all make one topic.
_FEWEST_COMMENTS = 6
_RESOLUTIONS = np.geomspace(0.1, 8.0, 17)
#: Each comment is compared with so many times the square root of the number of comments, and with no fewer than eight.
_REACH = 1.3
_FEWEST_NEIGHBOURS = 8
#: Chosen among several on planted topics: the higher, the more a division must agree with others to be supported by them.
_POWER = 4
#: The next layer has at least and at most so many times as many topics.
_STEP = (1.7, 4.5)
#: Layers end where topics would be fewer on the coarse side, and smaller on average on the fine side.
_COARSE_ENOUGH = 6
_FINE_ENOUGH = 6.0
#: Numbers of topics that are tried for a coarser layer.
_COARSE_CHOICES = 5
#: A comment is an outlier when less of its neighbourhood lies in its own topic, or when it lies further out than the upper quartile of its
#: topic by so many times the distance between the quartiles.
_BELONGING = 1 / 3
_FENCE = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One division into topics, numbered from 0 by size, largest first."""

    #: for each comment its topic; -1 if it says nothing
    labels: Ints
    #: from each comment to the middle of its topic, 0 to 2: 1 less the cosine; NaN without a topic
    distances: Floats
    #: which share of each comment's neighbourhood lies in its topic, 0 to 1; NaN without a topic
    confidences: Floats
    #: the middle of each topic, of length 1
    centroids: Floats
    #: for each topic the topic of the next layer that holds it; empty in the last layer
    parents: Ints

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return len(self.centroids)

    def members(self, topic: int) -> Ints:
        """The rows of a topic's comments."""
        return np.flatnonzero(self.labels == topic)


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """All layers, finest first, and which comments hardly belong to their topics."""

    layers: tuple[Layer, ...]
    outliers: Flags
    #: which layer was found first: the one that most resolutions agree with, and a good one to begin reading with
    steadiest: int = 0


def find_layers(vectors: Vectors, neighbours: int = 15, most_layers: int = MOST_LAYERS) -> Layers:
    """Divide comments into topics by their vectors. The order of the rows makes no difference.

    `neighbours` is how many nearest others each comment is compared with, fewer in small conversations. Equal vectors share their topics.
    """
    unique = distinct(vectors)
    count = len(unique.vectors)
    if not count:
        return Layers((), np.zeros(len(unique.places), dtype=np.bool_))
    contrasts = centred(unique.vectors)
    found = nearest(contrasts, min(neighbours, max(_FEWEST_NEIGHBOURS, round(_REACH * count**0.5))))
    graph = Graph.of(affinities(found))
    divisions, steadiest = _divisions(graph, contrasts, unique.vectors, most_layers)
    sizes = np.bincount(unique.places[unique.places >= 0], minlength=count)
    ordered = [_by_size(labels, sizes) for labels in divisions]
    layers = [_layer(graph, unique, ordered, number) for number in range(len(ordered))]
    return Layers(tuple(layers), _outliers(layers[steadiest]), steadiest)


def _divisions(graph: Graph, vectors: Floats, meanings: Floats, most_layers: int) -> tuple[list[Ints], int]:
    """The labels of all layers, finest first, and which is the steadiest. `vectors` are contrasts, `meanings` what they come from."""
    whole = np.zeros(len(graph), dtype=np.int64)
    if len(graph) < _FEWEST_COMMENTS:
        return [whole], 0
    smallest = max(3, min(5, len(graph) // 15))
    beginnings = 2 if len(graph) <= 3_000 else 1

    def divided(parents: Ints, resolution: float) -> Ints:
        return _dissolved(communities(graph.within(parents), resolution, beginnings), parents, vectors, smallest)

    tried = [divided(whole, resolution) for resolution in _RESOLUTIONS]
    support = _support(tried)
    usable = [place for place, labels in enumerate(tried) if _count(labels) > 1]
    if not usable:
        return [whole], 0
    anchor = max(usable, key=lambda place: (round(support[place], 6), -place))
    steady = _dissolved(settled(graph, tried[anchor], vectors), whole, vectors, smallest)
    coherent = coherent_topics(meanings, steady, lambda labels: _dissolved(labels, whole, vectors, smallest))
    layers = [refined_topics(meanings, coherent, smallest)]
    while len(layers) < most_layers and (coarser := _coarser(layers[-1], vectors, meanings)) is not None:
        layers.append(coarser)
    joined = len(layers)
    while len(layers) < most_layers and (finer := _finer(layers[0], len(graph), divided)) is not None:
        layers.insert(0, refined_topics(meanings, finer, smallest, layers[0]))
    return layers, len(layers) - joined


def _coarser(labels: Ints, vectors: Floats, meanings: Floats) -> Ints | None:
    """The topics joined to fewer, or None when they are few, or would mix what does not belong together."""
    count = _count(labels)
    if count <= _COARSE_ENOUGH:
        return None
    fewest, most = max(2, math.ceil(count / _STEP[1])), math.floor(count / _STEP[0])
    numbers = np.unique(np.linspace(fewest, most, _COARSE_CHOICES).round().astype(int)).tolist()
    return joined_topics(meanings, _centroids(vectors, labels, count), labels, numbers)


def _finer(labels: Ints, comments: int, divided: Callable[[Ints, float], Ints]) -> Ints | None:
    """The topics divided into more, or None when they would be too small."""
    count = _count(labels)
    most = min(count * _STEP[1], comments / _FINE_ENOUGH)
    if count * _STEP[0] > most:
        return None
    return _steadiest([divided(labels, resolution) for resolution in _RESOLUTIONS[6:]], count * _STEP[0], most)


def _steadiest(tried: Sequence[Ints], fewest: float, most: float) -> Ints | None:
    """Of the divisions with a wanted number of topics the one that most others agree with."""
    support = _support(tried)
    usable = [place for place, labels in enumerate(tried) if fewest <= _count(labels) <= most]
    return tried[max(usable, key=lambda place: (round(support[place], 6), -place))] if usable else None


def _support(tried: Sequence[Ints]) -> list[float]:
    """For each division how far those of all resolutions agree with it; few that nearly agree count more than many that hardly do."""
    found = np.ones((len(tried), len(tried)))
    for one, other in combinations(range(len(tried)), 2):
        found[one, other] = found[other, one] = max(0.0, agreement(tried[one], tried[other]))
    return [float(row) for row in (found**_POWER).sum(axis=1)]


def _count(labels: Ints) -> int:
    return int(labels.max()) + 1


def _dissolved(labels: Ints, parents: Ints, vectors: Floats, smallest: int) -> Ints:
    """The same communities without those that are too small: their comments go to the nearest large one of the same parent."""
    sizes = np.bincount(labels)
    parent_of = np.zeros(len(sizes), dtype=np.int64)
    parent_of[labels] = parents
    large = sizes >= smallest
    # A parent that falls into small pieces only stays whole.
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
    """The same topics, numbered by how many comments they have; of equal ones the one that comes first."""
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
        labels=unique.spread(labels, -1),
        distances=unique.spread(np.maximum(distances, 0.0), np.nan),
        confidences=unique.spread(_confidences(graph, labels), np.nan),
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
