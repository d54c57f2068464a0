"""Mark documents as failed if their job ended without updating them, because it was cancelled before it began or its worker died."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import Document, DocumentStatus
from gateleg.jobs import JobMissing, JobStatus
from gateleg.store import ConditionFailed, IllegalTransition, NotFound

if TYPE_CHECKING:
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store import AsyncStore

_WAITING = (DocumentStatus.PENDING, DocumentStatus.IN_PROGRESS)


async def reconcile_with_job(store: AsyncStore, queue: AsyncQueue, document: Document) -> Document:
    """Return the document. If it waits for a job that has failed or was cancelled, first mark it as failed."""
    if document.status not in _WAITING or document.job_id is None:
        return document
    message = await _failure(queue, document)
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


async def _failure(queue: AsyncQueue, document: Document) -> str | None:
    """Why the job of a document did not ingest it; None if it may still do so."""
    assert document.job_id is not None
    try:
        job = await queue.get_or_archived(document.job_id)
    except JobMissing:
        return "The ingestion job no longer exists."
    return failure_message(job) if job.status in (JobStatus.FAILED, JobStatus.CANCELLED) else None


def failure_message(job: Job | ArchivedJob) -> str:
    """The error message of a failed or cancelled job."""
    if job.status is JobStatus.CANCELLED:
        return "The ingestion was cancelled."
    message = job.job_results.summary_metrics.get("message") if job.job_results is not None else None
    return str(message or "The process that was ingesting the document died.")[:4_000]
