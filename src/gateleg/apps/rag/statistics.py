"""Statistics of a collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import Document

if TYPE_CHECKING:
    from gateleg.apps.rag.collections import OpenedCollection
    from gateleg.store import AsyncStore


@dataclass(frozen=True, slots=True)
class Statistics:
    """Totals over the documents of a collection."""

    documents: int = 0
    chunks: int = 0
    #: bytes of all files
    size: int = 0
    #: milliseconds since 1970; None for an empty collection
    last_upload: int | None = None
    by_status: dict[str, int] = field(default_factory=dict)


async def count_collection(store: AsyncStore, opened: OpenedCollection) -> Statistics:
    """Read all document rows of a collection and add them up."""
    row = opened.collection
    everything = Document.in_partition(repository_id=row.repository_id, collection_id=row.collection_id)
    documents = chunks = size = 0
    last: int | None = None
    by_status: dict[str, int] = {}
    async for document in store.query(everything):
        documents += 1
        chunks += document.chunks
        size += document.size or 0
        last = max(last or 0, document.upload_date)
        by_status[document.status.value] = by_status.get(document.status.value, 0) + 1
    return Statistics(documents, chunks, size, last, by_status)
