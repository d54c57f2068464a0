"""Find the boxes of a text span on a page, from the parsed text that the ingestion has stored."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING

import orjson

from gateleg.apps.rag.ingesting.generations import text_key
from gateleg.apps.rag.parsing.document import ParsedDocument
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from gateleg.apps.rag.inspecting.page_chunks import Box
    from gateleg.apps.rag.tables import Document
    from gateleg.objects import AsyncObjects

#: Maximum compressed bytes of a text to unpack for a request.
_MOST_BYTES = 5_000_000


async def boxes_of_span(objects: AsyncObjects, document: Document, span: tuple[int, int], page: int) -> list[Box]:
    """The boxes of the lines on a page that a span touches; empty if the stored text is missing or very long."""
    if document.generation is None:
        return []
    key = text_key(document, document.generation)
    try:
        if (await objects.head(key)).size > _MOST_BYTES:
            return []
        packed = await objects.get(key)
    except ObjectMissing:
        return []
    return await asyncio.to_thread(_boxes, packed, span, page)


def _boxes(packed: bytes, span: tuple[int, int], page: int) -> list[Box]:
    parsed = ParsedDocument.from_json(orjson.loads(gzip.decompress(packed)))
    return [(box[1], box[2], box[3], box[4]) for box in parsed.boxes_of(*span) or () if int(box[0]) == page]
