"""The content of a page for something that does not exist or that the caller may not see: both look the same, with status 404."""

from __future__ import annotations

from nicegui import context

from gateleg.web.console.empty import empty
from gateleg.web.console.markup import tag


def show_not_found(
    what: str, *, button: str, href: str, sentence: str = "It may have been deleted, or you may not have access to it."
) -> None:
    """Say that something was not found, with a link back: `show_not_found("film", button="All films", href="/films")`."""
    context.client.status_code = 404
    tag("h1", f"There is no such {what}", "sr")
    empty("search", f"There is no such {what}", sentence, button=button, href=href)
