"""Live parts of pages: they follow topics of the host's hub, which reads each topic once for all pages that show it.

`RedrawCache`: redraw a part of a live page only when its content has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nicegui import context

from gateleg.web.console.failures import describe_error
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.host.live import Hub, Topic

__all__ = ["LiveIndicator", "RedrawCache", "follow"]

T = TypeVar("T")


class LiveIndicator:
    """The small indicator that shows whether a page is live, and if not, why."""

    def __init__(self) -> None:
        self.box: Tag = tag("span", classes="pulse", role="status")
        with self.box:
            tag("i", aria_hidden="true")
            self._word = tag("span", "Live")

    def show(self, error: BaseException | None) -> None:
        """Show that the page is live, or the error because of which it is not."""
        self._word.set_text("Live" if error is None else f"Not live: {describe_error(error).what}")
        self.box.classes(remove="still") if error is None else self.box.classes("still")


def follow(
    live: Hub, topic: Topic[T], show: Callable[[T], None], pulse: LiveIndicator | None = None, known: T | None = None
) -> Callable[[], None]:
    """Show a topic on the page that is being built, until the page is closed or the returned function is called.

    `known` is the value that the page shows already.
    """
    client = context.client

    def notify(value: T | None, error: BaseException | None) -> None:
        if client.is_deleted:
            return
        with client:
            if pulse is not None:
                pulse.show(error)
            if error is None:
                show(value)  # type: ignore[arg-type]

    leave = live.watch(topic, notify, known)
    client.on_delete(leave)
    return leave


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
