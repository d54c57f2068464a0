"""Error pages inside the frame: unknown addresses, and pages that fail.

The content of a page for something that does not exist or that the caller may not see: both look the same, with status 404.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import nicegui
from nicegui import Client, context
from nicegui.page import page
from starlette.exceptions import HTTPException

from gateleg.host.errors import Unknown
from gateleg.web.console.failures import empty, trouble
from gateleg.web.console.frame import frame, frame_without_notifications
from gateleg.web.console.lists import again
from gateleg.web.console.markup import tag
from gateleg.web.envelope import error_response

if TYPE_CHECKING:
    from fastapi import Request
    from fastapi.responses import Response


def register() -> None:
    """Serve a page for unknown addresses, and for pages that fail."""
    nicegui.app.add_exception_handler(404, _not_found_page)
    nicegui.app.on_page_exception(_failed_page)


async def _not_found_page(request: Request, error: Exception) -> Response:
    wants_page = "text/html" in request.headers.get("accept", "") and getattr(request.state, "principal", None) is not None
    if not wants_page and isinstance(error, HTTPException):
        return error_response(Unknown("There is nothing at this path."))
    with Client(page(""), request=request) as client, frame(title="Not found", section="", titled=False):
        tag("h1", "Not found", "sr")
        sentence = "There is no page at this address. It may have been moved or deleted."
        empty("search", "Page not found", sentence, button="Go to the overview", href="/")
    return client.build_response(request, 404)


def _failed_page(error: Exception) -> None:
    # NiceGUI reports the error to this page too, which shows it already.
    with frame_without_notifications(title="This page failed", section="") as view:
        trouble(error, retry=again(view.request, error))


def show_not_found(
    what: str, *, button: str, href: str, sentence: str = "It may have been deleted, or you may not have access to it."
) -> None:
    """Say that something was not found, with a link back: `show_not_found("film", button="All films", href="/films")`."""
    context.client.status_code = 404
    tag("h1", f"There is no such {what}", "sr")
    empty("search", f"There is no such {what}", sentence, button=button, href=href)
