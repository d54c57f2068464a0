"""Loading states: fast results are shown at once, slow ones get a skeleton, and errors are shown in their place."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from nicegui import context

from gateleg.web.console.failures import trouble
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from nicegui.element import Element
    from starlette.requests import Request

    from gateleg.web.console.live import LiveIndicator

__all__ = ["PAGE_TIMEOUT_SECONDS", "show_when_loaded"]

T = TypeVar("T")
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
