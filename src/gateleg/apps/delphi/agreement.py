"""The adjusted Rand index of two clusterings."""

import numpy as np

from gateleg.apps.delphi.conversations.votes import Ints


def agreement(one: Ints, other: Ints) -> float:
    """The adjusted Rand index of two clusterings of the same items: 1 when they are equal, around 0 by chance."""
    if len(one) < 2:
        return 1.0
    _, a = np.unique(one, return_inverse=True)
    _, b = np.unique(other, return_inverse=True)
    width = int(b.max()) + 1
    both, first, second = (_pairs(np.bincount(cells)) for cells in (a.ravel() * width + b.ravel(), a.ravel(), b.ravel()))
    expected = first * second / _pairs(np.array([len(one)]))
    most = (first + second) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def _pairs(counts: Ints) -> float:
    return float((counts * (counts - 1) / 2.0).sum())
