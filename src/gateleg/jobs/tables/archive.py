"""The archive: a summary of each finished job, without its running state."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gateleg.jobs.tables.job import Attempt, Failure, Job, JobStatus, Logs, Results
from gateleg.jobs.tables.table_names import PLAIN, TableNames
from gateleg.model import GSI, Attr, Compressed, Entity, Key, Pattern, Table, field


def make_archive_table(names: TableNames) -> Table:
    """The table of archived jobs, under given names."""
    return Table(
        names.archive,
        hash="job_id",
        indexes=[
            GSI(names.subject_index, hash=names.subject, range="completed_at"),
            GSI("JobTypeIndex", hash="job_type", range="completed_at"),
        ],
    )


archive_table = make_archive_table(PLAIN)


class ArchivedJob(Entity, table=archive_table):
    """A finished job that has left the queue."""

    job_id: Attr[UUID]
    status: Attr[JobStatus]
    job_type: Attr[str]
    queue: Attr[str]
    subject: Attr[str | None] = field(None)
    priority: Attr[int] = field(50)
    created_at: Attr[datetime]
    started_at: Attr[datetime | None] = field(None)
    completed_at: Attr[datetime]
    archived_at: Attr[datetime]
    created_by: Attr[str | None] = field(None)
    tenant: Attr[str | None] = field(None)
    worker_id: Attr[str | None] = field(None)
    retry_count: Attr[int] = field(0)
    #: the number of tries
    attempt: Attr[int] = field(0)
    #: the seconds from the last start to the end
    run_seconds: Attr[float | None] = field(None)
    #: the seconds from submission to the last start
    wait_seconds: Attr[float | None] = field(None)
    job_config: Attr[Compressed[dict[str, Any]]] = field(factory=dict)
    job_results: Attr[Results | None] = field(None)
    error: Attr[Failure | None] = field(None)
    #: the last log lines, and the location of earlier ones
    logs: Attr[Logs] = field(factory=lambda: Logs())
    parent_job_id: Attr[UUID | None] = field(None)
    root_job_id: Attr[UUID | None] = field(None)
    job_stage: Attr[str | None] = field(None)
    tags: Attr[list[str]] = field(factory=list, max_length=50)

    key = Key("{job_id}")
    of_subject = Pattern(PLAIN.subject_index, title="Archived jobs about a subject, newest first", order="desc")
    of_type = Pattern("JobTypeIndex", title="Archived jobs of a type, newest first", order="desc")


def summary_of(job: Job, now: datetime, log_location: str | None = None, kind: type[ArchivedJob] = ArchivedJob) -> ArchivedJob:
    """The archive item of a finished job. `kind` is the queue's class of archived jobs."""
    last: Attempt | None = job.attempts[-1] if job.attempts else None
    ended = job.completed_at or job.updated_at
    logs = job.logs if log_location is None else job.logs.model_copy(update={"log_location": log_location})
    return kind(
        job_id=job.job_id,
        status=job.status,
        job_type=job.job_type,
        queue=job.queue,
        subject=job.subject,
        priority=job.priority,
        created_at=job.created_at,
        started_at=job.started_at,
        completed_at=ended,
        archived_at=now,
        created_by=job.created_by,
        tenant=job.tenant,
        worker_id=job.worker_id,
        retry_count=job.retry_count,
        attempt=job.tries,
        run_seconds=None if job.started_at is None else (ended - job.started_at).total_seconds(),
        wait_seconds=None if job.started_at is None else (job.started_at - job.created_at).total_seconds(),
        job_config=job.job_config,
        job_results=job.job_results,
        error=None if last is None else last.error,
        logs=logs,
        parent_job_id=job.parent_job_id,
        root_job_id=job.root_job_id,
        job_stage=job.job_stage,
        tags=job.tags,
    )
