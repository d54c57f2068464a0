"""Maximal marginal relevance: relevant hits that differ from each other. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def diversify(scores: Sequence[float], vectors: Sequence[NDArray[Any] | None], diversity: float, count: int) -> list[int]:
    """Choose `count` hits one by one, each relevant and unlike those before it, and return their positions in this order.

    `diversity` is the weight of dissimilarity; 0 keeps the order. A hit without a vector counts as unlike all others.
    """
    if diversity <= 0 or len(scores) < 2:
        return list(range(min(count, len(scores))))
    relevance = np.asarray(scores, dtype=np.float64)
    low, high = relevance.min(), relevance.max()
    relevance = (relevance - low) / (high - low) if high > low else np.ones(len(relevance))
    redundancy = np.full(len(scores), 0.0)
    remaining = np.ones(len(scores), dtype=np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(count, len(scores)):
        value = np.where(remaining, (1 - diversity) * relevance - diversity * redundancy, -np.inf)
        best = int(np.argmax(value))
        chosen.append(best)
        remaining[best] = False
        vector = vectors[best]
        if vector is not None:
            redundancy = np.maximum(redundancy, [_similarity(vector, other) for other in vectors])
    return chosen


def _similarity(one: NDArray[Any], other: NDArray[Any] | None) -> float:
    return float(one @ other) if other is not None and len(one) == len(other) else 0.0
