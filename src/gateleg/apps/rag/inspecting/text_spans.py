"""Where a part of a document's text lies on a page, read from the text that its ingestion has kept."""

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

#: Bytes of a kept text that is unpacked for somebody who waits.
_MOST_BYTES = 5_000_000


async def boxes_of_span(objects: AsyncObjects, document: Document, span: tuple[int, int], page: int) -> list[Box]:
    """The boxes on a page of the lines that some characters lie on; none where the kept text is gone or very long."""
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
