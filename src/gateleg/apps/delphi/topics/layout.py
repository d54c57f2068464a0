"""The layout of UMAP, in NumPy: neighbours attract each other, drawn others repel.

The method is that of McInnes, Healy and Melville (2018). Their library compiles itself whenever it is loaded, which takes longer than the
whole analysis; a few hundred to a few thousand comments are laid out here in about a second, without compiling anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]
from scipy.optimize import curve_fit  # type: ignore[import-untyped]
from scipy.spatial.distance import cdist  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.topics.config import MapConfig

#: How often each pair of neighbours is moved at most: fewer times where there are many.
_ROUNDS, _ROUNDS_OF_MANY, _MANY = 400, 150, 1_000
#: Others that a comment is repelled by for each neighbour that attracts it.
_REPELLED = 5
#: No step is longer.
_LONGEST_STEP = 4.0
_SPREAD = 1.0
#: Distances are rounded to this many decimals: what lies below is rounding, and must not decide who is nearer.
_DECIMALS = 9
#: Rows that are compared with all others at a time.
_BLOCK = 1_024


def lay_out(vectors: Floats, beginning: Floats, config: MapConfig) -> Floats:
    """A place for each vector, moved from where it begins until neighbours by the config's metric lie close together."""
    indices, distances = _neighbours(vectors, min(config.n_neighbors, len(vectors) - 1), config.metric)
    heads, tails, weights = _pairs(indices, _memberships(distances))
    a, b = _curve(config.min_dist)
    random = np.random.default_rng(config.random_state)
    places = np.array(beginning, dtype=np.float64)
    rounds = _ROUNDS if len(vectors) <= _MANY else _ROUNDS_OF_MANY
    for number in range(rounds):
        # A pair of neighbours takes part as often as it is strong.
        due = np.flatnonzero(np.floor((number + 1) * weights) > np.floor(number * weights))
        step = 1.0 - number / rounds
        _attract(places, heads[due], tails[due], a, b, step)
        _repel(places, heads[due], random.integers(len(places), size=(len(due), _REPELLED)), a, b, step)
    return places


def _neighbours(vectors: Floats, count: int, metric: str) -> tuple[Ints, Floats]:
    """The nearest others of each vector and how far they are; of equally near ones the earlier comes first."""
    indices, distances = np.zeros((len(vectors), count), dtype=np.int64), np.zeros((len(vectors), count))
    for start in range(0, len(vectors), _BLOCK):
        block = np.round(
            cdist(vectors[start : start + _BLOCK], vectors, metric="cityblock" if metric == "manhattan" else metric), _DECIMALS
        )
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        order = np.argsort(block, axis=1, kind="stable")[:, :count]
        indices[start : start + _BLOCK] = order
        distances[start : start + _BLOCK] = np.take_along_axis(block, order, axis=1)
    return indices, distances


def _memberships(distances: Floats) -> Floats:
    """How much each neighbour belongs to a vector: 1 for the nearest, less with distance, so that all vectors have as much in sum."""
    beyond = np.maximum(distances - distances[:, :1], 0.0)
    wanted = np.log2(max(distances.shape[1], 2))
    low, high = np.zeros(len(distances)), np.full(len(distances), np.inf)
    width = np.ones(len(distances))
    for _ in range(64):
        too_much = np.exp(-beyond / width[:, None]).sum(axis=1) > wanted
        high, low = np.where(too_much, width, high), np.where(too_much, low, width)
        width = np.where(np.isinf(high), width * 2, (low + high) / 2)
    least = 1e-3 * np.maximum(distances.mean(axis=1), 1e-9)
    return np.asarray(np.exp(-beyond / np.clip(width, least, 1e6)[:, None]))


def _pairs(indices: Ints, memberships: Floats) -> tuple[Ints, Ints, Floats]:
    """Pairs of neighbours in both directions and how strong they are beside the strongest: either choosing the other is enough."""
    count, kept = indices.shape
    one_way = sparse.csr_matrix((memberships.ravel(), (np.repeat(np.arange(count), kept), indices.ravel())), shape=(count, count))
    both = (one_way + one_way.T - one_way.multiply(one_way.T)).tocoo()
    order = np.lexsort((both.col, both.row))
    weights = both.data[order]
    return both.row[order].astype(np.int64), both.col[order].astype(np.int64), np.asarray(weights / weights.max())


def _curve(min_dist: float) -> tuple[float, float]:
    """The two numbers of the curve that is 1 up to the least distance and falls beyond."""
    x = np.linspace(0, 3 * _SPREAD, 300)
    wanted = np.where(x < min_dist, 1.0, np.exp(-(x - min_dist) / _SPREAD))
    (a, b), _ = curve_fit(lambda x, a, b: 1.0 / (1.0 + a * x ** (2 * b)), x, wanted)
    return float(a), float(b)


def _attract(places: Floats, heads: Ints, tails: Ints, a: float, b: float, step: float) -> None:
    apart = places[heads] - places[tails]
    squares = (apart**2).sum(axis=1)
    safe = np.maximum(squares, 1e-12)
    pull = np.where(squares > 0, -2.0 * a * b * safe ** (b - 1.0) / (1.0 + a * safe**b), 0.0)
    moves = step * np.clip(pull[:, None] * apart, -_LONGEST_STEP, _LONGEST_STEP)
    _move(places, heads, moves)
    _move(places, tails, -moves)


def _repel(places: Floats, heads: Ints, others: Ints, a: float, b: float, step: float) -> None:
    who, whom = np.repeat(heads, others.shape[1]), others.ravel()
    apart = places[who] - places[whom]
    squares = (apart**2).sum(axis=1)
    push = 2.0 * b / ((0.001 + squares) * (1.0 + a * squares**b))
    _move(places, who, step * np.clip(np.where(squares[:, None] > 0, push[:, None] * apart, 0.0), -_LONGEST_STEP, _LONGEST_STEP))


def _move(places: Floats, rows: Ints, moves: Floats) -> None:
    """Move places by the sum of all their moves, together no further than one may go."""
    for axis in range(places.shape[1]):
        sums = np.bincount(rows, weights=moves[:, axis], minlength=len(places))
        places[:, axis] += np.clip(sums, -_LONGEST_STEP, _LONGEST_STEP)
