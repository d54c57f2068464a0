"""Move finished jobs from the queue to the archive, a page at a time. Safe to interrupt at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.jobs.admin import settle
from gateleg.jobs.adoption import adopt_by_id
from gateleg.jobs.tables.archive import branch_of, summary_of
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.store import ConditionFailed, TransactionCanceled, delete, put
from gateleg.store.operations import delete_all, page, transact

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow

#: How many items a page of a sweep reads.
_MAX_READ_ITEMS = 500


@dataclass(frozen=True)
class Overdue:
    """Finished jobs whose retention is over, and the cursor of the next page."""

    jobs: list[Job]
    next: str | None


def overdue(context: QueueContext, status: JobStatus, *, cursor: str | None = None, limit: int = 25) -> Flow[Overdue]:
    """A page of finished jobs in one status whose retention is over, oldest first. Workers call it."""
    kept_since = context.now() - context.settings.retention[status]
    # The filter lets jobs pass that another program has ended without a time, or with another form of it.
    question = context.tables.job.in_status(status=status).where(Job.created_at < kept_since).filter(~(Job.completed_at >= kept_since))
    found = yield from page(question, limit=limit, cursor=cursor, examine=_MAX_READ_ITEMS).flow(context.setup)
    return Overdue([job for job in found if (job.completed_at or job.updated_at) < kept_since], found.next)


def archive_job(context: QueueContext, job: Job, *, log_location: str | None = None) -> Flow[bool]:
    """Move one finished job to the archive. Returns False if it has changed since it was read. Workers call it.

    `log_location` is the key of the object to which its whole log was copied; the log's chunks are then deleted. The dependents are updated
    first, because that needs the job.
    """
    if job.dependent_jobs:
        yield from settle(context, job.job_id)
    summary = summary_of(job, context.now(), log_location, context.tables.archived_job)
    branch = branch_of(summary, context.tables.archived_branch)
    try:
        yield from transact([put(summary), delete(job), *([] if branch is None else [put(branch)])]).flow(context.setup)
    except (TransactionCanceled, ConditionFailed):
        # If another program wrote it, the next sweep archives it as it is adopted here.
        yield from adopt_by_id(context, str(job.job_id))
        return False
    if job.emitted:
        # Events are for followers of a running job. The archive keeps its results.
        yield from delete_all(context.tables.event_chunk.of_job(job_id=job.job_id)).flow(context.setup)
    if log_location is not None:
        yield from delete_all(context.tables.log_chunk.of_job(job_id=job.job_id)).flow(context.setup)
    return True
