"""`RedrawCache`: redraw a part of a live page only when its content has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.web.console.markup import Tag


class RedrawCache:
    """The keys that the parts of a page were last drawn for. Redrawing a button while it is pressed loses the click."""

    def __init__(self) -> None:
        self._drawn: dict[int, object] = {}

    def draw(self, part: Tag, key: object, draw: Callable[[], None]) -> None:
        """Redraw a part, unless it was last drawn for the same key."""
        if part.id not in self._drawn or self._drawn[part.id] != key:
            self._drawn[part.id] = key
            part.clear()
            with part:
                draw()
