"""Embed the chunks of a collection with another model, or those without vectors with its own.

The new vectors are written next to the current ones and into a shadow index. One update of the collection's row then switches searches to
that index and its model; until then they use the old ones, whatever is interrupted. Ingestions in the meantime write to both indexes, and
`finish_generation` refuses those that did not.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.ai.errors import AiError
from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import ensure_stored, open_collection
from gateleg.apps.rag.errors import IndexDamaged, RagError
from gateleg.apps.rag.host_checks import check_model
from gateleg.apps.rag.index.entries import entry_of, pack_vector
from gateleg.apps.rag.index.names import index_name, stored_vector
from gateleg.apps.rag.ingesting.embedding import BATCH, embedded_text
from gateleg.apps.rag.ingesting.job_types import REEMBED, ReembedConfig, ReembedResult
from gateleg.apps.rag.ingesting.shadow_index import begin_shadow, check_unclaimed, end_shadow, is_swapped, swap_index
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Chunk, Collection, Document
from gateleg.host import submitted_by
from gateleg.jobs import GiveUp, Submission
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, patch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.index.registry import Indexes
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.jobs import Job, JobContext


async def start_reembedding(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, model: str, *, once: str | None = None
) -> Job:
    """Start a job that embeds all chunks of a collection with a model. With the collection's own model, it embeds those without vectors."""
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.CHANGE_COLLECTION)
    check_accepts_documents(opened.repository, opened.collection)
    check_model(resources, model)
    row = await ensure_stored(resources.store, opened)
    subject = Subject(repository_id, row.collection_id)
    config = ReembedConfig(repository_id=repository_id, collection_id=row.collection_id, model=model, username=caller.user)
    key = None if once is None else f"{subject}:reembed:{once}"
    submission = Submission(REEMBED, config, subject=str(subject), idempotency_key=key)
    return (await resources.queue.submit(submitted_by(caller.principal, submission))).job


async def reembed(job: JobContext, config: ReembedConfig, resources: Resources[RagSettings], indexes: Indexes) -> ReembedResult:
    """The job handler. It can be interrupted anywhere and run again; chunks that are already embedded are skipped."""
    work = _Reembedding(job, config, resources, indexes)
    try:
        return await work.run()
    except (RagError, AiError) as error:
        if isinstance(error, AiError) and error.passing and job.job.retry_count < job.job.max_retries:
            raise
        await work.abandon()
        raise GiveUp(str(error)) from error
    except asyncio.CancelledError:
        if job.cancelled:
            await work.abandon()
        raise
    except Exception:
        if job.job.retry_count >= job.job.max_retries:
            await work.abandon()
        raise


