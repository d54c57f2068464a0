"""Start the removal of collections, documents and repositories. If a removal is already running, its job is returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import OpenedCollection, ensure_stored, open_collection
from gateleg.apps.rag.deleting.document_hiding import hide_document
from gateleg.apps.rag.deleting.job_types import (
    DELETE_COLLECTION,
    DELETE_DOCUMENTS,
    DELETE_REPOSITORY,
    CollectionDeletion,
    DocumentsDeletion,
    RepositoryDeletion,
)
from gateleg.apps.rag.documents import open_document
from gateleg.apps.rag.errors import NotActive, RagError
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Collection, CollectionStatus, Document, IngestionType, Repository, RepositoryStatus
from gateleg.host import submitted_by
from gateleg.jobs import JobMissing, JobStatus, Submission
from gateleg.store import TransactionCanceled, patch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store import AsyncStore

#: Maximum documents in one request.
MOST_DOCUMENTS = 100


@dataclass(frozen=True, slots=True)
class StartedDeletion:
    """The job of a deletion. `created` is False if the job already existed."""

    job: Job | ArchivedJob
    created: bool = True


@dataclass(frozen=True, slots=True)
class Impact:
    """The number of documents that a deletion will remove: uploaded ones, and those found by pipelines, whose source files are kept."""

    uploaded: int
    found: int


async def impact_of(store: AsyncStore, opened: OpenedCollection) -> Impact:
    """Count the documents that the deletion of a collection will remove."""
    uploaded = found = 0
    collection = opened.collection
    everything = Document.in_partition(repository_id=collection.repository_id, collection_id=collection.collection_id)
    async for row in store.query(everything, project=[Document.ingestion_type]):
        if row.get("ingestion_type", IngestionType.MANUAL) == IngestionType.MANUAL:
            uploaded += 1
        else:
            found += 1
    return Impact(uploaded, found)


async def start_collection_deletion(
    queue: AsyncQueue, caller: Caller, repository_id: str, id_or_name: str
) -> tuple[OpenedCollection, StartedDeletion]:
    """Start a job that removes a collection for good, or the contents of a default collection. Calling it again returns the same job."""
    store = queue.store
    opened = await open_collection(store, caller, repository_id, id_or_name, Action.CHANGE_COLLECTION)
    row = await ensure_stored(store, opened)
    if (running := await _running(queue, row.status is CollectionStatus.DELETE_IN_PROGRESS, row.delete_job_id)) is not None:
        return opened, running
    subject = Subject(repository_id, row.collection_id)
    config = CollectionDeletion(repository_id=repository_id, collection_id=row.collection_id)
    submission = Submission(DELETE_COLLECTION, config, subject=str(subject), idempotency_key=f"{subject}:delete:v{row.version}")
    enlisted = await queue.enlist(submitted_by(caller.principal, submission))
    if not enlisted.created:
        return opened, StartedDeletion(enlisted.job, created=False)
    actions = [Collection.delete_job_id.set(enlisted.job.job_id), Collection.deleted_at.remove()]
    if row.status is not CollectionStatus.DELETE_IN_PROGRESS:  # otherwise its job was cancelled or lost
        actions.append(Collection.status.to(CollectionStatus.DELETE_IN_PROGRESS))
    try:
        await store.transact([patch(row, *actions), *enlisted.writes])
    except TransactionCanceled:
        again = await open_collection(store, caller, repository_id, row.collection_id, Action.CHANGE_COLLECTION)
        running = await _running(queue, again.collection.status is CollectionStatus.DELETE_IN_PROGRESS, again.collection.delete_job_id)
        if running is None:
            raise NotActive(f"The collection is {again.collection.status.value} by now.", fix="Try again.") from None
        return again, running
    return opened, StartedDeletion(enlisted.job)


async def _running(queue: AsyncQueue, deleting: bool, job_id: UUID | None) -> StartedDeletion | None:
    """The running job of a deletion, unless it has failed or was cancelled."""
    if not deleting or job_id is None:
        return None
    try:
        job = await queue.get_or_archived(job_id)
    except JobMissing:
        return None
    return None if job.status in (JobStatus.FAILED, JobStatus.CANCELLED) else StartedDeletion(job, created=False)


async def start_repository_deletion(queue: AsyncQueue, caller: Caller, repository_id: str) -> StartedDeletion:
    """Start a job that removes a repository with all its collections. Calling it again returns the same job."""
    store = queue.store
    row = await get_repository(store, caller, repository_id, Action.CHANGE_REPOSITORY)
    if (running := await _running(queue, row.status is RepositoryStatus.DELETE_IN_PROGRESS, row.delete_job_id)) is not None:
        return running
    subject = Subject(repository_id)
    submission = Submission(
        DELETE_REPOSITORY,
        RepositoryDeletion(repository_id=repository_id),
        subject=str(subject),
        idempotency_key=f"{subject}:delete:v{row.version}",
    )
    enlisted = await queue.enlist(submitted_by(caller.principal, submission))
    if not enlisted.created:
        return StartedDeletion(enlisted.job, created=False)
    actions = [Repository.delete_job_id.set(enlisted.job.job_id)]
    if row.status is not RepositoryStatus.DELETE_IN_PROGRESS:
        actions.append(Repository.status.to(RepositoryStatus.DELETE_IN_PROGRESS))
    await store.transact([patch(row, *actions), *enlisted.writes])
    return StartedDeletion(enlisted.job)


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The outcome of a deletion request for one document."""

    document_id: str
    #: why the document was refused; None if it will be deleted
    error: RagError | None = None
    source: str = ""


async def start_document_deletion(
    queue: AsyncQueue, caller: Caller, repository_id: str, document_ids: Sequence[str]
) -> tuple[StartedDeletion | None, list[DocumentOutcome]]:
    """Start a job that removes documents. Each has its own outcome: a document that is refused does not stop the others."""
    store = queue.store
    await get_repository(store, caller, repository_id)
    outcomes: list[DocumentOutcome] = []
    for document_id in dict.fromkeys(document_ids):
        try:
            opened = await open_document(store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
        except RagError as error:
            outcomes.append(DocumentOutcome(document_id, error))
        else:
            outcomes.append(DocumentOutcome(document_id, source=opened.document.source))
    wanted = [one.document_id for one in outcomes if one.error is None]
    if not wanted:
        return None, outcomes
    config = DocumentsDeletion(repository_id=repository_id, document_ids=wanted)
    submission = Submission(DELETE_DOCUMENTS, config, subject=str(Subject(repository_id)))
    submitted = await queue.submit(submitted_by(caller.principal, submission))
    repository = await get_repository(store, caller, repository_id)
    for document_id in wanted:
        # Searches stop finding it at once. If this loop is interrupted, the job hides the rest.
        await hide_document(store, repository, document_id, submitted.job.job_id)
    return StartedDeletion(submitted.job), outcomes
