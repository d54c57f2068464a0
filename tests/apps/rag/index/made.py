"""Chunks for tests: texts with vectors that are near each other where the texts share a topic."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gateleg.apps.rag.index.entries import IndexEntry

DIMENSIONS = 32


def directions(count: int, seed: int = 1) -> NDArray[np.float32]:
    """Vectors of length 1, in clusters."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(max(count // 20, 4), DIMENSIONS))
    found = centres[random.integers(0, len(centres), count)] + 0.5 * random.normal(size=(count, DIMENSIONS))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def entries(vectors: NDArray[np.float32], text: str = "a passage", **metadata: Any) -> list[IndexEntry]:
    return [IndexEntry(ordinal, f"{text} {ordinal}", vector, metadata=metadata) for ordinal, vector in enumerate(vectors)]
