"""Vectors of chunks: reused from the previous generation if the text is the same, otherwise computed by the model in batches."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.rag.index.entries import pack_vector
from gateleg.apps.rag.index.names import stored_vector
from gateleg.apps.rag.tables import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.ai import AsyncEmbeddings
    from gateleg.apps.rag.tables import Document
    from gateleg.store import AsyncStore

#: Texts per call of the model: small enough to stop quickly and to show progress.
BATCH = 64


def embedded_text(text: str, heading: str | None) -> str:
    """The text to embed for a chunk: its headings and its text, because headings often name what the text only refers to."""
    return text if not heading or text.startswith(heading.rpartition(" > ")[2]) else f"{heading}\n\n{text}"


def chunk_hash(text: str, heading: str | None) -> str:
    """A hash that changes if the text or the heading of a chunk changes."""
    return hashlib.sha256(f"{heading or ''}\0{text}".encode("utf-8", "replace")).hexdigest()


async def known_vectors(store: AsyncStore, document: Document, model: str) -> dict[str, bytes]:
    """The vectors of the current generation, by the hashes of its chunks."""
    if document.generation is None:
        return {}
    query = Chunk.of_document(document_id=document.document_id, generation=document.generation)
    found = {one.content_hash: stored_vector(one, model) async for one in store.query(query)}
    return {digest: vector for digest, vector in found.items() if vector is not None}


async def embed_chunks(
    model: AsyncEmbeddings, texts: Sequence[str], hashes: Sequence[str], known: dict[str, bytes], report: Callable[[int], None]
) -> tuple[list[bytes], int]:
    """A vector for each text, and how many were reused. `report` is called with the number done so far, and may raise to stop."""
    wanted = {one: text for one, text in zip(hashes, texts, strict=True) if one not in known}
    reused = sum(one in known for one in hashes)
    found = dict(known)
    names = list(wanted)
    for start in range(0, len(names), BATCH):
        report(reused + start)
        batch = names[start : start + BATCH]
        rows = await model.embed([wanted[name] for name in batch], purpose="document")
        found |= {name: pack_vector(np.asarray(row)) for name, row in zip(batch, rows, strict=True)}
    return [found[one] for one in hashes], reused
