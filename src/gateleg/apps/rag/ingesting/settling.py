"""Documents whose job has ended without saying so: it was cancelled before it began, or its worker was lost for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import Document, DocumentStatus
from gateleg.jobs import JobMissing, JobStatus
from gateleg.store import ConditionFailed, IllegalTransition, NotFound

if TYPE_CHECKING:
    from gateleg.jobs import ArchivedJob, AsyncQueue, Job
    from gateleg.store import AsyncStore

_WAITING = (DocumentStatus.PENDING, DocumentStatus.IN_PROGRESS)


async def settled(store: AsyncStore, queue: AsyncQueue, document: Document) -> Document:
    """The document as it is; one that waits for a job that has ended is changed to what came of it."""
    if document.status not in _WAITING or document.job_id is None:
        return document
    message = await _ending(queue, document)
    if message is None:
        return document
    try:
        return await store.patch(
            document.key,
            Document.status.to(DocumentStatus.FAILED),
            Document.error_message.set(message),
            condition=Document.job_id == document.job_id,
        )
    except (ConditionFailed, IllegalTransition):
        return await store.get(document.key, consistent=True)
    except NotFound:
        return document


async def _ending(queue: AsyncQueue, document: Document) -> str | None:
    """Why the job of a document has not ingested it; None while it may."""
    assert document.job_id is not None
    try:
        job = await queue.get_or_archived(document.job_id)
    except JobMissing:
        return "The job that was to ingest it is gone."
    return failure_of(job) if job.status in (JobStatus.FAILED, JobStatus.CANCELLED) else None


def failure_of(job: Job | ArchivedJob) -> str:
    """Why a job has not succeeded."""
    if job.status is JobStatus.CANCELLED:
        return "The ingestion was cancelled."
    message = job.job_results.summary_metrics.get("message") if job.job_results is not None else None
    return str(message or "The process that ingested it ended.")[:4_000]
