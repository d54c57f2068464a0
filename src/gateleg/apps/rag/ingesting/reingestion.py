"""Making the documents of a collection anew, with its present strategy, model and metadata.

Each document is ingested into a new generation beside the one that searches find, and replaced at once when that is complete: nothing is
missing from searches meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.collections import open_collection
from gateleg.apps.rag.documents import open_document
from gateleg.apps.rag.errors import BadField, RagError, SourceMissing
from gateleg.apps.rag.ingesting.job_types import REINGEST, IngestConfig, ReingestConfig, ReingestResult, SourceConfig
from gateleg.apps.rag.ingesting.submitting import Submitted, check_not_deleting, submit_ingestion
from gateleg.apps.rag.rules import check_accepts_documents
from gateleg.apps.rag.subjects import Subject
from gateleg.apps.rag.tables import Document, DocumentStatus
from gateleg.jobs import JobStatus, KeyReused, Snooze, Submission
from gateleg.web import submitted_by

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.jobs import Job, JobContext
    from gateleg.web import Resources

#: Seconds after which the documents are looked at again.
_LOOK_AGAIN = 2.0
_ENDED = (JobStatus.FAILED, JobStatus.CANCELLED)
_DELETING = (DocumentStatus.DELETE_IN_PROGRESS, DocumentStatus.DELETE_FAILED)


async def start_reingestion(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, collection: str, *, force: bool = False, once: str | None = None
) -> Job:
    """Have a job make all documents of a collection anew. Those that are up to date cost nothing, unless `force` is given."""
    opened = await open_collection(resources.store, caller, repository_id, collection, Action.CHANGE_COLLECTION)
    check_accepts_documents(opened.repository, opened.collection)
    subject = Subject(repository_id, opened.collection.collection_id)
    config = ReingestConfig(repository_id=repository_id, collection_id=opened.collection.collection_id, username=caller.user, force=force)
    key = None if once is None else f"{subject}:reingest:{once}"
    submission = Submission(REINGEST, config, subject=str(subject), idempotency_key=key)
    return (await resources.queue.submit(submitted_by(caller.principal, submission))).job


async def reingest(job: JobContext, config: ReingestConfig, resources: Resources[RagSettings]) -> ReingestResult:
    """The handler: submit an ingestion for each document, and come back until all have ended."""
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
            ended = await _has_ended(job, config, document, resources)
        except RagError as error:
            job.log(f"{document.document_name}: {error}", "WARNING")
            ended = JobStatus.FAILED
        if ended is None:
            continue
        done += 1
        failed += [document.document_id] if ended in _ENDED else []
    job.progress(done, max(total, 1), f"{done} of {total} documents")
    if done < total:
        raise Snooze(_LOOK_AGAIN)
    return ReingestResult(documents=total, failed=failed[:1_000])


async def _has_ended(job: JobContext, config: ReingestConfig, document: Document, resources: Resources[RagSettings]) -> JobStatus | None:
    """How the ingestion of a document has ended that this job submits, once; None while it has not."""
    try:
        job_id: UUID | None = (await submit_again(resources, document, once=f"reingest:{job.job_id}", force=config.force)).job.job_id
    except KeyReused:
        # Somebody has sent another content since: its own job makes it anew.
        job_id = document.job_id
    if job_id is None:
        return JobStatus.COMPLETED
    found = await resources.queue.get_or_archived(job_id)
    return found.status if found.status in (JobStatus.COMPLETED, *_ENDED) else None


async def submit_again(
    resources: Resources[Any], document: Document, *, once: str | None = None, force: bool = False, caller: Caller | None = None
) -> Submitted:
    """Ingest a document again from where its content is."""
    return await submit_ingestion(resources, config_of(document, force=force), document, caller=caller, once=once)


def config_of(document: Document, *, force: bool = False) -> IngestConfig:
    """What ingests a document again as it is."""
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
) -> Submitted:
    """Ingest a document again: after it has failed, or because it should be made anew."""
    opened = await open_document(resources.store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
    check_accepts_documents(opened.repository, opened.collection)
    check_not_deleting(opened.document)
    return await submit_again(resources, opened.document, force=force, caller=caller)


async def restore_revision(
    resources: Resources[RagSettings], caller: Caller, repository_id: str, document_id: str, number: int
) -> Submitted:
    """Make an earlier content of a document the present one. What is replaced becomes a revision itself."""
    opened = await open_document(resources.store, caller, repository_id, document_id, Action.CHANGE_DOCUMENT)
    check_accepts_documents(opened.repository, opened.collection)
    wanted = next((one for one in opened.document.revisions if one.number == number), None)
    if wanted is None:
        known = ", ".join(str(one.number) for one in opened.document.revisions) or "none"
        raise BadField(f"The document has no revision {number}; it has {known}.", fix="Name one of those.")
    config = config_of(opened.document)
    config = config.model_copy(update={"source": SourceConfig(key=wanted.source, bucket=wanted.bucket)})
    return await submit_ingestion(resources, config, opened.document, caller=caller)
