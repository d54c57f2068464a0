"""Remove documents and collections for good: chunks, vectors, objects and rows; and count what is left.

Every function is safe to repeat after an interruption.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol

from gateleg.apps.rag.evaluating.service import remove_evaluations
from gateleg.apps.rag.index.names import all_indexes
from gateleg.apps.rag.ingesting.fingerprints import delete_fingerprint
from gateleg.apps.rag.object_keys import collection_prefix, document_prefix
from gateleg.apps.rag.tables import Chunk, Collection, Document, PipelineState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.rag.tables import Pipeline
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

#: Objects that are deleted by one request.
_OBJECTS = 500


class Vectors(Protocol):
    """The part of a collection's search index that a purge needs."""

    def remove(self, document_id: str, generation: int | None = None) -> int:
        """Remove a document and return its number of chunks."""
        ...

    def count(self) -> int:
        """The number of chunks in the index."""
        ...


class CollectionIndexes(Protocol):
    """The search indexes of all collections. Calls block."""

    def open(self, repository_id: str, collection_id: str) -> Vectors:
        """Open the index of a collection; create it if it does not exist."""
        ...

    def existing(self, repository_id: str, collection_id: str) -> list[str]:
        """The names of a collection's indexes that have files on this machine."""
        ...

    def drop(self, repository_id: str, collection_id: str) -> None:
        """Remove the index of a collection."""
        ...


@dataclass(frozen=True, slots=True)
class PurgeResources:
    """The store, the objects and the search indexes that a purge removes from."""

    store: AsyncStore
    objects: AsyncObjects
    indexes: CollectionIndexes


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of things that were removed, or are left."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    objects: int = 0

    def __add__(self, other: Counts) -> Counts:
        """The sum."""
        return Counts(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __bool__(self) -> bool:
        """Whether any count is not zero."""
        return any(getattr(self, one.name) for one in fields(self))

    def __str__(self) -> str:
        """The counts in words."""
        return ", ".join(f"{getattr(self, one.name):,} {one.name}" for one in fields(self))


async def purge_document(resources: PurgeResources, document: Document) -> Counts:
    """Remove a document with its chunks of all generations, its vectors and its objects; its row last."""
    store = resources.store
    repository_id, collection_id, document_id = document.repository_id, document.collection_id, document.document_id
    names = await _index_names(resources, repository_id, collection_id)
    vectors = await asyncio.to_thread(lambda: sum(resources.indexes.open(repository_id, name).remove(document_id) for name in names))
    chunks = await _purge_chunks(store, document)
    objects = await _purge_objects(resources.objects, document_prefix(repository_id, collection_id, document_id))
    await delete_fingerprint(store, document)
    await store.delete(document, check_version=False)
    return Counts(1, chunks, vectors, objects)


async def _purge_chunks(store: AsyncStore, document: Document) -> int:
    removed = 0
    for generation in range(document.first_generation, max(document.last_generation, document.generation or 0) + 1):
        removed += await store.delete_all(Chunk.of_document, document_id=document.document_id, generation=generation)
    return removed


async def _purge_objects(objects: AsyncObjects, prefix: str) -> int:
    removed = 0
    while found := (await objects.list(prefix, limit=_OBJECTS)).objects:
        await objects.delete_many([entry.key for entry in found])
        removed += len(found)
    return removed


async def purge_collection(
    resources: PurgeResources, repository_id: str, collection_id: str, report: Callable[[int], None] = lambda done: None
) -> Counts:
    """Remove everything in a collection, including leftovers of killed ingestions. `report` receives the number of removed documents."""
    store = resources.store
    total = Counts(vectors=await _count_vectors(resources, repository_id, collection_id))
    await drop_indexes(resources, repository_id, collection_id)
    async for document in store.query(Document.in_partition, repository_id=repository_id, collection_id=collection_id, consistent=True):
        chunks = await _purge_chunks(store, document)
        objects = await _purge_objects(resources.objects, document_prefix(repository_id, collection_id, document.document_id))
        await delete_fingerprint(store, document)
        await store.delete(document, check_version=False)
        total += Counts(1, chunks, 0, objects)
        report(total.documents)
    await remove_evaluations(store, repository_id, collection_id)
    strays = await store.delete_all(Chunk.in_collection, repository_id=repository_id, collection_id=collection_id)
    objects = await _purge_objects(resources.objects, collection_prefix(repository_id, collection_id))
    return total + Counts(chunks=strays, objects=objects)


async def delete_pipeline_states(store: AsyncStore, pipelines: Sequence[Pipeline] | None) -> None:
    """Delete the states of removed pipelines."""
    for one in pipelines or ():
        await store.delete(PipelineState, pipeline_id=one.pipeline_id, check_version=False)


async def count_left(resources: PurgeResources, repository_id: str, collection_id: str) -> Counts:
    """Count what a collection still contains."""
    store = resources.store
    documents = await store.count(Document.in_partition, repository_id=repository_id, collection_id=collection_id, consistent=True)
    chunks = await store.count(Chunk.in_collection, repository_id=repository_id, collection_id=collection_id)
    objects = len((await resources.objects.list(collection_prefix(repository_id, collection_id))).objects)
    return Counts(documents, chunks, await _count_vectors(resources, repository_id, collection_id), objects)


async def _count_vectors(resources: PurgeResources, repository_id: str, collection_id: str) -> int:
    names = await _index_names(resources, repository_id, collection_id)
    return await asyncio.to_thread(lambda: sum(resources.indexes.open(repository_id, name).count() for name in names))


async def drop_indexes(resources: PurgeResources, repository_id: str, collection_id: str) -> None:
    """Remove all indexes of a collection."""
    for name in await _index_names(resources, repository_id, collection_id):
        await asyncio.to_thread(resources.indexes.drop, repository_id, name)


async def _index_names(resources: PurgeResources, repository_id: str, collection_id: str) -> Sequence[str]:
    row = await resources.store.find(Collection, collection_id=collection_id, repository_id=repository_id, consistent=True)
    names = all_indexes(collection_id, row)
    # Without the row, the number of indexes is unknown.
    existing = await asyncio.to_thread(resources.indexes.existing, repository_id, collection_id) if row is None else []
    return list(dict.fromkeys((*names, *existing)))
