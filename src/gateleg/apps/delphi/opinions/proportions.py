"""Estimates, tests and intervals of proportions. All functions take arrays or numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats

Counts = npt.NDArray[Any] | float | int

#: One-sided 90 % quantile of the normal distribution.
Z90 = 1.2816


def estimate(successes: Counts, trials: Counts) -> Floats:
    """The proportion with one success and one failure added; one half without votes."""
    return np.asarray((np.asarray(successes) + 1.0) / (np.asarray(trials) + 2.0))


def proportion_test(successes: Counts, trials: Counts) -> Floats:
    """How far a proportion is above one half, in standard deviations (a z-score)."""
    n = np.asarray(trials) + 1.0
    return np.asarray(2.0 * np.sqrt(n) * ((np.asarray(successes) + 1.0) / n - 0.5))


def two_proportion_test(successes: Counts, other_successes: Counts, trials: Counts, other_trials: Counts) -> Floats:
    """How far one proportion is above another, in standard deviations (a z-score); 0 if both are 1."""
    s1, s2 = np.asarray(successes) + 1.0, np.asarray(other_successes) + 1.0
    n1, n2 = np.asarray(trials) + 1.0, np.asarray(other_trials) + 1.0
    pooled = (s1 + s2) / (n1 + n2)
    spread = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n1 + 1.0 / n2))
    unanimous = pooled == 1.0
    return np.where(unanimous, 0.0, (s1 / n1 - s2 / n2) / np.where(unanimous, 1.0, spread))


def wilson_interval(successes: Counts, trials: Counts, z: float = 1.96) -> tuple[Floats, Floats]:
    """Wilson's score interval, by default at 95 %; from 0 to 1 without votes."""
    s, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    safe = np.maximum(n, 1.0)
    p = s / safe
    middle = p + z * z / (2 * safe)
    half = z * np.sqrt(p * (1 - p) / safe + z * z / (4 * safe * safe))
    whole = 1 + z * z / safe
    low, high = (middle - half) / whole, (middle + half) / whole
    return np.where(n == 0, 0.0, np.clip(low, 0.0, 1.0)), np.where(n == 0, 1.0, np.clip(high, 0.0, 1.0))
