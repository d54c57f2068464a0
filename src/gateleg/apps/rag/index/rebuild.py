"""Rebuild an index from the tables of documents and chunks, which are the source of truth."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import IndexRebuilding, IndexReplaced
from gateleg.apps.rag.index.entries import entry_of
from gateleg.apps.rag.index.names import searched_index
from gateleg.apps.rag.tables import Chunk, Collection, Document

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.rag.index.entries import CollectionIndex
    from gateleg.apps.rag.index.registry import Indexes
    from gateleg.store import AsyncStore

_log = logging.getLogger(__name__)
#: Chunks read and added at a time.
_BATCH = 500
#: Seconds that a search waits for a rebuild.
PATIENCE = 20.0


async def ready_index(store: AsyncStore, indexes: Indexes, collection: Collection, patience: float = PATIENCE) -> None:
    """Rebuild a collection's index unless it is complete.

    Raises `IndexRebuilding` after `patience` seconds, while a task of this process continues the rebuild, and `IndexReplaced` if the
    collection has another index by now.
    """
    place = (collection.repository_id, searched_index(collection))
    if await indexes.run(*place, lambda index: index.complete):
        return
    now = await store.find(collection.key, consistent=True)
    if now is not None and now.index_number != collection.index_number:
        raise IndexReplaced(f"The collection {collection.collection_id!r} has been re-embedded.")
    rebuild = indexes.rebuild(*place, lambda: _rebuilt(store, indexes, collection))
    try:
        await asyncio.wait_for(asyncio.shield(rebuild), patience)
    except TimeoutError:
        raise IndexRebuilding(f"The search index of the collection {collection.collection_id!r} is being rebuilt.") from None


async def _rebuilt(store: AsyncStore, indexes: Indexes, collection: Collection) -> None:
    if not await indexes.run(collection.repository_id, searched_index(collection), lambda index: index.complete):
        await rebuild_index(store, indexes, collection)


async def rebuild_index(
    store: AsyncStore, indexes: Indexes, collection: Collection, progress: Callable[[int], Awaitable[None]] | None = None
) -> int:
    """Add missing chunks to an index and remove stale ones. Return the number of added chunks. `progress` receives the documents done."""
    repository_id, collection_id, index_id = collection.repository_id, collection.collection_id, searched_index(collection)
    counts = await indexes.run(repository_id, index_id, lambda index: index.counts())
    current: set[tuple[str, int]] = set()
    added = done = 0
    async for document in store.query(Document.in_partition, repository_id=repository_id, collection_id=collection_id, consistent=True):
        if document.generation is not None:
            current.add((document.document_id, document.generation))
            if counts.get((document.document_id, document.generation)) != document.chunks:
                added += await _add_document(store, indexes, collection, document)
        done += 1
        if progress is not None:
            await progress(done)
    # A newer generation may belong to a running ingestion, which will publish or remove it.
    stale = [key for key in counts if key not in current and not await _is_coming(store, repository_id, collection_id, *key)]
    for document_id, generation in stale:
        await indexes.run(repository_id, index_id, _removal(document_id, generation))
    await indexes.run(repository_id, index_id, lambda index: index.mark_complete())
    if added or stale:
        _log.info("index of %s/%s: added %d chunks, removed %d old generations", repository_id, collection_id, added, len(stale))
    return added


async def _add_document(store: AsyncStore, indexes: Indexes, collection: Collection, document: Document) -> int:
    added = 0
    model = collection.embedding_model
    batch: list[Chunk] = []

    async def flush() -> int:
        generation = batch[0].generation
        entries = [entry_of(chunk, document.language, model) for chunk in batch]
        batch.clear()
        return await indexes.run(
            document.repository_id, searched_index(collection), lambda index: index.add_entries(document.document_id, generation, entries)
        )

    async for chunk in store.query(Chunk.of_document, document_id=document.document_id, generation=document.generation, consistent=True):
        batch.append(chunk)
        if len(batch) >= _BATCH:
            added += await flush()
            await asyncio.sleep(0)
    return added + (await flush() if batch else 0)


async def _is_coming(store: AsyncStore, repository_id: str, collection_id: str, document_id: str, generation: int) -> bool:
    """Whether a generation is not older than the document's current one."""
    document = await store.find(
        Document, repository_id=repository_id, collection_id=collection_id, document_id=document_id, consistent=True
    )
    return document is not None and generation >= (document.generation or 0)


def _removal(document_id: str, generation: int) -> Callable[[CollectionIndex], int]:
    return lambda index: index.remove(document_id, generation)
