"""Use cases: begin the removal of collections, documents and repositories. Asked again, each answers with the job that is under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import OpenedCollection, ensure_stored, open_collection
from gateleg.apps.rag.deleting.hiding import hide_document
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
from gateleg.jobs import JobMissing, JobStatus, Submission
from gateleg.store import TransactionCanceled, patch
from gateleg.web.member_jobs import submitted_by

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store import AsyncStore

#: Documents that one request may name.
MOST_DOCUMENTS = 100


@dataclass(frozen=True, slots=True)
class StartedDeletion:
    """The job that removes something. `created` is False for a job that was there already."""

    job: Job | ArchivedJob
    created: bool = True


@dataclass(frozen=True, slots=True)
class Impact:
    """What a deletion will remove: documents of people, and of pipelines, whose files stay where they were found."""

    uploaded: int
    found: int


async def impact_of(store: AsyncStore, opened: OpenedCollection) -> Impact:
    """What the deletion of a collection will remove."""
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
    """Have a job remove a collection for good; of the default collection, everything in it. Asked again, it answers with the same job."""
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
    if row.status is not CollectionStatus.DELETE_IN_PROGRESS:  # else its job was cancelled or lost
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
    """The job that removes something already, unless it has failed or was cancelled."""
    if not deleting or job_id is None:
        return None
    try:
        job = await queue.get_or_archived(job_id)
    except JobMissing:
        return None
    return None if job.status in (JobStatus.FAILED, JobStatus.CANCELLED) else StartedDeletion(job, created=False)


async def start_repository_deletion(queue: AsyncQueue, caller: Caller, repository_id: str) -> StartedDeletion:
    """Have a job remove a repository with all its collections. Asked again, it answers with the same job."""
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
    """What becomes of one document that was to be deleted."""

    document_id: str
    #: why it is not deleted; None if it is
    error: RagError | None = None
    source: str = ""


async def start_document_deletion(
    queue: AsyncQueue, caller: Caller, repository_id: str, document_ids: Sequence[str]
) -> tuple[StartedDeletion | None, list[DocumentOutcome]]:
    """Have a job remove documents. Each has an outcome of its own: those that cannot be deleted do not keep the others from it."""
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
        # So that searches stop finding it at once; the job does the same for what is not reached here.
        await hide_document(store, repository, document_id, submitted.job.job_id)
    return StartedDeletion(submitted.job), outcomes
