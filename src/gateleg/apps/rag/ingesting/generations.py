"""Generations of a document's chunks. A new one is written beside the one that searches find; one conditional update then replaces it.

Whatever is interrupted, searches find the old generation or the new one, never a part of either: they compare every hit with the document.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.object_keys import document_prefix, page_prefix
from gateleg.apps.rag.tables import Chunk, Collection, Document, DocumentStatus, Metadata, Revision
from gateleg.store import ConditionFailed, IllegalTransition, LostRace, NotFound, TransactionCanceled, check, patch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from gateleg.model import Condition
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

#: Chunks that are written at a time.
BATCH = 200
#: Earlier contents of a document that are kept.
KEPT_REVISIONS = 10


class IndexesChanged(Exception):
    """The collection has got or lost an index since the ingestion began: the next attempt fills the present ones."""


class Superseded(Exception):
    """Another ingestion of the document was submitted since, or the document is being deleted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the document is to be once its new generation is found."""

    generation: int
    chunks: int
    digest: str
    content_hash: str
    size: int
    content_type: str
    pages: int | None
    language: str | None
    title: str | None
    warnings: tuple[str, ...]
    strategy: dict[str, Any]
    simhash: str
    source: str
    bucket: str | None
    name: str
    username: str
    etag: str | None = None
    url: str | None = None
    metadata: Metadata | None = None
    override: dict[str, Any] | None = None


async def begin_generation(store: AsyncStore, document: Document, job_id: UUID) -> Document:
    """Take the next generation's number. Raises `Superseded` if the document is no longer this job's."""
    try:
        actions, condition = moved(document, DocumentStatus.IN_PROGRESS, job_id)
        return await store.patch(document.key, *actions, Document.last_generation.add(1), condition=condition)
    except (ConditionFailed, IllegalTransition, NotFound):
        raise Superseded from None


def moved(document: Document, status: DocumentStatus, job_id: UUID) -> tuple[list[Any], Any]:
    """What moves a document to a status on behalf of its job, and on which condition; one that an earlier attempt has left there stays."""
    own = Document.job_id == job_id
    return ([], own & (Document.status == status)) if document.status is status else ([Document.status.to(status)], own)


async def write_chunks(store: AsyncStore, chunks: Sequence[Chunk], report: Callable[[int], None]) -> None:
    """Write chunks of a generation that nobody finds yet. `report` hears how many are written, and may end it."""
    for start in range(0, len(chunks), BATCH):
        report(start)
        await store.batch_write(chunks[start : start + BATCH])


async def finish_generation(store: AsyncStore, document: Document, job_id: UUID, found: Outcome, collection: Collection) -> Document:
    """Let searches find the new generation in place of the old one: the one update that replaces a document.

    Raises `IndexesChanged` if the collection, as it was read, has got or lost a shadow index since: the generation is not in all of its
    indexes then.
    """
    actions: list[Any] = [
        Document.generation.set(found.generation),
        Document.status.to(DocumentStatus.COMPLETED),
        Document.chunks.set(found.chunks),
        Document.ingestion_digest.set(found.digest),
        Document.content_hash.set(found.content_hash),
        Document.size.set(found.size),
        Document.content_type.set(found.content_type),
        Document.chunk_strategy.set(found.strategy),
        Document.simhash.set(found.simhash),
        Document.source.set(found.source),
        Document.document_name.set(found.name),
        Document.username.set(found.username),
        Document.warnings.set(list(found.warnings)),
        Document.error_message.remove(),
    ]
    optional: list[tuple[Any, Any]] = [
        (Document.pages, found.pages),
        (Document.language, found.language),
        (Document.title, found.title),
        (Document.bucket, found.bucket),
        (Document.source_etag, found.etag),
        (Document.url, found.url),
        (Document.metadata, found.metadata),
        (Document.strategy_override, found.override),
    ]
    actions += [attribute.remove() if value is None else attribute.set(value) for attribute, value in optional]
    if document.content_hash != found.content_hash:
        actions += [Document.revision.set(document.revision + 1), Document.revisions.set(kept_revisions(document, found))]
    try:
        # Of two workers that both believe to have the job, the one with the later generation has it.
        condition = (Document.job_id == job_id) & (Document.last_generation == found.generation)
        await store.transact([patch(document.key, *actions, condition=condition), check(collection.key, same_indexes(collection))])
    except TransactionCanceled as error:
        if isinstance(error.reasons[0], ConditionFailed | IllegalTransition | NotFound):
            raise Superseded from None
        if isinstance(error.reasons[1], ConditionFailed | NotFound):
            raise IndexesChanged("the collection is being embedded anew, or has been") from None
        raise
    return await store.get(document.key, consistent=True)


def same_indexes(collection: Collection) -> Condition:
    """That a collection has the indexes that it had when it was read. Rows that have never changed theirs may lack the number."""
    same = Collection.index_changes == collection.index_changes
    return same if collection.index_changes else same | Collection.index_changes.missing()


def kept_revisions(document: Document, found: Outcome) -> list[Revision]:
    """The earlier contents, with the one that is replaced first. One whose object was overwritten is not kept."""
    if document.content_hash is None or document.revision == 0:
        return list(document.revisions)
    replaced = Revision(
        number=document.revision,
        content_hash=document.content_hash,
        size=document.size or 0,
        source=document.source,
        bucket=document.bucket,
        upload_date=document.upload_date,
        username=document.username,
    )
    there = [one for one in (replaced, *document.revisions) if (one.bucket, one.source) != (found.bucket, found.source)]
    return there[:KEPT_REVISIONS]


def stale_generations(document: Document) -> list[int]:
    """The generations that may have chunks and that searches do not find."""
    return [number for number in range(document.first_generation, document.last_generation + 1) if number != document.generation]


async def mark_removed(store: AsyncStore, document: Document) -> None:
    """Record that the stale generations of a document are gone, once everything of them is."""
    kept = document.generation if document.generation is not None else document.last_generation + 1
    if kept > document.first_generation:
        condition = Document.last_generation == document.last_generation
        # An ingestion that has begun meanwhile does it.
        with suppress(ConditionFailed, LostRace, NotFound):
            await store.patch(document.key, Document.first_generation.set(kept), condition=condition)


def text_key(document: Document, generation: int) -> str:
    """The object that holds the text of a generation, with its pages, lines and headings."""
    own = document_prefix(document.repository_id, document.collection_id, document.document_id)
    return f"{own}text/{generation:06d}.json.gz"


async def forget_page_images(objects: AsyncObjects, document: Document, generation: int) -> None:
    """Remove the pictures of a generation that is no longer shown."""
    prefix = page_prefix(document.repository_id, document.collection_id, document.document_id, generation)
    while found := (await objects.list(prefix)).objects:
        await objects.delete_many([one.key for one in found])