class _Reembedding:
    """One attempt of a re-embedding."""

    def __init__(self, job: JobContext, config: ReembedConfig, resources: Resources[RagSettings], indexes: Indexes) -> None:
        self.job = job
        self.config = config
        self.resources = resources
        self.store = resources.store
        self.indexes = indexes
        self.documents = self.chunks = self.embedded = 0

    async def run(self) -> ReembedResult:
        row = await self._row()
        if row.shadow_job_id != self.job.job_id:
            await check_unclaimed(self.resources, row)
            if is_swapped(row):
                # The job that swapped the index was stopped before the cleanup.
                row = await self._clean_up(row)
            if row.embedding_model == self.config.model and not await self._lacks_vectors():
                return ReembedResult(outcome="unchanged")
            row = await begin_shadow(self.store, row, self.job.job_id, self.config.model)
        if not is_swapped(row):
            await self._fill_index(row)
            self.job.check()
            row = await swap_index(self.store, row)
            self.job.log(f"searches now use {row.embedding_model}")
        await self._clean_up(row)
        return ReembedResult(outcome="reembedded", documents=self.documents, chunks=self.chunks, embedded=self.embedded)

    async def _lacks_vectors(self) -> bool:
        """Whether documents were ingested without vectors, because the model could not be used."""
        async for document in self._documents():
            if document.keywords_only is not None:
                return True
        return False

    async def abandon(self) -> None:
        """Drop the shadow index; if searches already use it, finish the cleanup of the old one instead."""
        row = await self._row()
        if row.shadow_job_id != self.job.job_id or row.shadow_number is None:
            return
        if is_swapped(row):
            await self._clean_up(row)
            return
        await end_shadow(self.store, row)
        await asyncio.to_thread(self.indexes.drop, row.repository_id, index_name(row.collection_id, row.shadow_number))

    async def _row(self) -> Collection:
        key = Collection.key(collection_id=self.config.collection_id, repository_id=self.config.repository_id)
        found = await self.store.find(key, consistent=True)
        if found is None:
            raise GiveUp("The collection was removed.")
        return found

    async def _documents(self) -> AsyncIterator[Document]:
        where = Document.in_partition(repository_id=self.config.repository_id, collection_id=self.config.collection_id)
        async for document in self.store.query(where, consistent=True):
            if document.generation is not None:
                yield document

    async def _fill_index(self, row: Collection) -> None:
        """Write the new vectors of all chunks of current generations, and add them to the shadow index."""
        assert row.shadow_number is not None
        name = index_name(row.collection_id, row.shadow_number)
        total = await self.store.count(Chunk.in_collection, repository_id=row.repository_id, collection_id=row.collection_id)
        counts = await self._in_index(name, lambda index: index.counts())
        async for document in self._documents():
            self.job.check()
            self.documents += 1
            if counts.get((document.document_id, document.generation or 0)) != document.chunks:
                await self._fill_document(name, document, total)
            else:
                self.chunks += document.chunks
        await self._in_index(name, lambda index: index.mark_complete())

    async def _fill_document(self, name: str, document: Document, total: int) -> None:
        async for batch in self._batches(document):
            self.job.progress(self.chunks, max(total, self.chunks, 1), f"{self.chunks} of {total} chunks")
            self.job.check()
            done = await self._embed(batch)
            if done is None:
                # The document was replaced or removed meanwhile; that ingestion or deletion also updates the shadow index.
                break
            entries = [entry_of(chunk, document.language, self.config.model) for chunk in done]
            await self._in_index(name, lambda index, rows=entries: index.add_entries(document.document_id, document.generation or 0, rows))
            self.chunks += len(done)
        now = await self.store.find(document.key, consistent=True)
        if now is None or now.generation != document.generation:
            await self._in_index(name, lambda index: index.remove(document.document_id, document.generation))

    async def _batches(self, document: Document) -> AsyncIterator[list[Chunk]]:
        batch: list[Chunk] = []
        where = Chunk.of_document(document_id=document.document_id, generation=document.generation or 0)
        async for chunk in self.store.query(where, consistent=True):
            batch.append(chunk)
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    async def _embed(self, batch: Sequence[Chunk]) -> list[Chunk] | None:
        """Embed the chunks that lack a vector by the new model and write it; None if a chunk no longer exists."""
        model = self.config.model
        known = [stored_vector(chunk, model) for chunk in batch]
        wanted = [chunk for chunk, vector in zip(batch, known, strict=True) if vector is None]
        if not wanted:
            return list(batch)
        texts = [embedded_text(chunk.text, chunk.heading) for chunk in wanted]
        rows = await self.resources.models.embeddings(model, cache=False).embed(texts, purpose="document")
        vectors = [pack_vector(np.asarray(row)) for row in rows]
        writes = [
            patch(chunk.key, Chunk.shadow_vector.set(vector), Chunk.shadow_model.set(model))
            for chunk, vector in zip(wanted, vectors, strict=True)
        ]
        try:
            await self.store.transact(writes)
        except TransactionCanceled as error:
            if not any(isinstance(reason, NotFound | ConditionFailed) for reason in error.reasons):
                raise
            return None
        self.embedded += len(wanted)
        for chunk, vector in zip(wanted, vectors, strict=True):
            chunk.shadow_vector, chunk.shadow_model = vector, model
        return list(batch)

    async def _clean_up(self, row: Collection) -> Collection:
        """Remove the old indexes and the vectors of the old model, and release the collection. Cannot be cancelled: the swap is final."""
        for number in range(row.index_number):
            await asyncio.to_thread(self.indexes.drop, row.repository_id, index_name(row.collection_id, number))
        async for document in self._documents():
            async for batch in self._batches(document):
                await self._replace_vectors(
                    [one for one in batch if one.shadow_model == row.embedding_model and one.shadow_vector is not None]
                )
            if document.keywords_only is not None:
                with suppress(ConditionFailed, NotFound):
                    # An ingestion that has replaced the chunks meanwhile has said itself whether they have vectors.
                    await self.store.patch(
                        document.key, Document.keywords_only.remove(), condition=Document.generation == document.generation
                    )
        return await end_shadow(self.store, row)

    async def _replace_vectors(self, chunks: Sequence[Chunk]) -> None:
        writes: list[Any] = [
            patch(
                chunk.key,
                Chunk.vector.set(chunk.shadow_vector),
                Chunk.embedding_model.set(chunk.shadow_model or ""),
                Chunk.shadow_vector.remove(),
                Chunk.shadow_model.remove(),
            )
            for chunk in chunks
        ]
        try:
            if writes:
                await self.store.transact(writes)
        except TransactionCanceled as error:
            # The document was replaced or removed meanwhile, and its chunks with it.
            if not any(isinstance(reason, NotFound | ConditionFailed) for reason in error.reasons):
                raise

    async def _in_index(self, name: str, act: Any) -> Any:
        try:
            return await self.indexes.run(self.config.repository_id, name, act)
        except IndexDamaged:
            return await self.indexes.run(self.config.repository_id, name, act)
