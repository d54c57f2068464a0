"""What a page shows of something that is not there, or not for who looks: both look the same, and are answered with 404."""

from __future__ import annotations

from nicegui import context

from gateleg.web.console.empty import empty
from gateleg.web.console.markup import tag


def not_there(what: str, *, button: str, href: str, sentence: str = "It may have been deleted, or you may not see it.") -> None:
    """Say that there is no such thing, and lead back: `not_there("film", button="All films", href="/films")`."""
    context.client.status_code = 404
    tag("h1", f"There is no such {what}", "sr")
    empty("search", f"There is no such {what}", sentence, button=button, href=href)
