"""`live_list`: a page of a longer list that is read again while it is open, with links to the other pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.web.console.grid import Grid
from gateleg.web.console.live import follow
from gateleg.web.console.markup import tag
from gateleg.web.console.paging import pager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gateleg.store import Page
    from gateleg.web.console.cells import Column, Row
    from gateleg.web.console.frame import View
    from gateleg.web.console.live import LiveIndicator, Topic

T = TypeVar("T")


def live_list(
    view: View,
    topic: Topic[Page[T]],
    first: Page[T],
    *,
    label: str,
    columns: Sequence[Column],
    row: Callable[[T], Row],
    nothing: Callable[[], Any],
    path: str,
    cursor: str | None,
    pulse: LiveIndicator | None = None,
    on_action: Callable[[str, str], Awaitable[None] | None] | None = None,
) -> None:
    """Show `first` and then the updates of a topic. `nothing` draws the empty state."""
    with tag("section", classes="card tight", aria_label=label):
        grid = Grid(label, columns, on_action=on_action)
        with tag("div") as empty:
            nothing()
        foot = tag("div", classes="card-foot")
    state = {name: value for name, value in view.request.query_params.items() if name != "cursor"}

    def show(found: Page[T]) -> None:
        grid.show([row(one) for one in found])
        for part in (grid, foot):
            part.set_visibility(bool(found.items))
        empty.set_visibility(not found.items)
        foot.clear()
        with foot:
            pager(path, state, cursor=cursor, following=found.next, shown=len(found.items))

    show(first)
    follow(view.live, topic, show, pulse, known=first)
