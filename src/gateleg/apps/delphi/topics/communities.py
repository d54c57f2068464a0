"""Community detection in a graph with the Louvain method.

Nodes move to the community where they increase modularity most; communities then become the nodes of a smaller graph, until nothing moves.
A higher `resolution` yields more and smaller communities. Several runs with different node orders, from fixed seeds, are made and the best
result is kept, so that the same graph always has the same communities.
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

#: The minimum gain of a move, above rounding errors.
_GAIN = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A weighted graph."""

    #: symmetric and sparse; the diagonal has the internal weights of nodes that stand for several
    weights: Any
    #: the sum of each node's weights, including those that `within` removed
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
        """The graph without edges between nodes with different labels, so that communities lie within labels."""
        pairs = self.weights.tocoo()
        same = labels[pairs.row] == labels[pairs.col]
        kept = sparse.csr_matrix((pairs.data[same], (pairs.row[same], pairs.col[same])), shape=self.weights.shape)
        return Graph(kept, self.degrees, self.total)

    def shares(self, labels: Ints) -> Floats:
        """For each node, the share of its weight that leads to each label (labels count from 0); zeros for an isolated node."""
        found = np.asarray((self.weights @ _members(labels)).toarray(), dtype=np.float64)
        return found / np.where(self.degrees > 0, self.degrees, 1.0)[:, None]

    def merged(self, labels: Ints) -> Graph:
        """The graph in which each label (they count from 0) becomes one node."""
        members = _members(labels)
        weights = (members.T @ self.weights @ members).tocsr()
        weights.sort_indices()
        return Graph(weights, np.asarray(np.bincount(labels, weights=self.degrees), dtype=np.float64), self.total)


def communities(graph: Graph, resolution: float, beginnings: int = 4) -> Ints:
    """The community of each node, numbered from 0 in the order of their first nodes."""
    if not len(graph):
        return np.zeros(0, dtype=np.int64)
    tried = [_louvain(graph, resolution, seed) for seed in range(beginnings)]
    return max(tried, key=lambda labels: round(quality(graph, labels, resolution), 10))


def quality(graph: Graph, labels: Ints, resolution: float) -> float:
    """The modularity of the communities."""
    if graph.total <= 0:
        return 0.0
    merged = graph.merged(labels)
    inside = float(merged.weights.diagonal().sum()) / graph.total
    return inside - resolution * float(((merged.degrees / graph.total) ** 2).sum())


def _louvain(graph: Graph, resolution: float, seed: int) -> Ints:
    found = np.arange(len(graph))
    current = graph
    while True:
        order = list(range(len(current)))
        Random(seed).shuffle(order)
        labels = _renumber(_move_nodes(current, resolution, order))
        found = labels[found]
        if int(labels.max()) + 1 == len(current):
            return _renumber(found)
        current = current.merged(labels)


def _move_nodes(graph: Graph, resolution: float, order: list[int]) -> Ints:
    """Move every node to the community where it increases modularity most. A node is revisited when a neighbour has moved away."""
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
    """A sparse indicator matrix: rows are nodes, columns labels."""
    count = int(labels.max()) + 1 if len(labels) else 0
    return sparse.csr_matrix((np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), count))


def _renumber(labels: Ints) -> Ints:
    """The labels, renumbered from 0 in the order of their first nodes."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
