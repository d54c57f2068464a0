"""Pre-made chunks, sent by the client: stored as one object, and read back as a document with its spans. Pure."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateleg.apps.rag.chunking import LARGEST_CHUNK, Span
from gateleg.apps.rag.errors import BadValue, UnreadableDocument
from gateleg.apps.rag.parsing import Page, ParsedDocument

#: The content type of stored chunks.
PREMADE = "application/vnd.gateleg.chunks+json"
MAX_CHUNKS = 100_000
_BETWEEN = "\n\n"


class PremadeChunk(BaseModel):
    """A chunk in a request."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=LARGEST_CHUNK)
    page: int | None = Field(default=None, ge=1)
    heading: str | None = Field(default=None, max_length=1_000)
    #: added to the document's metadata
    metadata: dict[str, Any] = Field(default_factory=dict)


class PremadeChunks(BaseModel):
    """The chunks of a document."""

    chunks: list[PremadeChunk] = Field(min_length=1, max_length=MAX_CHUNKS)


def pack_chunks(chunks: list[PremadeChunk]) -> bytes:
    """Serialize chunks for the object store."""
    if not chunks:
        raise BadValue("chunks is empty.", fix="Send at least one chunk.")
    return orjson.dumps({"chunks": [chunk.model_dump() for chunk in chunks]})


def unpack_chunks(content: bytes) -> tuple[ParsedDocument, list[Span], list[dict[str, Any]]]:
    """The document that the chunks make up, their spans in its text, and the metadata of each."""
    try:
        found = PremadeChunks.model_validate_json(content).chunks
    except ValidationError as error:
        raise UnreadableDocument(f"The chunks cannot be read: {error.errors()[0]['msg']}.") from None
    texts: list[str] = []
    spans: list[Span] = []
    pages: list[Page] = []
    place = 0
    for one in found:
        text = one.text.strip() or one.text
        spans.append(Span(place, place + len(text), one.heading))
        if one.page is not None and (not pages or pages[-1].number != one.page):
            pages.append(Page(one.page, place, place + len(text)))
        texts.append(text)
        place += len(text) + len(_BETWEEN)
    document = ParsedDocument(_BETWEEN.join(texts), PREMADE, tuple(pages))
    return document, spans, [one.metadata for one in found]
