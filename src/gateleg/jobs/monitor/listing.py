"""Listing jobs: pages with filters and cursors, and reading a job wherever it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.jobs.tables.archive import ArchivedJob
from gateleg.jobs.tables.job import Job, JobStatus, owner_of
from gateleg.store import Page
from gateleg.store.operations import page
from gateleg.store.operations.merged_pages import merged_page

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Condition, Query
    from gateleg.store.flow import Flow

E = TypeVar("E", Job, ArchivedJob)
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

    def questions(kind: type[Job]) -> list[Query[Job]]:
        if subject is not None:
            return [narrowed(kind.of_subject(subject=subject), status)]
        if worker is not None:
            of_worker = kind.of_worker(worker_id=worker) if status is None else kind.of_worker(worker_id=worker, status=status)
            return [narrowed(of_worker, status)]
        return [narrowed(kind.in_status(status=each).reversed(), each) for each in (JobStatus if status is None else [status])]

    asked = [question for member in context.members for question in questions(member.tables.job)]
    found = yield from _page_of(asked, context, limit=limit, cursor=cursor)
    return replace(found, items=_latest_versions(found))


def _page_of(
    questions: Sequence[Query[E]], context: QueueContext, *, limit: int, cursor: str | None, hydrate: bool = False, examine: bool = True
) -> Flow[Page[E]]:
    """A page of one or several queries as one list."""
    most = _MAX_READ_ITEMS if examine else None
    if len(questions) == 1:
        return (yield from page(questions[0], limit=limit, cursor=cursor, examine=most, hydrate=hydrate).flow(context.setup))
    return (yield from merged_page(questions, limit=limit, cursor=cursor, examine=most, hydrate=hydrate).flow(context.setup))


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
    questions = [member.tables.job.of_owner(owner=owner) for member in context.members]
    if job_types is not None:
        questions = [question.filter(Job.job_type.is_in(sorted(job_types))) for question in questions]
    return (yield from _page_of(questions, context, limit=limit, cursor=cursor, hydrate=True))


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
    kinds = [member.tables.archived_job for member in context.members]
    questions = [kind.of_subject(subject=subject) if subject is not None else kind.of_type(job_type=job_type) for kind in kinds]
    return (yield from _page_of(questions, context, limit=limit, cursor=cursor, examine=False))
