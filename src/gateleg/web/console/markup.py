"""Plain HTML elements on a page: semantic tags with a text, classes and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui.elements.mixins.text_element import TextElement

if TYPE_CHECKING:
    from nicegui.element import Element

__all__ = ["card", "section", "tag"]

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
