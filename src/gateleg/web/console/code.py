"""JSON for people: indented, coloured and escaped for HTML. Pure, except for `json_block`."""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from nicegui.element import Element

_TOKEN = re.compile(r'("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')


def pretty(value: Any) -> str:
    """A value as indented JSON; values that JSON does not support become text."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def coloured(text: str) -> str:
    """JSON as HTML with spans around names, strings, numbers and words."""
    out, end = [], 0
    for match in _TOKEN.finditer(text):
        out.append(escape(text[end : match.start()]))
        string, colon, word, number = match.groups()
        kind = ("k" if colon else "s") if string else "b" if word else "n"
        out.append(f'<span class="{kind}">{escape(string or word or number)}</span>{colon or ""}')
        end = match.end()
    return "".join([*out, escape(text[end:])])


def by_line(value: dict[str, Any]) -> str:
    """An object as JSON with one line for each member."""
    members = [f"  {json.dumps(name)}: {json.dumps(member, ensure_ascii=False, default=str)}" for name, member in value.items()]
    return "{\n" + ",\n".join(members) + "\n}" if members else "{}"


def json_block(value: Any, label: str, *, lines: bool = False) -> Element:
    """A value on a page, with a button that copies it; with `lines`, an object has one line for each member."""
    text = by_line(value) if lines else pretty(value)
    with tag("div", classes="code-box") as box:
        ui.html(coloured(text), sanitize=False, tag="pre").classes("code").props(f'tabindex=0 role=region aria-label="{label}"')
        tag("button", "Copy", "deed small", type="button", data_copy=text)
    return box
