"""Find the passages on a page. Passages are in the order of the text, so a binary search finds the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import Chunk

if TYPE_CHECKING:
    from gateleg.apps.rag.tables import Document
    from gateleg.store import AsyncStore

#: left, top, right, bottom
Box = tuple[float, float, float, float]
#: Maximum passages to show for a page.
MOST_SHOWN = 100


def last_page(chunk: Chunk) -> int:
    """The last page of a passage."""
    return chunk.page_starts[-1][0] if chunk.page_starts else chunk.page or 0


def is_on(chunk: Chunk, page: int) -> bool:
    """Whether a passage is at least partly on a page."""
    return (chunk.page or 0) <= page <= last_page(chunk)


def boxes_on(chunk: Chunk, page: int) -> list[Box]:
    """The boxes of a passage on a page: left, top, right, bottom."""
    return [(box[1], box[2], box[3], box[4]) for box in chunk.boxes or () if int(box[0]) == page]


async def chunks_on(store: AsyncStore, document: Document, page: int) -> list[Chunk]:
    """The passages of the current generation on a page, in order."""
    if document.generation is None:
        return []
    first = await _first_reaching(store, document, page)
    query = Chunk.of_document(document_id=document.document_id, generation=document.generation).where(Chunk.ordinal >= first)
    found: list[Chunk] = []
    async for chunk in store.query(query):
        if (chunk.page or 0) > page or len(found) == MOST_SHOWN:
            break
        if is_on(chunk, page):
            found.append(chunk)
    return found


async def _first_reaching(store: AsyncStore, document: Document, page: int) -> int:
    """The ordinal of the first passage whose last page is at least `page`; the number of passages if there is none."""
    low, high = 0, document.chunks
    while low < high:
        middle = (low + high) // 2
        chunk = await store.find(Chunk, document_id=document.document_id, generation=document.generation, ordinal=middle)
        # A missing passage means that its generation is being removed: nothing is found, and the caller reads the page again.
        if chunk is not None and last_page(chunk) < page:
            low = middle + 1
        else:
            high = middle
    return low
