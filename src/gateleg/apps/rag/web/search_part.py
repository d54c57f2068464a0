"""The Search tab of a collection: passages with the query's words marked, and why each was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.service import SearchScope, search
from gateleg.apps.rag.web.markup import mark_spans
from gateleg.apps.rag.web.page_paths import passage_path
from gateleg.web.console.components import Field, button, empty, section, tag, trouble

if TYPE_CHECKING:
    from gateleg.apps.rag.searching.results import SearchHit, SearchResult
    from gateleg.apps.rag.web.visit import Visit

_MODES = (("hybrid", "Words and meaning"), ("vector", "Meaning"), ("keyword", "Words"))


def search_part(visit: Visit) -> None:
    """Show a search form, and the passages that were found."""
    with tag("div", classes="line gap-1 rag-search", role="search"):
        query = Field("Search for", "", placeholder="Words, or a question", whole=True, on_enter=lambda: run_search())
        mode = Field("By", "hybrid", kind="choice", choices=_MODES)
        button("Search", lambda: run_search(), icon="search", look="first")
    found = tag("div", classes="stack gap-2", aria_live="polite")

    async def run_search() -> None:
        found.clear()
        if not query.text.strip():
            return
        collection = visit.opened.collection
        place = SearchScope(collection.repository_id, collection.collection_id)
        try:
            request = SearchRequest.model_validate({"query": query.text, "searchMode": mode.text, "explain": True})
            result = await search(visit.resources, visit.view.principal, [place], request)
        except Exception as error:
            with found:
                trouble(error)
            return
        with found:
            _show(result)


def _show(result: SearchResult) -> None:
    if not result.hits:
        empty("search", "Nothing found", "No passage matches the query.")
        return
    with section(f"{len(result.hits)} passages"):
        if result.actual_mode_used != result.search_mode:
            tag("p", result.note or f"Searched by {result.actual_mode_used} only.", "note")
        for hit in result.hits:
            _hit(hit)


def _hit(hit: SearchHit) -> None:
    with tag("article", classes="card stack gap-1 rag-hit"):
        start, end = hit.snippet or (0, len(hit.text))
        with tag("p", classes="line gap-1 meta"):
            whole = (start, end) == (0, len(hit.text))
            span = None if whole else (hit.start + start, hit.start + end)
            tag("a", hit.citation, "link strong", href=passage_path(hit.repository_id, hit.document_id, hit.ordinal, span))
            if hit.heading:
                tag("span", hit.heading, dir="auto")
            tag("span", f"score {hit.score:.3f}", "num")
            if hit.similarity is not None:
                tag("span", f"similarity {hit.similarity:.3f}", "num")
            if hit.keyword is not None:
                tag("span", f"BM25 {hit.keyword:.2f}", "num")
        _text(hit, start, end)
        if not whole:
            with tag("details"):
                tag("summary", "Whole passage", "meta")
                _text(hit, 0, len(hit.text))
        if hit.why is not None and hit.why.sentence:
            tag("p", hit.why.sentence, "meta")


def _text(hit: SearchHit, start: int, end: int) -> None:
    """Show a part of a passage with the query's words marked."""
    spans = [(first - start, last - start) for first, last in hit.highlights if start <= first and last <= end]
    before, after = "… " if start else "", " …" if end < len(hit.text) else ""
    ui.html(f"{before}{mark_spans(hit.text[start:end], spans)}{after}", sanitize=False).classes("rag-text").props("dir=auto")
