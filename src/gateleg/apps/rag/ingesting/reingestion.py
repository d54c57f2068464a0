"""Ingest the documents of a collection again, with its current strategy, model and metadata.

Each document gets a new generation, which replaces the current one when it is complete. Until then searches find the current one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.documents import open_document
from gateleg.apps.rag.errors import BadValue, RagError, SourceMissing
from gateleg.apps.rag.ingesting.job_types import REINGEST, IngestConfig, ReingestConfig, ReingestResult, SourceConfig
from gateleg.apps.rag.ingesting.submission import SubmittedDocument, check_not_deleting, submit_ingestion
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Document, DocumentStatus
from gateleg.host import submitted_by
from gateleg.jobs import JobStatus, KeyReused, Snooze, Submission

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.jobs import Job, JobContext

#: Delay before the job checks its documents again.
_POLL_SECONDS = 2.0
_UNSUCCESSFUL = (JobStatus.FAILED, JobStatus.CANCELLED)
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


async def start_reingestion(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, *, force: bool = False, once: str | None = None
) -> Job:
    """Start a job that ingests all documents of a collection again. It skips those that are up to date, unless `force` is set."""
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.CHANGE_COLLECTION)
    check_accepts_documents(opened.repository, opened.collection)
    subject = Subject(repository_id, opened.collection.collection_id)
    config = ReingestConfig(repository_id=repository_id, collection_id=opened.collection.collection_id, username=caller.user, force=force)
    key = None if once is None else f"{subject}:reingest:{once}"
    submission = Submission(REINGEST, config, subject=str(subject), idempotency_key=key)
    return (await resources.queue.submit(submitted_by(caller.principal, submission))).job


async def reingest(job: JobContext, config: ReingestConfig, resources: Resources[RagSettings]) -> ReingestResult:
    """The job handler: submit an ingestion for each document, and snooze until all have ended."""
    store = resources.store
    total = done = 0
    failed: list[str] = []
    everything = Document.in_partition(repository_id=config.repository_id, collection_id=config.collection_id)
    async for document in store.query(everything, consistent=True):
        job.check()
        total += 1
        if document.status in _DELETING:
            done += 1
            continue
        try:
            status = await _final_status(job, config, document, resources)
        except RagError as error:
            job.log(f"{document.document_name}: {error}", "WARNING")
            status = JobStatus.FAILED
        if status is None:
            continue
        done += 1
        failed += [document.document_id] if status in _UNSUCCESSFUL else []
    job.progress(done, max(total, 1), f"{done} of {total} documents")
    if done < total:
        raise Snooze(_POLL_SECONDS)
    return ReingestResult(documents=total, failed=failed[:1_000])


async def _final_status(job: JobContext, config: ReingestConfig, document: Document, resources: Resources[RagSettings]) -> JobStatus | None:
    """Submit the ingestion of a document once, and return its final status; None while it has not ended."""
    try:
        job_id: UUID | None = (await submit_again(resources, document, once=f"reingest:{job.job_id}", force=config.force)).job.job_id
    except KeyReused:
        # New content was sent since; its own job ingests the document.
        job_id = document.job_id
    if job_id is None:
        return JobStatus.COMPLETED
    found = await resources.queue.get_or_archived(job_id)
    return found.status if found.status in (JobStatus.COMPLETED, *_UNSUCCESSFUL) else None


async def submit_again(
    resources: Resources[Any], document: Document, *, once: str | None = None, force: bool = False, caller: Caller | None = None
) -> SubmittedDocument:
    """Submit the ingestion of a document again, from its stored content."""
    return await submit_ingestion(resources, config_of(document, force=force), document, caller=caller, once=once)


def config_of(document: Document, *, force: bool = False) -> IngestConfig:
    """The job config that ingests the stored content of a document again."""
    if document.source and "://" not in document.source:
        source = SourceConfig(key=document.source, bucket=document.bucket, etag=document.source_etag)
    elif document.url is not None:
        source = SourceConfig(kind="url", url=document.url)
    else:
        raise SourceMissing(
            f"The content of the document is not in an object store of this host: its source is {document.source!r}.",
            fix="Send its content again.",
        )
    return IngestConfig(
        repository_id=document.repository_id,
        collection_id=document.collection_id,
        document_id=document.document_id,
        name=document.document_name or document.source.rpartition("/")[2] or document.document_id,
        source=source,
        strategy=document.strategy_override,
        ingestion_type=document.ingestion_type,
        pipeline_id=document.pipeline_id,
        username=document.username,
        force=force,
    )


async def retry_document(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, document_id: str, *, force: bool = False
) -> SubmittedDocument:
    """Ingest a document again, for example after a failure."""
    opened = await open_document(resources.store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
    check_accepts_documents(opened.repository, opened.collection)
    check_not_deleting(opened.document)
    return await submit_again(resources, opened.document, force=force, caller=caller)


async def restore_revision(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, document_id: str, number: int
) -> SubmittedDocument:
    """Restore an earlier content of a document. The content that it replaces becomes a revision."""
    opened = await open_document(resources.store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
    check_accepts_documents(opened.repository, opened.collection)
    revision = next((one for one in opened.document.revisions if one.number == number), None)
    if revision is None:
        known = ", ".join(str(one.number) for one in opened.document.revisions) or "none"
        raise BadValue(f"The document has no revision {number}; it has {known}.", fix="Name one of those.")
    config = config_of(opened.document)
    config = config.model_copy(update={"source": SourceConfig(key=revision.source, bucket=revision.bucket)})
    return await submit_ingestion(resources, config, opened.document, caller=caller)
