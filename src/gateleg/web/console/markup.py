"""Plain HTML elements on a page: semantic tags with a text, classes and attributes.

Ids: shortened, and copied whole on a click.

Sizes and counts in words. Pure.

Times and durations: relative, with the exact time on hover; the browser updates them.

Texts that fit their place. Pure.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from nicegui.elements.mixins.text_element import TextElement

from gateleg.durations import duration, whole_units

if TYPE_CHECKING:
    from nicegui.element import Element

__all__ = ["ago", "card", "section", "tag"]


#: The initial value of an input, as an attribute. As a property, Vue would restore it whenever anything on the page changes, over the
#: user's input.
_AT_FIRST = "^value"


class Tag(TextElement):
    """An HTML element with a text. `set_text` changes it in place; as a context manager, it contains other elements."""

    def __init__(self, name: str, /, text: str = "", classes: str = "", **attributes: str | int | float | bool | None) -> None:
        super().__init__(tag=name, text=text)
        if classes:
            self.classes(classes)
        for key, value in attributes.items():
            if value is not None:
                self.props[_AT_FIRST if (name, key) == ("input", "value") else attribute_name(key)] = value


def tag(name: str, /, text: str = "", classes: str = "", **attributes: str | int | float | bool | None) -> Tag:
    """An element: `tag("a", "Jobs", "link", href="/jobs", aria_current="page")`. `_` in names is `-`; None leaves an attribute out."""
    return Tag(name, text, classes, **attributes)


def attribute_name(key: str) -> str:
    """An attribute's name in HTML: `aria_label` is `aria-label`, `class_` is `class`."""
    return key.rstrip("_").replace("_", "-")


def stack(gap: int = 2, classes: str = "") -> Element:
    """Elements below each other; `gap` is in steps of 8 px."""
    return tag("div", classes=f"stack gap-{gap} {classes}".strip())


def line(gap: int = 1, classes: str = "") -> Element:
    """Elements beside each other, wrapping; `gap` is in steps of 8 px."""
    return tag("div", classes=f"line gap-{gap} {classes}".strip())


def card(classes: str = "", *, label: str | None = None) -> Tag:
    """A bordered surface. A label makes it a region that screen readers can jump to."""
    return tag("section", classes=f"card {classes}".strip(), aria_label=label)


def section(title: str, classes: str = "") -> Element:
    """A part of a page under a heading of 20 px."""
    box = tag("section", classes=f"section {classes}".strip(), aria_label=title)
    with box:
        tag("h2", title)
    return box


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def shortened(text: str, length: int = 18) -> str:
    """A shortened id: the first part of a UUID, the ends of anything else that is long."""
    if _UUID.fullmatch(text):
        return text[:8]
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def short_id(text: str, *, length: int = 18) -> Element:
    """An id on a page. A click copies the whole id."""
    return tag("button", shortened(text, length), "id", type="button", title=f"{text} (copy)", data_copy=text, aria_label=f"Copy {text}")


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


def truncate(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis, at most `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
