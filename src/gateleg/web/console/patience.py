"""Waiting well: what comes at once is shown at once, what takes longer has a skeleton in its place, and what fails says so there."""

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

__all__ = ["PATIENT", "show_when_there"]

T = TypeVar("T")
#: Longer than this, and people wonder.
AT_ONCE = 0.3
#: Seconds for pages that cannot begin before they have read something: whether there is such a thing at all.
PATIENT = 30.0


def is_late_answer(error: object) -> bool:
    """Whether a browser only took long to answer. The frame asks it whether the rail is open: one that is busy drawing answers later, and
    nothing is lost."""
    return isinstance(error, TimeoutError) and "JavaScript" in str(error)


def silence_late_answers() -> None:
    """Have NiceGUI write no traces of what is not a fault."""
    logging.getLogger("nicegui").addFilter(lambda record: not (record.exc_info and is_late_answer(record.exc_info[1])))


def again(request: Request, error: BaseException) -> str:
    """Where to try again what has failed: at the same address, without a cursor that nobody here has made."""
    left_out = "cursor" if getattr(error, "code", "") in ("cursor-rejected", "bad-cursor") else None
    query = [(name, value) for name, value in request.query_params.multi_items() if name != left_out]
    return request.url.path + (f"?{urlencode(query)}" if query else "")


async def show_when_there(
    work: Coroutine[Any, Any, T],
    show: Callable[[T], None],
    *,
    rows: int = 6,
    saying: str = "Reading",
    retry: str | None = None,
    pulse: LiveIndicator | None = None,
) -> Element:
    """Show the result of some work in a box of its own, where the page is being built.

    `rows` is how tall the skeleton is, `retry` an address to try again at when the work has failed, if not the page's own. `pulse` is told
    that what has failed is not live.
    """
    box = tag("div", classes="stack gap-2")
    client = context.client
    task = asyncio.ensure_future(work)
    await asyncio.wait({task}, timeout=AT_ONCE)
    if not task.done():
        with box:
            _skeleton(rows, saying)

        async def later() -> None:
            await asyncio.wait({task})
            if not client.is_deleted:
                with client:
                    box.clear()
                    _finish(box, task, show, retry, pulse)

        # Kept by the box, so that it is not collected before it is done.
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
