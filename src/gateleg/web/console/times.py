"""Times and durations: relative, with the exact time on hover; the browser updates them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from nicegui.element import Element

__all__ = ["ago"]

_UNITS = (("day", 86400), ("h", 3600), ("min", 60), ("s", 1))


def relative(moment: datetime, now: datetime) -> str:
    """A relative time: `3 min ago`, `in 2 h`, `now`; a date if it is more than 30 days away."""
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 2:
        return "now"
    if abs(seconds) > 30 * 86400:
        return moment.astimezone(UTC).strftime("%Y-%m-%d")
    return f"{_largest(seconds)} ago" if seconds > 0 else f"in {_largest(-seconds)}"


def _largest(seconds: float) -> str:
    for unit, size in _UNITS:
        if seconds >= size:
            return _count(int(seconds // size), unit)
    return "0 s"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}s" if unit == "day" and number != 1 else f"{number} {unit}"


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


def exact(moment: datetime) -> str:
    """The exact time, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def ago(moment: datetime | None, *, none: str = "never", classes: str = "") -> Element:
    """A relative time on a page, which the browser updates."""
    if moment is None:
        return tag("span", none, f"faint {classes}".strip())
    return _time(moment, relative(moment, datetime.now(UTC)), classes, data_ago="")


def since(moment: datetime, *, classes: str = "") -> Element:
    """The time since a moment, which the browser updates."""
    return _time(moment, duration(max(0.0, (datetime.now(UTC) - moment).total_seconds())), classes, data_since="")


def _time(moment: datetime, text: str, classes: str, **mark: str) -> Tag:
    stamp = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return tag("time", text, f"num {classes}".strip(), datetime=stamp, title=exact(moment), **mark)
