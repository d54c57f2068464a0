"""HTML and SVG, put together so that nothing that somebody else wrote can become a part of the page but its text.

    tag("p", {"class": "quote"}, comment.body)

Children that are plain strings are escaped; only what `tag` and `raw` return is taken as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "col", "source"})
#: Signs that XML does not allow at all, and those that would turn the direction of what follows.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:_.\-]*\Z")

Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup | None


def raw(text: str) -> Markup:
    """Text that is known to be safe markup: written in this package, never by a user."""
    return Markup(text)


def escape(text: str) -> Markup:
    """A text as markup that shows it."""
    plain = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return Markup(plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&#39;"))


def tag(name: str, attributes: Mapping[str, Attribute] | None = None, *children: Child | Iterable[Child]) -> Markup:
    """An element. Attributes that are None or False are left out, those that are True have no value."""
    written = "".join(_attribute(key, value) for key, value in (attributes or {}).items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[Child | Iterable[Child]]) -> Markup:
    """Children one after the other."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child))
        else:
            parts.append(joined(child))
    return Markup("".join(parts))


def _attribute(key: str, value: Attribute) -> str:
    if not _NAME.match(key):
        raise ValueError(f"{key!r} is not the name of an attribute")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {key}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {key}="{escape(text)}"'


def json_script(identifier: str, data: object) -> Markup:
    """Data for a script in the page, written so that no text in it can end the element."""
    text = orjson.dumps(data).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{escape(identifier)}">{text}</script>')
