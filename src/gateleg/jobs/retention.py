"""Moving finished jobs to the archive, a page at a time. Safe to interrupt at any time.

A job is archived with its log; a long log becomes an object, whose key the archive stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from gateleg.jobs.admin import settle
from gateleg.jobs.adoption import adopt_by_id
from gateleg.jobs.tables.job import Job, JobStatus, LogEntry
from gateleg.jobs.tables.records import branch_of, summary_of
from gateleg.store import ConditionFailed, TransactionCanceled, delete, put
from gateleg.store.operations import delete_all, page, transact

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.records import ArchivedJob
    from gateleg.objects import AsyncObjects
    from gateleg.store.flow import Flow

__all__ = ["Archiver"]

_TYPE = "application/jsonl"


def log_key(job_id: UUID) -> str:
    """The key of the object with a job's whole log, as JSON lines."""
    return f"jobs/{job_id}/log.jsonl"


class Archiver:
    """Moves finished jobs to the archive. Without an object store, long logs stay in the ledger table; `kept_logs` counts them."""

    def __init__(self, queue: AsyncQueue, objects: AsyncObjects | None = None) -> None:
        self.queue = queue
        self.objects = objects
        self.kept_logs = 0

    async def sweep(self, *, limit: int = 1000) -> int:
        """Archive up to `limit` finished jobs whose retention is over, and return how many."""
        moved = 0
        for member, status in product(self.queue.members, self.queue.context.settings.retention):
            cursor: str | None = None
            while moved < limit:
                batch = await member.overdue(status, cursor=cursor, limit=min(25, limit - moved))
                for job in batch.jobs:
                    moved += await self.archive(job)
                cursor = batch.next
                if cursor is None:
                    break
        return moved

    async def archive(self, job: Job) -> bool:
        """Archive one finished job. Returns False if it has changed since it was read.

        The log's object is written first, under a key that depends only on the job: after an interruption, the next sweep overwrites it.
        """
        location = None
        if self.objects is not None and job.logs.earlier:
            lines = await self.queue.log(job.job_id)
            body = "".join(line.model_dump_json() + "\n" for line in lines)
            await self.objects.put(log_key(job.job_id), body.encode(), content_type=_TYPE)
            location = log_key(job.job_id)
        archived = await self.queue.archive_job(job, log_location=location)
        self.kept_logs += archived and location is None and job.logs.earlier > 0
        return archived

    async def log(self, job: Job | ArchivedJob) -> list[LogEntry]:
        """The whole log of a job, wherever it is stored."""
        # Another program's location is not one of this object store.
        location = log_key(job.job_id)
        if job.logs.log_location != location or self.objects is None:
            return await self.queue.log(job.job_id)
        body = await self.objects.get(location)
        return [LogEntry.model_validate_json(line) for line in body.splitlines()]


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
    jobs = yield from page(question, limit=limit, cursor=cursor, examine=_MAX_READ_ITEMS).flow(context.setup)
    return Overdue([job for job in jobs if (job.completed_at or job.updated_at) < kept_since], jobs.next)


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
