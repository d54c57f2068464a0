"""Search in the console, while typing and as a page. What is found, and by whom, is decided by `gateleg.host.search`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nicegui
from fastapi import Request  # noqa: TC002 - FastAPI reads the annotations
from fastapi.responses import RedirectResponse
from nicegui import ui

from gateleg.host.search import hit_fields
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import current_view, frame
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.markup import section, tag

if TYPE_CHECKING:
    from gateleg.host.principal import Principal
    from gateleg.host.search import SearchResults
    from gateleg.web.console.frame import Console

#: The maximum number of suggestions while typing.
_MAX_SUGGESTIONS = 10
_HEADINGS = {"Jobs about": "Jobs with this subject", "Jobs of": "Jobs of this worker"}


def register() -> None:
    """Serve the search page at `/search`, and suggestions at `/search/places`."""

    @ui.page("/search", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def search(q: str = "") -> RedirectResponse | None:
        text = q.strip()
        view = current_view()
        results = await view.host.search(view.principal, text)
        if results.exact is not None:
            return RedirectResponse(results.exact.href, 303)
        with frame(title="Search", section="search", titled=False):
            tag("h1", f"Search: {text}" if text else "Search")
            _show(text, results)
        return None

    @nicegui.app.get("/search/places")
    async def results(request: Request, q: str = "") -> list[dict[str, str | bool]]:
        principal: Principal = request.state.principal
        console: Console = request.app.state.console
        return [hit_fields(hit) for hit in (await console.host.search(principal, q)).hits[:_MAX_SUGGESTIONS]]


def _show(text: str, results: SearchResults) -> None:
    if results.skipped:
        tag("p", f"Not searched, because it failed or took too long: {', '.join(results.skipped)}.", "meta", role="status")
    if not results.hits:
        sentence = (
            "Search finds jobs by id, type, subject, tag, worker or error, items by key, objects by the beginning of their key, and "
            "pages, applications, tables and settings by name."
        )
        empty("search", "Nothing found" if text else "What are you looking for?", sentence)
        return
    for kind in dict.fromkeys(hit.kind for hit in results.hits):
        with section(_HEADINGS.get(kind, f"{kind}s")), tag("div", classes="card tight"):
            for hit in results.hits:
                if hit.kind == kind:
                    with tag("a", classes="menu-item", href=hit.href, data_row=""):
                        ui.icon(hit.icon or "search")
                        tag("span", hit.title)
                        if hit.about:
                            tag("span", hit.about, "meta clip grow")
