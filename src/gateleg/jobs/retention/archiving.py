"""Archive finished jobs with their logs. Long logs become objects, whose keys the archive stores."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from gateleg.jobs.tables.job import LogEntry

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.jobs.tables.job import Job
    from gateleg.objects import AsyncObjects

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
                found = await member.overdue(status, cursor=cursor, limit=min(25, limit - moved))
                for job in found.jobs:
                    moved += await self.archive(job)
                cursor = found.next
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
