"""Paging of lists: the address holds the whole state, including the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nicegui.element import Element

__all__ = ["address", "pager"]


def address(path: str, state: Mapping[str, str | int | None]) -> str:
    """A path with its query in a fixed order, so that a state has one address."""
    query = urlencode([(key, value) for key, value in sorted(state.items()) if value not in (None, "")])
    return f"{path}?{query}" if query else path


def pager(path: str, state: Mapping[str, str | int | None], *, cursor: str | None, following: str | None, shown: int) -> Element:
    """Links to the first and the next page. `cursor` is the start of this page, `following` that of the next one."""
    with tag("nav", classes="line gap-1 spread fill", aria_label="Pages") as made:
        tag("span", f"{shown} shown", "meta num")
        with tag("div", classes="line gap-1"):
            if cursor is not None:
                tag("a", "First page", "deed small", href=address(path, {**state, "cursor": None}))
            if following is not None:
                tag("a", "Next page", "deed small", href=address(path, {**state, "cursor": following}), rel="next")
    return made
