"""UMAP in NumPy: neighbours attract each other, random others repel.

The method is that of McInnes, Healy and Melville (2018). Importing their library compiles code, which takes longer than the whole analysis.
This module lays out a few thousand comments in about a second.
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

#: The number of epochs, and the smaller number with more than this many comments.
_ROUNDS, _ROUNDS_OF_MANY, _MANY = 400, 150, 1_000
#: The number of negative samples for each attracting neighbour.
_REPELLED = 5
#: The maximum length of a step.
_LONGEST_STEP = 4.0
_SPREAD = 1.0
#: Distances are rounded to this number of decimals, so that rounding errors do not decide which is smaller.
_DECIMALS = 9
#: The number of rows that are compared with all others at a time.
_BLOCK = 1_024


def umap_layout(vectors: Floats, initial: Floats, config: MapConfig) -> Floats:
    """The position of each vector in the UMAP layout, starting from the positions in `initial`."""
    indices, distances = _neighbours(vectors, min(config.n_neighbors, len(vectors) - 1), config.metric)
    heads, tails, weights = _fuzzy_edges(indices, _memberships(distances))
    a, b = _curve(config.min_dist)
    random = np.random.default_rng(config.random_state)
    places = np.array(initial, dtype=np.float64)
    rounds = _ROUNDS if len(vectors) <= _MANY else _ROUNDS_OF_MANY
    for number in range(rounds):
        # An edge takes part in a share of the epochs that equals its weight.
        due = np.flatnonzero(np.floor((number + 1) * weights) > np.floor(number * weights))
        step = 1.0 - number / rounds
        _attract(places, heads[due], tails[due], a, b, step)
        _repel(places, heads[due], random.integers(len(places), size=(len(due), _REPELLED)), a, b, step)
    return places


def _neighbours(vectors: Floats, count: int, metric: str) -> tuple[Ints, Floats]:
    """The indices and distances of the nearest neighbours of each vector; on a tie, the earlier comes first."""
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
    """The fuzzy membership strength of each neighbour: 1 for the nearest, decreasing with distance, with the same sum for all vectors."""
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


def _fuzzy_edges(indices: Ints, memberships: Floats) -> tuple[Ints, Ints, Floats]:
    """The heads, tails and weights of the edges, in both directions (fuzzy union), with weights relative to the largest."""
    count, kept = indices.shape
    one_way = sparse.csr_matrix((memberships.ravel(), (np.repeat(np.arange(count), kept), indices.ravel())), shape=(count, count))
    both = (one_way + one_way.T - one_way.multiply(one_way.T)).tocoo()
    order = np.lexsort((both.col, both.row))
    weights = both.data[order]
    return both.row[order].astype(np.int64), both.col[order].astype(np.int64), np.asarray(weights / weights.max())


def _curve(min_dist: float) -> tuple[float, float]:
    """UMAP's parameters a and b: fits the curve that is 1 up to the minimum distance and decays beyond."""
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
    """Move each position by the sum of its moves, limited to the longest step."""
    for axis in range(places.shape[1]):
        sums = np.bincount(rows, weights=moves[:, axis], minlength=len(places))
        places[:, axis] += np.clip(sums, -_LONGEST_STEP, _LONGEST_STEP)
