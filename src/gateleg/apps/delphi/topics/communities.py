"""Communities in a graph: sets of nodes that belong together more than their weights alone would make them.

Nodes move to the community that gains most from them, communities then become the nodes of a smaller graph, until nothing moves (the
method of Louvain). `resolution` says how much belonging is asked for: the higher, the more and smaller communities. Several beginnings are
tried, in orders drawn from a fixed seed, and the best result is kept, so that the same graph always gives the same communities.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints

#: A move must gain more than rounding can.
_GAIN = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes and how much they belong together."""

    #: symmetric and sparse; the diagonal is what a node that stands for several has inside
    weights: Any
    #: the sum of each node's weights in the graph that this one is a part of
    degrees: Floats
    total: float

    @classmethod
    def of(cls, weights: Any) -> Graph:
        """The graph of a symmetric sparse matrix."""
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        return cls(weights.tocsr(), degrees, float(degrees.sum()))

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    def within(self, labels: Ints) -> Graph:
        """The same graph without weights between nodes of different labels: its communities lie inside those labels."""
        pairs = self.weights.tocoo()
        same = labels[pairs.row] == labels[pairs.col]
        kept = sparse.csr_matrix((pairs.data[same], (pairs.row[same], pairs.col[same])), shape=self.weights.shape)
        return Graph(kept, self.degrees, self.total)

    def shares(self, labels: Ints) -> Floats:
        """For each node which share of its weights leads to each label, which count from 0; zeros for a node without weights."""
        found = np.asarray((self.weights @ _members(labels)).toarray(), dtype=np.float64)
        return found / np.where(self.degrees > 0, self.degrees, 1.0)[:, None]

    def merged(self, labels: Ints) -> Graph:
        """The graph whose nodes are the labels, which count from 0."""
        members = _members(labels)
        weights = (members.T @ self.weights @ members).tocsr()
        weights.sort_indices()
        return Graph(weights, np.asarray(np.bincount(labels, weights=self.degrees), dtype=np.float64), self.total)


def communities(graph: Graph, resolution: float, beginnings: int = 4) -> Ints:
    """For each node its community, counted from 0 in the order of their first nodes."""
    if not len(graph):
        return np.zeros(0, dtype=np.int64)
    tried = [_levels(graph, resolution, seed) for seed in range(beginnings)]
    return max(tried, key=lambda labels: round(quality(graph, labels, resolution), 10))


def quality(graph: Graph, labels: Ints, resolution: float) -> float:
    """How much more the communities have inside than their weights alone would give them (modularity)."""
    if graph.total <= 0:
        return 0.0
    merged = graph.merged(labels)
    inside = float(merged.weights.diagonal().sum()) / graph.total
    return inside - resolution * float(((merged.degrees / graph.total) ** 2).sum())


def _levels(graph: Graph, resolution: float, seed: int) -> Ints:
    found = np.arange(len(graph))
    current = graph
    while True:
        order = list(range(len(current)))
        Random(seed).shuffle(order)
        labels = _first_seen(_moved(current, resolution, order))
        found = labels[found]
        if int(labels.max()) + 1 == len(current):
            return _first_seen(found)
        current = current.merged(labels)


def _moved(graph: Graph, resolution: float, order: list[int]) -> Ints:
    """Every node in the community that gains most from it. A node is visited again when a neighbour has left."""
    starts, ends, weights = graph.weights.indptr.tolist(), graph.weights.indices.tolist(), graph.weights.data.tolist()
    degrees = graph.degrees.tolist()
    factor = resolution / graph.total if graph.total > 0 else 0.0
    label, volume = list(range(len(graph))), list(degrees)
    waiting, listed = deque(order), [True] * len(graph)
    while waiting:
        node = waiting.popleft()
        listed[node] = False
        old, own = label[node], degrees[node]
        volume[old] -= own
        linked = {old: 0.0}
        for place in range(starts[node], starts[node + 1]):
            if (other := ends[place]) != node:
                linked[label[other]] = linked.get(label[other], 0.0) + weights[place]
        best, most = old, linked[old] - factor * own * volume[old]
        for candidate, weight in linked.items():
            gain = weight - factor * own * volume[candidate]
            if gain > most + _GAIN:
                best, most = candidate, gain
        label[node] = best
        volume[best] += own
        if best != old:
            for place in range(starts[node], starts[node + 1]):
                other = ends[place]
                if label[other] != best and not listed[other]:
                    listed[other] = True
                    waiting.append(other)
    return np.array(label, dtype=np.int64)


def _members(labels: Ints) -> Any:
    """A sparse matrix with a 1 where a node, its row, has a label, its column."""
    count = int(labels.max()) + 1 if len(labels) else 0
    return sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), count))


def _first_seen(labels: Ints) -> Ints:
    """The same communities, counted from 0 in the order of their first nodes."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
