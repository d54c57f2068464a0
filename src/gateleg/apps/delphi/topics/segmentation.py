"""Words of texts that put no spaces between them, learnt from the texts themselves.

A run of signs is a word when it comes up often, more often than its parts would meet by chance, and when different signs stand beside it.
No dictionary is needed, and the words of the conversation's own subject are found that a dictionary would lack. Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 4
_FEWEST = 4
#: How many times as often as by chance the parts of a word must meet.
_TOGETHER = 8.0
#: How much the signs beside a word must vary, in bits.
_FREEDOM = 1.0


def learn_words(runs: Iterable[str]) -> frozenset[str]:
    """The words of two to four signs in runs of signs without spaces."""
    listed = list(runs)
    counts: Counter[str] = Counter()
    for run in listed:
        for length in range(1, _LONGEST + 1):
            counts.update(run[start : start + length] for start in range(len(run) - length + 1))
    total = sum(len(run) for run in listed)
    close = {
        piece for piece, times in counts.items() if len(piece) > 1 and times >= _FEWEST and _cohesion(piece, counts, total) >= _TOGETHER
    }
    before: dict[str, Counter[str]] = {piece: Counter() for piece in close}
    after: dict[str, Counter[str]] = {piece: Counter() for piece in close}
    for run in listed:
        for length in range(2, _LONGEST + 1):
            for start in range(len(run) - length + 1):
                piece = run[start : start + length]
                if piece in close:
                    # The edge of a run counts as another sign.
                    before[piece][run[start - 1] if start else "^"] += 1
                    after[piece][run[start + length] if start + length < len(run) else "$"] += 1
    return frozenset(piece for piece in close if min(_entropy(before[piece]), _entropy(after[piece])) >= _FREEDOM)


def segment(run: str, words: frozenset[str]) -> list[str]:
    """The words in a run, the longest first from its beginning; signs that belong to none are left out."""
    found, start = [], 0
    while start < len(run):
        word = next((run[start : start + length] for length in range(_LONGEST, 1, -1) if run[start : start + length] in words), "")
        if word:
            found.append(word)
        start += len(word) or 1
    return found


def _cohesion(piece: str, counts: Counter[str], total: int) -> float:
    return min(counts[piece] * total / (counts[piece[:cut]] * counts[piece[cut:]]) for cut in range(1, len(piece)))


def _entropy(counts: Counter[str]) -> float:
    total = sum(counts.values())
    return -sum(times / total * math.log2(times / total) for times in counts.values()) if total else 0.0
