"""Times and durations: relative, with the exact time on hover; the browser updates them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gateleg.durations import duration, whole_units
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from nicegui.element import Element

__all__ = ["ago"]


def relative(moment: datetime, now: datetime) -> str:
    """A relative time: `3 min ago`, `in 2 h`, `now`; a date if it is more than 30 days away."""
    seconds = (now - moment).total_seconds()
    if abs(seconds) < 2:
        return "now"
    if abs(seconds) > 30 * 86400:
        return moment.astimezone(UTC).strftime("%Y-%m-%d")
    return f"{whole_units(seconds)} ago" if seconds > 0 else f"in {whole_units(-seconds)}"


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
