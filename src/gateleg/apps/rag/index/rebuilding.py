"""Filling an index from the documents and chunks tables, which are the truth: when it is new, was lost, or may have missed something."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from gateleg.apps.rag.errors import IndexRebuilding
from gateleg.apps.rag.tables import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.apps.rag.index.entries import CollectionIndex
    from gateleg.apps.rag.index.registry import Indexes
    from gateleg.store import AsyncStore

_log = logging.getLogger(__name__)
#: Chunks that are read and added at a time.
_BATCH = 500
#: Seconds that a search waits for its index to be rebuilt.
PATIENCE = 20.0


async def ready_index(store: AsyncStore, indexes: Indexes, repository_id: str, collection_id: str, patience: float = PATIENCE) -> None:
    """See to it that a collection's index has been compared with the tables since it was made; at once if it has.

    A large collection takes longer than `patience` seconds: `IndexRebuilding` says so, while a task of this process goes on with it.
    """
    if await indexes.run(repository_id, collection_id, lambda index: index.complete):
        return
    rebuild = indexes.rebuild(repository_id, collection_id, lambda: _rebuilt(store, indexes, repository_id, collection_id))
    try:
        await asyncio.wait_for(asyncio.shield(rebuild), patience)
    except TimeoutError:
        raise IndexRebuilding(f"The search index of the collection {collection_id!r} is being rebuilt.") from None


async def _rebuilt(store: AsyncStore, indexes: Indexes, repository_id: str, collection_id: str) -> None:
    if not await indexes.run(repository_id, collection_id, lambda index: index.complete):
        await rebuild_index(store, indexes, repository_id, collection_id)


async def rebuild_index(
    store: AsyncStore, indexes: Indexes, repository_id: str, collection_id: str, progress: Callable[[int], Awaitable[None]] | None = None
) -> int:
    """Add what an index lacks and remove what it should not have; how many chunks were added. `progress` is told of documents."""
    counts = await indexes.run(repository_id, collection_id, lambda index: index.counts())
    current: set[tuple[str, int]] = set()
    added = done = 0
    async for document in store.query(Document.in_partition, repository_id=repository_id, collection_id=collection_id, consistent=True):
        if document.generation is not None:
            current.add((document.document_id, document.generation))
            if counts.get((document.document_id, document.generation)) != document.chunks:
                added += await _add_document(store, indexes, document)
        done += 1
        if progress is not None:
            await progress(done)
    # Generations that are not current yet may be those of an ingestion that is under way: it removes them, or makes them current.
    stale = [key for key in counts if key not in current and not await _is_coming(store, repository_id, collection_id, *key)]
    for document_id, generation in stale:
        await indexes.run(repository_id, collection_id, _removal(document_id, generation))
    await indexes.run(repository_id, collection_id, lambda index: index.mark_complete())
    if added or stale:
        _log.info("index of %s/%s: added %d chunks, removed %d old generations", repository_id, collection_id, added, len(stale))
    return added


async def _add_document(store: AsyncStore, indexes: Indexes, document: Document) -> int:
    added = 0
    batch: list[Chunk] = []

    async def flush() -> int:
        chunks = list(batch)
        batch.clear()
        return await indexes.run(
            document.repository_id,
            document.collection_id,
            lambda index: index.add(document.document_id, chunks[0].generation, chunks, language=document.language),
        )

    async for chunk in store.query(Chunk.of_document, document_id=document.document_id, generation=document.generation, consistent=True):
        batch.append(chunk)
        if len(batch) >= _BATCH:
            added += await flush()
            await asyncio.sleep(0)
    return added + (await flush() if batch else 0)


async def _is_coming(store: AsyncStore, repository_id: str, collection_id: str, document_id: str, generation: int) -> bool:
    """Whether a generation is newer than the one that a document has."""
    document = await store.find(
        Document, repository_id=repository_id, collection_id=collection_id, document_id=document_id, consistent=True
    )
    return document is not None and generation >= (document.generation or 0)


def _removal(document_id: str, generation: int) -> Callable[[CollectionIndex], int]:
    return lambda index: index.remove(document_id, generation)
