"""Durations in words. Imports no room."""

from __future__ import annotations

from itertools import pairwise

__all__ = ["duration", "whole_units"]

_UNITS = (("day", 86400), ("h", 3600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """A duration in at most two units: `340 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `3 days 4 h`."""
    if seconds < 0:
        return "0 ms"
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    for (unit, size), (below, smaller) in pairwise(_UNITS):
        if whole >= size:
            rest = whole % size // smaller
            return _count(whole // size, unit) + (f" {_count(rest, below)}" if rest else "")
    return f"{whole} s"


def whole_units(seconds: float) -> str:
    """A duration rounded down to one unit: `3 min`, `2 days`."""
    for unit, size in _UNITS:
        if seconds >= size:
            return _count(int(seconds // size), unit)
    return "0 s"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}s" if unit == "day" and number != 1 else f"{number} {unit}"
