"""Builds HTML and SVG safely: text from users is always escaped.

    tag("p", {"class": "quote"}, comment.body)

Children that are plain strings are escaped; only `Markup`, which `tag` and `raw` return, is inserted unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "col", "source"})
#: Characters that XML forbids, and those that would change the direction of following text.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:_.\-]*\Z")

Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is markup and must not be escaped."""

    __slots__ = ()


Child = str | Markup | None


def raw(text: str) -> Markup:
    """Mark text as safe markup. Only for text from this package, never from a user."""
    return Markup(text)


def escape(text: str) -> Markup:
    """Escape a text."""
    plain = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return Markup(plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&#39;"))


def tag(name: str, attributes: Mapping[str, Attribute] | None = None, *children: Child | Iterable[Child]) -> Markup:
    """An element. Attributes that are None or False are omitted; attributes that are True have no value."""
    written = "".join(_attribute(key, value) for key, value in (attributes or {}).items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[Child | Iterable[Child]]) -> Markup:
    """Concatenate children."""
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
        raise ValueError(f"{key!r} is not a valid attribute name")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {key}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {key}="{escape(text)}"'


def json_script(identifier: str, data: object) -> Markup:
    """Data for a script in the page as JSON, escaped so that no text can close the element."""
    text = orjson.dumps(data).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" id="{escape(identifier)}">{text}</script>')
