"""Segments texts without spaces into words that are learnt from the texts themselves. Pure.

A run of characters is a word if it is frequent, occurs more often than its parts would meet by chance, and has varying neighbours. This
needs no dictionary, and finds words of the conversation's subject that a dictionary would lack.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 4
_FEWEST = 4
#: The minimum ratio of a word's frequency to that of its parts meeting by chance.
_TOGETHER = 8.0
#: The minimum entropy of the characters before and after a word, in bits.
_FREEDOM = 1.0


def learn_words(runs: Iterable[str]) -> frozenset[str]:
    """Learn words of two to four characters from runs without spaces."""
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
                    # The edge of a run counts as another character.
                    before[piece][run[start - 1] if start else "^"] += 1
                    after[piece][run[start + length] if start + length < len(run) else "$"] += 1
    return frozenset(piece for piece in close if min(_entropy(before[piece]), _entropy(after[piece])) >= _FREEDOM)


def segment(run: str, words: frozenset[str]) -> list[str]:
    """Segment a run into words, greedily from the left with the longest match. Other characters are dropped."""
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
