"""Metrics of a ranking: recall, precision, MRR, nDCG and hit rate. Relevance is binary, and a document counts once, at its first passage.
Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Measures:
    """The metrics of one ranking, or their means over several, each from 0 to 1."""

    recall: float = 0.0
    precision: float = 0.0
    #: 1 divided by the rank of the first relevant document
    reciprocal_rank: float = 0.0
    ndcg: float = 0.0
    #: 1 if any relevant document was found
    hit: float = 0.0


def measure(ranking: Sequence[str], relevant: Collection[str], k: int) -> Measures:
    """The metrics of the first `k` distinct documents of a ranking."""
    first = list(dict.fromkeys(ranking))[:k]
    wanted = set(relevant)
    if not wanted:
        return Measures()
    found = [place for place, document in enumerate(first, 1) if document in wanted]
    gain = sum(1 / math.log2(place + 1) for place in found)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(wanted)) + 1))
    return Measures(
        recall=len(found) / len(wanted),
        precision=len(found) / k,
        reciprocal_rank=1 / found[0] if found else 0.0,
        ndcg=gain / best,
        hit=1.0 if found else 0.0,
    )


def mean(measures: Iterable[Measures]) -> Measures:
    """The means of the metrics; zeros for an empty list."""
    rows = list(measures)
    if not rows:
        return Measures()
    return Measures(
        recall=_mean([one.recall for one in rows]),
        precision=_mean([one.precision for one in rows]),
        reciprocal_rank=_mean([one.reciprocal_rank for one in rows]),
        ndcg=_mean([one.ndcg for one in rows]),
        hit=_mean([one.hit for one in rows]),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configurations on the same questions, compared by nDCG: how often the second was better, equal or worse."""

    better: int
    equal: int
    worse: int
    difference: float
    #: the p-value of a sign test on the questions that differ
    chance: float


def compare(first: Sequence[Measures], second: Sequence[Measures]) -> Comparison:
    """Compare two configurations question by question."""
    differences = [after.ndcg - before.ndcg for before, after in zip(first, second, strict=True)]
    better, worse = sum(one > 1e-9 for one in differences), sum(one < -1e-9 for one in differences)
    return Comparison(better, len(differences) - better - worse, worse, _mean(differences), _sign_test(better, worse))


def _sign_test(better: int, worse: int) -> float:
    """The two-sided p-value of a sign test."""
    count, low = better + worse, min(better, worse)
    if count == 0:
        return 1.0
    return min(1.0, float(2 * sum(math.comb(count, one) for one in range(low + 1)) / 2**count))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
