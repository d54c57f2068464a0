"""`live_list`: a page of a longer list that is read again while it is open, with links to the other pages.

Paging of lists: the address holds the whole state, including the cursor.

Loading states: fast results are shown at once, slow ones get a skeleton, and errors are shown in their place.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from nicegui import context

from gateleg.web.console.failures import trouble
from gateleg.web.console.live import follow
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from nicegui.element import Element
    from starlette.requests import Request

    from gateleg.host.live import Topic
    from gateleg.store import Page
    from gateleg.web.console.cells import Column, Row
    from gateleg.web.console.frame import View
    from gateleg.web.console.live import LiveIndicator

__all__ = ["PAGE_TIMEOUT_SECONDS", "address", "pager", "show_when_loaded"]

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


#: Seconds after which a skeleton is shown.
SKELETON_DELAY_SECONDS = 0.3
#: Seconds for pages that cannot start before they have read something, such as whether it exists.
PAGE_TIMEOUT_SECONDS = 30.0


def is_late_response(error: object) -> bool:
    """Whether a browser was only slow to respond: one that is busy drawing responds later, and nothing is lost."""
    return isinstance(error, TimeoutError) and "JavaScript" in str(error)


def silence_late_responses() -> None:
    """Keep NiceGUI from logging tracebacks of slow responses."""
    logging.getLogger("nicegui").addFilter(lambda record: not (record.exc_info and is_late_response(record.exc_info[1])))


def again(request: Request, error: BaseException) -> str:
    """The address for another try: the same, without an invalid cursor."""
    left_out = "cursor" if getattr(error, "code", "") in ("cursor-rejected", "bad-cursor") else None
    query = [(name, value) for name, value in request.query_params.multi_items() if name != left_out]
    return request.url.path + (f"?{urlencode(query)}" if query else "")


async def show_when_loaded(
    work: Coroutine[Any, Any, T],
    show: Callable[[T], None],
    *,
    rows: int = 6,
    saying: str = "Reading",
    retry: str | None = None,
    pulse: LiveIndicator | None = None,
) -> Element:
    """Show the result of some work in a box at this place of the page.

    `rows` is the height of the skeleton, `retry` an address for another try if it is not the page's own. `pulse` is notified of a failure.
    """
    box = tag("div", classes="stack gap-2")
    client = context.client
    task = asyncio.ensure_future(work)
    await asyncio.wait({task}, timeout=SKELETON_DELAY_SECONDS)
    if not task.done():
        with box:
            _skeleton(rows, saying)

        async def later() -> None:
            await asyncio.wait({task})
            if not client.is_deleted:
                with client:
                    box.clear()
                    _finish(box, task, show, retry, pulse)

        # Referenced by the box, so that it is not garbage-collected before it is done.
        box.later = asyncio.ensure_future(later())  # type: ignore[attr-defined]
        client.on_delete(task.cancel)
    else:
        _finish(box, task, show, retry, pulse)
    return box


def _finish(box: Element, task: asyncio.Task[T], show: Callable[[T], None], retry: str | None, pulse: LiveIndicator | None) -> None:
    with box:
        error = task.exception() if not task.cancelled() else None
        if error is not None:
            trouble(error, retry=retry or again(context.client.request, error))
            if pulse is not None:
                pulse.show(error)
        elif not task.cancelled():
            show(task.result())


def _skeleton(rows: int, saying: str) -> None:
    with tag("div", classes="stack gap-1", role="status", aria_busy="true"):
        tag("span", f"{saying} …", "meta")
        for _ in range(rows):
            tag("div", classes="skeleton").style("height:28px")
