"""The inspector of a document: a page image with outlined passages and the passages beside it, or the passages as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from nicegui import ui

from gateleg.apps.rag.errors import PageNotDrawn, RagError
from gateleg.apps.rag.inspecting.page_chunks import boxes_on, chunks_on
from gateleg.apps.rag.inspecting.page_images import PageImage, page_image
from gateleg.apps.rag.inspecting.page_rendering import can_render_pages
from gateleg.apps.rag.inspecting.text_spans import boxes_of_span
from gateleg.apps.rag.tables import Chunk
from gateleg.apps.rag.web.markup import Outline, clip_span, mark_spans, overlay_svg, parse_span
from gateleg.apps.rag.web.page_paths import document_path, passage_path
from gateleg.web.console.components import address, empty, pager, section, show_when_loaded, tag, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.inspecting.page_chunks import Box
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Document
    from gateleg.host import Resources

_SIZE = 20


@dataclass(frozen=True, slots=True)
class Pointer:
    """The position that an address selects in a document: a page, a passage by its ordinal, and a span of the text."""

    page: int | None = None
    chunk: int | None = None
    span: tuple[int, int] | None = None

    @classmethod
    def of(cls, page: str, chunk: str, span: str) -> Pointer:
        """Parse the query parameters of an address; invalid values are ignored."""
        return cls(_number(page), _number(chunk), parse_span(span))


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A page to show: its passages, its image or the error, and the boxes of the marked span."""

    number: int
    chunks: Sequence[Chunk]
    image: PageImage | RagError
    span: Sequence[Box]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else None


async def inspector(resources: Resources[RagSettings], document: Document, pointer: Pointer, cursor: str = "") -> None:
    """Show the passages of a document, on page images if it has pages, otherwise as text."""
    if document.generation is None:
        with section("Passages"):
            empty("search", "Not searchable yet", "Its passages are shown here when it has been ingested.")
    elif can_render_pages(document.content_type) and document.pages:
        number = min(await _page_of(resources, document, pointer), document.pages)
        with section(f"Page {number} of {document.pages:,}"):
            _turn(document, number)
            await show_when_loaded(_sheet(resources, document, pointer, number), lambda sheet: _show(document, pointer, sheet))
    else:
        await _passages(resources, document, pointer, cursor)


async def _page_of(resources: Resources[RagSettings], document: Document, pointer: Pointer) -> int:
    """The page to show: that of the pointer, else that of the marked span or the passage, else the first."""
    if pointer.page is not None or pointer.chunk is None:
        return max(1, pointer.page or 1)
    key = Chunk.key(document_id=document.document_id, generation=document.generation, ordinal=pointer.chunk)
    chunk = await resources.store.find(key)
    if chunk is None:
        return 1
    if pointer.span is not None:
        later = [page for page, start in chunk.page_starts or () if start <= pointer.span[0]]
        return later[-1] if later else chunk.page or 1
    return chunk.page or 1


async def _sheet(resources: Resources[RagSettings], document: Document, pointer: Pointer, number: int) -> _Sheet:
    image: PageImage | RagError
    try:
        image = await page_image(resources, document, number)
    except RagError as error:
        image = error
    span = [] if pointer.span is None else await boxes_of_span(resources.objects, document, pointer.span, number)
    return _Sheet(number, await chunks_on(resources.store, document, number), image, span)


def _turn(document: Document, number: int) -> None:
    """Show links to the previous and the next page."""
    here = document_path(document.repository_id, document.document_id)
    with tag("nav", classes="line gap-1", aria_label="Pages"):
        for word, target in (("Previous page", number - 1), ("Next page", number + 1)):
            if 1 <= target <= (document.pages or 0):
                tag("a", word, "deed small", href=address(here, {"page": str(target)}))


def _show(document: Document, pointer: Pointer, sheet: _Sheet) -> None:
    with tag("div", classes="rag-inspector"):
        if isinstance(sheet.image, PageImage):
            _picture(document, pointer, sheet, sheet.image)
        elif isinstance(sheet.image, PageNotDrawn):
            tag("p", f"{sheet.image.message} {sheet.image.fix}", "note warning")
        else:
            trouble(sheet.image)
        with tag("div", classes="stack gap-1 rag-passages"):
            for one in sheet.chunks:
                _passage(one, pointer)
            if not sheet.chunks:
                empty("search", "No passages on this page", "It contains no text.")


def _picture(document: Document, pointer: Pointer, sheet: _Sheet, image: PageImage) -> None:
    base = f"/api/rag/repository/{quote(document.repository_id, safe='')}/document/{quote(document.document_id, safe='')}"
    # With the generation, so that the browser does not show a cached page of an earlier content.
    source = f"{base}/pages/{sheet.number}/image?generation={document.generation}"
    outlines = [
        Outline(f"Passage {one.ordinal + 1}", _place(one), boxes_on(one, sheet.number), one.ordinal == pointer.chunk)
        for one in sheet.chunks
    ]
    with tag("div", classes="rag-page").style(f"aspect-ratio: {image.size.width:g} / {image.size.height:g}"):
        tag("img", src=source, alt=f"Page {sheet.number}")
        ui.html(overlay_svg(image.size, outlines, sheet.span), sanitize=False).classes("rag-over")


def _place(chunk: Chunk) -> str:
    return passage_path(chunk.repository_id, chunk.document_id, chunk.ordinal)


async def _passages(resources: Resources[RagSettings], document: Document, pointer: Pointer, cursor: str) -> None:
    """Show the passages as text, starting at the selected one."""
    with section("Passages"):
        first = pointer.chunk
        query = Chunk.of_document(document_id=document.document_id, generation=document.generation)
        if first is not None and not cursor:
            query = query.where(Chunk.ordinal >= first)
        page = await resources.store.page(query, limit=_SIZE, cursor=cursor or None)
        for one in page:
            _passage(one, pointer)
        here = document_path(document.repository_id, document.document_id)
        state = {} if first is None else {"chunk": str(first)}
        pager(here, state, cursor=cursor or (str(first) if first is not None else None), following=page.next, shown=len(page.items))
        if first is not None:
            tag("a", "All passages", "link meta", href=here)


def _passage(one: Chunk, pointer: Pointer) -> None:
    pointed = one.ordinal == pointer.chunk
    with tag("article", classes=f"card stack gap-1 rag-passage{' pointed' if pointed else ''}"):
        with tag("p", classes="line gap-1 meta"):
            tag("a", f"Passage {one.ordinal + 1}", "link strong", href=_place(one))
            if one.page is not None:
                tag("span", f"page {one.page}")
            tag("span", f"characters {one.start:,} to {one.end:,}", "num")
            if one.heading:
                tag("span", one.heading, dir="auto")
        spans = clip_span(pointer.span, one.start, one.end) if pointed else []
        ui.html(mark_spans(one.text, spans), sanitize=False).classes("rag-text").props("dir=auto")
