"""The look of states on pages and in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gateleg.web.console.badges import Badge, chip
from gateleg.web.console.cells import chip_cell

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.console.cells import Part
    from gateleg.web.console.theme import Kind

S = TypeVar("S")
#: The icon of each kind of state.
ICONS: dict[Kind, str] = {
    "waiting": "schedule",
    "running": "play_circle",
    "done": "check_circle",
    "failed": "error",
    "cancelled": "cancel",
    "warning": "warning",
    "neutral": "circle",
}


class Statuses(dict[S, tuple[str, "Kind"]]):
    """The label and colour of every state: `Statuses({Status.QUEUED: ("Waiting", "waiting"), Status.DONE: ("Answered", "done")})`."""

    def badge(self, status: S) -> Element:
        """A state on a page."""
        return chip(self.style(status))

    def cell(self, status: S) -> Part:
        """A state in a cell of a `Grid`."""
        return chip_cell(self.style(status))

    def style(self, status: S) -> Badge:
        """Its colour, word and icon."""
        word, kind = self[status]
        return Badge(kind, word, ICONS[kind])
