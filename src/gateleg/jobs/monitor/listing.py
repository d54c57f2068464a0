"""Listing jobs: pages with filters and cursors, and reading a job wherever it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateleg.jobs.tables.job import Job, JobStatus, owner_of
from gateleg.store import Page
from gateleg.store.operations import page
from gateleg.store.operations.merged_pages import merged_page

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.model import Condition, Query
    from gateleg.store.flow import Flow

#: The prefix of the job types of the queue's internal jobs, such as those that update dependents.
INTERNAL = "gateleg."
#: How many items a page of a filtered list reads.
_MAX_READ_ITEMS = 2000


def jobs_page(
    context: QueueContext,
    *,
    status: JobStatus | None = None,
    job_type: str | None = None,
    subject: str | None = None,
    worker: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    internal: bool = False,
    limit: int = 25,
    cursor: str | None = None,
) -> Flow[Page[Job]]:
    """A page of jobs that match all filters, newest first (with `worker`, by status). Pass its `next` as `cursor` for the next page.

    Without a status, subject or worker, the jobs of all statuses are merged, because no index orders them by time. The queue's own jobs
    and jobs of internal handlers are hidden, unless `internal` is true or `job_type` names them. Failed jobs of internal handlers are
    always listed.
    """
    kind = context.tables.job
    filters: dict[str, Any] = {"job_type": job_type, "queue": queue}

    def narrowed(question: Query[Job], status: JobStatus | None) -> Query[Job]:
        for name, value in filters.items():
            if value is not None:
                question = question.filter(getattr(Job, name) == value)
        if tag is not None:
            question = question.filter(Job.tags.contains(tag))
        if job_type is None and not internal:
            question = question.filter(_shown_by_default(status, status_in_key=subject is None))
        return question

    if subject is not None:
        filters |= {"status": status, "worker_id": worker}
        question = kind.of_subject(subject=subject)
    elif worker is not None:
        question = kind.of_worker(worker_id=worker) if status is None else kind.of_worker(worker_id=worker, status=status)
    elif status is not None:
        question = kind.in_status(status=status).reversed()
    else:
        questions = [narrowed(kind.in_status(status=one).reversed(), one) for one in JobStatus]
        found = yield from merged_page(questions, limit=limit, cursor=cursor, examine=_MAX_READ_ITEMS).flow(context.setup)
        return replace(found, items=_latest_versions(found))
    return (yield from page(narrowed(question, status), limit=limit, cursor=cursor, examine=_MAX_READ_ITEMS).flow(context.setup))


def _shown_by_default(status: JobStatus | None, *, status_in_key: bool) -> Condition:
    """The filter condition that hides internal jobs: a job is not internal, or it has failed.

    `status` is the status of all jobs in the list. DynamoDB cannot filter by key attributes of the index that it reads.
    """
    visible: Condition = ~Job.job_type.begins_with(INTERNAL)
    if status == JobStatus.FAILED:
        return visible
    ordinary: Condition = Job.internal.missing()
    return visible & (ordinary if status_in_key else ordinary | (Job.status == JobStatus.FAILED))


def own_jobs_page(
    context: QueueContext,
    created_by: str,
    tenant: str | None = None,
    *,
    job_types: Collection[str] | None = None,
    limit: int = 25,
    cursor: str | None = None,
) -> Flow[Page[Job]]:
    """A page of the jobs that a user has submitted and their descendants, newest first; optionally only of some job types."""
    owner = owner_of(tenant, created_by)
    if owner is None or (job_types is not None and not job_types):
        return Page([])
    question = context.tables.job.of_owner(owner=owner)
    if job_types is not None:
        question = question.filter(Job.job_type.is_in(sorted(job_types)))
    return (yield from page(question, limit=limit, cursor=cursor, examine=_MAX_READ_ITEMS, hydrate=True).flow(context.setup))


def _latest_versions(jobs: Iterable[Job]) -> list[Job]:
    """Remove duplicates, keeping the latest version: two reads both find a job that changes its status between them."""
    newest: dict[UUID, Job] = {}
    for job in jobs:
        known = newest.get(job.job_id)
        if known is None or known.version < job.version:
            newest[job.job_id] = job
    return list(newest.values())


def archive_page(
    context: QueueContext, *, subject: str | None = None, job_type: str | None = None, limit: int = 25, cursor: str | None = None
) -> Flow[Page[ArchivedJob]]:
    """A page of archived jobs about a subject or of a type, newest first. Pass its `next` as `cursor` for the next page."""
    if (subject is None) == (job_type is None):
        raise ValueError("archive_page needs either subject= or job_type=.")
    kind = context.tables.archived_job
    question = kind.of_subject(subject=subject) if subject is not None else kind.of_type(job_type=job_type)
    return (yield from page(question, limit=limit, cursor=cursor).flow(context.setup))
