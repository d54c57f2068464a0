"""Ids: shortened, and copied whole on a click."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from nicegui.element import Element

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
