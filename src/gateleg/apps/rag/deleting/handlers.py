"""The handlers of deletion jobs. Each is safe to repeat after an interruption."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from gateleg.apps.rag.deleting.document_hiding import hide_document
from gateleg.apps.rag.deleting.job_types import CollectionDeletion, DocumentsDeletion, Removal, RepositoryDeletion
from gateleg.apps.rag.documents import find_document
from gateleg.apps.rag.errors import RagError
from gateleg.apps.rag.purging import (
    Counts,
    PurgeResources,
    count_left,
    delete_pipeline_states,
    drop_indexes,
    purge_collection,
    purge_document,
)
from gateleg.apps.rag.repository_list import entry_of
from gateleg.apps.rag.rules import is_default
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Collection, CollectionStatus, Document, DocumentStatus, Orphan, Repository, RepositoryStatus
from gateleg.jobs import JobMissing, JobStatus, Snooze
from gateleg.store import IllegalTransition, NotFound, delete
from gateleg.store.operations import release_unique

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.jobs import AsyncQueue, Job, JobContext
    from gateleg.store import AsyncStore

#: Seconds between two checks whether cancelled ingestions have stopped.
_LOOK_AGAIN = 0.5
#: Statuses of a repository whose default collection is removed, too.
_REMOVED = (RepositoryStatus.DELETE_IN_PROGRESS, RepositoryStatus.DELETE_FAILED)
_FINISHED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)


class NotRemoved(RagError):
    """Something was left after a purge, because another writer added it meanwhile."""

    status = 500
    fix = "The job retries automatically."


async def delete_collection(job: JobContext, resources: PurgeResources, queue: AsyncQueue, config: CollectionDeletion) -> Removal:
    """Remove a collection."""
    store = resources.store
    repository = await store.find(Repository, repository_id=config.repository_id, consistent=True)
    row = await store.find(Collection, collection_id=config.collection_id, repository_id=config.repository_id, consistent=True)
    if row is not None and row.status is CollectionStatus.DELETE_FAILED:
        row = await store.patch(row, Collection.status.to(CollectionStatus.DELETE_IN_PROGRESS))
    try:
        removed = await _removed(job, resources, queue, config)
        if row is not None:
            await _close_collection(store, repository, row)
        else:
            await _close_orphan(store, config)
    except Snooze:
        raise
    except (Exception, asyncio.CancelledError):
        if row is not None:
            with suppress(NotFound, IllegalTransition):
                await store.patch(row.key, Collection.status.to(CollectionStatus.DELETE_FAILED))
        raise
    job.log(f"removed {removed}; nothing is left")
    return Removal.of(removed, collections=0 if row is None else 1)


async def _removed(job: JobContext, resources: PurgeResources, queue: AsyncQueue, config: CollectionDeletion) -> Counts:
    await _stop_ingestions(job, queue, Subject(config.repository_id, config.collection_id))
    everything = Document.in_partition(repository_id=config.repository_id, collection_id=config.collection_id)
    total = await resources.store.count(everything)

    def report(done: int) -> None:
        job.check()
        job.progress(done, max(total, done) + 1, f"{done} of {total} documents removed")

    removed = await purge_collection(resources, config.repository_id, config.collection_id, report)
    left = await count_left(resources, config.repository_id, config.collection_id)
    if left:
        raise NotRemoved(f"The purge left {left}.")
    # Counting has created an empty index.
    await drop_indexes(resources, config.repository_id, config.collection_id)
    return removed


async def _close_collection(store: AsyncStore, repository: Repository | None, row: Collection) -> None:
    """Delete the row, which releases the name. A default collection, now empty, becomes active again."""
    current = await store.find(row.key, consistent=True)
    if current is None:
        return
    if repository is not None and repository.status not in _REMOVED and is_default(current, repository):
        if current.status is not CollectionStatus.ACTIVE:
            await store.patch(current, Collection.status.to(CollectionStatus.ACTIVE), Collection.delete_job_id.remove())
        return
    await delete_pipeline_states(store, current.pipelines)
    await store.delete(current)


async def _close_orphan(store: AsyncStore, config: CollectionDeletion) -> None:
    """Release the name of a collection whose row is gone, and forget that it was seen. A row that exists by now keeps its name."""
    if config.name is not None:
        await release_name(store, config.repository_id, config.collection_id, config.name)
    await store.delete(Orphan, repository_id=config.repository_id, collection_id=config.collection_id)


async def release_name(store: AsyncStore, repository_id: str, collection_id: str, name: str) -> None:
    """Release the name of a collection whose row is gone."""
    # The model and the creator are unknown by now, and do not matter for the name.
    gone = Collection(collection_id=collection_id, repository_id=repository_id, name=name, embedding_model="", created_by="")
    await store.run(release_unique(gone))


async def _stop_ingestions(job: JobContext, queue: AsyncQueue, subject: Subject) -> None:
    """Cancel all other jobs of a subject; snooze this job until they have stopped."""
    running = [one async for one in _unfinished(queue, str(subject)) if one.job_id != job.job_id]
    for one in running:
        await queue.cancel(one.job_id, reason="its collection is being deleted")
    still = [one for one in running if (await queue.get_or_archived(one.job_id)).status not in _FINISHED]
    if still:
        job.log(f"waiting for {len(still)} ingestions to stop")
        raise Snooze(_LOOK_AGAIN)


async def _unfinished(queue: AsyncQueue, subject: str) -> AsyncIterator[Job]:
    cursor: str | None = None
    while True:
        page = await queue.jobs_page(subject=subject, limit=200, cursor=cursor)
        for job in page:
            if job.status not in _FINISHED:
                yield job
        if (cursor := page.next) is None:
            return


async def delete_repository(job: JobContext, resources: PurgeResources, queue: AsyncQueue, config: RepositoryDeletion) -> Removal:
    """Remove a repository: its collections one by one, and its own row last."""
    store = resources.store
    row = await store.find(Repository, repository_id=config.repository_id, consistent=True)
    if row is None:
        return Removal()
    if row.status is RepositoryStatus.DELETE_FAILED:
        row = await store.patch(row, Repository.status.to(RepositoryStatus.DELETE_IN_PROGRESS))
    try:
        removed, collections = await _removed_collections(job, resources, queue, row)
        await store.transact([delete(row, check_version=False), delete(entry_of(row).key)])
    except Snooze:
        raise
    except (Exception, asyncio.CancelledError):
        with suppress(NotFound, IllegalTransition):
            await store.patch(row.key, Repository.status.to(RepositoryStatus.DELETE_FAILED))
        raise
    job.log(f"removed {collections} collections with {removed}; nothing is left")
    return Removal.of(removed, collections)


async def _removed_collections(job: JobContext, resources: PurgeResources, queue: AsyncQueue, repository: Repository) -> tuple[Counts, int]:
    store, repository_id = resources.store, repository.repository_id
    rows = [row async for row in store.query(Collection.in_repository, repository_id=repository_id)]
    known = {row.collection_id for row in rows} | {repository.config.embedding_model_id}
    # Include documents whose collection has no row.
    found = store.query(Document.in_repository, repository_id=repository_id, project=[Document.collection_id])
    ids = sorted(known | {one["collection_id"] async for one in found})
    total = Counts()
    for number, collection_id in enumerate(ids):
        job.check()
        job.progress(number, len(ids) + 1, f"{number} of {len(ids)} collections removed")
        total += await _removed(job, resources, queue, CollectionDeletion(repository_id=repository_id, collection_id=collection_id))
        row = await store.find(Collection, collection_id=collection_id, repository_id=repository_id, consistent=True)
        if row is not None:
            await delete_pipeline_states(store, row.pipelines)
            await store.delete(row)
    await delete_pipeline_states(store, repository.config.pipelines)
    return total, len(rows)


async def delete_documents(job: JobContext, resources: PurgeResources, queue: AsyncQueue, config: DocumentsDeletion) -> Removal:
    """Remove documents."""
    store = resources.store
    repository = await store.find(Repository, repository_id=config.repository_id, consistent=True)
    if repository is None:
        return Removal()
    total = Counts()
    for number, document_id in enumerate(config.document_ids):
        job.check()
        job.progress(number, len(config.document_ids), f"{number} of {len(config.document_ids)} documents removed")
        before = await find_document(store, repository, document_id)
        if before is not None:
            await _stop_ingestion_of(job, queue, before)
        document = await hide_document(store, repository, document_id, job.job_id)
        if document is None:
            continue
        try:
            total += await purge_document(resources, document)
        except Exception:
            await store.patch(document.key, Document.status.to(DocumentStatus.DELETE_FAILED))
            raise
    return Removal.of(total)


async def _stop_ingestion_of(job: JobContext, queue: AsyncQueue, document: Document) -> None:
    if document.job_id is None or document.job_id == job.job_id or document.status is DocumentStatus.DELETE_IN_PROGRESS:
        return
    try:
        running = await queue.get_or_archived(document.job_id)
    except JobMissing:
        return
    if running.status in _FINISHED:
        return
    await queue.cancel(document.job_id, reason="its document is being deleted")
    if (await queue.get_or_archived(document.job_id)).status not in _FINISHED:
        raise Snooze(_LOOK_AGAIN)
