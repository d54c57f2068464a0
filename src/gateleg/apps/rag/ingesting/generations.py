"""Generations of a document's chunks. A new generation is written next to the current one, which one conditional update then replaces.

After any interruption searches find the whole old generation or the whole new one, because they check every hit against the document.
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

#: Chunks per batch write.
BATCH = 200
#: Maximum earlier contents of a document.
MAX_REVISIONS = 10


class IndexesChanged(Exception):
    """The collection has gained or lost an index since the ingestion began; the next attempt writes to the current ones."""


class Superseded(Exception):
    """Another ingestion of the document was submitted since, or the document is being deleted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The attributes of the document once its new generation is published."""

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
    keywords_only: str | None = None


async def begin_generation(store: AsyncStore, document: Document, job_id: UUID) -> Document:
    """Reserve the next generation number. Raises `Superseded` if the document belongs to another job by now."""
    try:
        actions, condition = status_change(document, DocumentStatus.IN_PROGRESS, job_id)
        return await store.patch(document.key, *actions, Document.last_generation.add(1), condition=condition)
    except (ConditionFailed, IllegalTransition, NotFound):
        raise Superseded from None


def status_change(document: Document, status: DocumentStatus, job_id: UUID) -> tuple[list[Any], Any]:
    """The actions and the condition that set a document's status for its job; no action if an earlier attempt has set it."""
    own = Document.job_id == job_id
    return ([], own & (Document.status == status)) if document.status is status else ([Document.status.to(status)], own)


async def write_chunks(store: AsyncStore, chunks: Sequence[Chunk], report: Callable[[int], None]) -> None:
    """Write the chunks of an unpublished generation. `report` is called with the number written so far, and may raise to stop."""
    for start in range(0, len(chunks), BATCH):
        report(start)
        await store.batch_write(chunks[start : start + BATCH])


async def finish_generation(store: AsyncStore, document: Document, job_id: UUID, found: Outcome, collection: Collection) -> Document:
    """Publish the new generation in place of the old one, with a single transaction.

    Raises `IndexesChanged` if the collection has gained or lost a shadow index since it was read, because the generation is then missing
    from one of its indexes.
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
        (Document.keywords_only, found.keywords_only),
    ]
    actions += [attribute.remove() if value is None else attribute.set(value) for attribute, value in optional]
    if document.content_hash != found.content_hash:
        actions += [Document.revision.set(document.revision + 1), Document.revisions.set(next_revisions(document, found))]
    try:
        # If two workers both believe that they own the job, the one with the later generation wins.
        condition = (Document.job_id == job_id) & (Document.last_generation == found.generation)
        await store.transact([patch(document.key, *actions, condition=condition), check(collection.key, same_indexes(collection))])
    except TransactionCanceled as error:
        if isinstance(error.reasons[0], ConditionFailed | IllegalTransition | NotFound):
            raise Superseded from None
        if isinstance(error.reasons[1], ConditionFailed | NotFound):
            raise IndexesChanged("the indexes of the collection have changed") from None
        raise
    return await store.get(document.key, consistent=True)


def same_indexes(collection: Collection) -> Condition:
    """The condition that a collection still has the indexes that it had when it was read. Old rows may lack the number."""
    same = Collection.index_changes == collection.index_changes
    return same if collection.index_changes else same | Collection.index_changes.missing()


def next_revisions(document: Document, found: Outcome) -> list[Revision]:
    """The earlier contents, newest first, including the one being replaced. Contents whose object was overwritten are dropped."""
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
    revisions = (replaced, *document.revisions)
    return [one for one in revisions if (one.bucket, one.source) != (found.bucket, found.source)][:MAX_REVISIONS]


def stale_generations(document: Document) -> list[int]:
    """The generations that may still have chunks but are not the current one."""
    return [number for number in range(document.first_generation, document.last_generation + 1) if number != document.generation]


async def mark_removed(store: AsyncStore, document: Document) -> None:
    """Record that the stale generations of a document are removed; call it after removing them."""
    kept = document.generation if document.generation is not None else document.last_generation + 1
    if kept > document.first_generation:
        condition = Document.last_generation == document.last_generation
        # If another ingestion has begun, it will do this.
        with suppress(ConditionFailed, LostRace, NotFound):
            await store.patch(document.key, Document.first_generation.set(kept), condition=condition)


def text_key(document: Document, generation: int) -> str:
    """The key of the object with the text of a generation, its pages, lines and headings."""
    own = document_prefix(document.repository_id, document.collection_id, document.document_id)
    return f"{own}text/{generation:06d}.json.gz"


async def delete_page_images(objects: AsyncObjects, document: Document, generation: int) -> None:
    """Delete the page images of a stale generation."""
    prefix = page_prefix(document.repository_id, document.collection_id, document.document_id, generation)
    while found := (await objects.list(prefix)).objects:
        await objects.delete_many([one.key for one in found])
