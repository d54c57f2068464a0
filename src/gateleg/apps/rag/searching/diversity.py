"""Maximal marginal relevance: hits that are good, and not all the same. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def diversify(scores: Sequence[float], vectors: Sequence[NDArray[Any] | None], diversity: float, count: int) -> list[int]:
    """The places of `count` hits in a new order: each next one is good, and unlike those before it.

    `diversity` is the weight of being unlike the others; with 0 the order stays. Hits without a vector are unlike everything.
    """
    if diversity <= 0 or len(scores) < 2:
        return list(range(min(count, len(scores))))
    relevance = np.asarray(scores, dtype=np.float64)
    low, high = relevance.min(), relevance.max()
    relevance = (relevance - low) / (high - low) if high > low else np.ones(len(relevance))
    alike = np.full(len(scores), 0.0)
    left = np.ones(len(scores), dtype=np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(count, len(scores)):
        worth = np.where(left, (1 - diversity) * relevance - diversity * alike, -np.inf)
        best = int(np.argmax(worth))
        chosen.append(best)
        left[best] = False
        own = vectors[best]
        if own is not None:
            alike = np.maximum(alike, [_similarity(own, other) for other in vectors])
    return chosen


def _similarity(one: NDArray[Any], other: NDArray[Any] | None) -> float:
    return float(one @ other) if other is not None and len(one) == len(other) else 0.0
