"""`Redrawn`: parts of a live page that are drawn anew only when what they show has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.web.console.markup import Tag


class Redrawn:
    """The parts of a page. A button that is drawn anew while it is pressed hears nothing, so what stays the same is left alone."""

    def __init__(self) -> None:
        self._drawn: dict[int, object] = {}

    def draw(self, part: Tag, key: object, draw: Callable[[], None]) -> None:
        """Draw a part, unless it was drawn for the same key."""
        if part.id not in self._drawn or self._drawn[part.id] != key:
            self._drawn[part.id] = key
            part.clear()
            with part:
                draw()
