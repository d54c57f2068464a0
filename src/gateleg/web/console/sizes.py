"""Sizes and counts in words. Pure."""

from __future__ import annotations


def size_text(size: int) -> str:
    """A size for people: `512 bytes`, `3.4 kB`, `12 MB`."""
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    value = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    raise AssertionError("unreachable: the last unit has no limit")


def count_text(count: float) -> str:
    """A count that fits a tile: `950`, `12.4 k`, `3.1 M`."""
    for limit, size, unit in ((10_000, 1, ""), (1_000_000, 1_000, " k"), (1_000_000_000, 1_000_000, " M")):
        if count < limit:
            return f"{count:,.0f}".replace(",", " ") if size == 1 else f"{count / size:.1f}{unit}"
    return f"{count / 1_000_000_000:.1f} G"
