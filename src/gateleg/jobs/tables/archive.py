"""The archive: a summary of each finished job, without its running state."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gateleg.jobs.tables.job import (
    KEPT_ATTEMPTS,
    MAX_DEPENDENCIES,
    MAX_DEPENDENTS,
    Attempt,
    Failure,
    Job,
    JobStatus,
    Logs,
    Results,
    owner_of,
)
from gateleg.jobs.tables.records import ArchivedBranch
from gateleg.jobs.tables.table_names import PLAIN, TableNames
from gateleg.model import GSI, Attr, Compressed, Entity, Key, Pattern, Table, field, spec_of


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
    max_retries: Attr[int | None] = field(None)
    timeout_seconds: Attr[int | None] = field(None)
    #: the number of tries
    attempt: Attr[int] = field(0)
    #: the last tries, oldest first
    attempts: Attr[list[Attempt]] = field(factory=list, max_length=KEPT_ATTEMPTS)
    #: the seconds from the start of the last try to the end
    run_seconds: Attr[float | None] = field(None)
    #: the seconds from submission to the start of the last try
    wait_seconds: Attr[float | None] = field(None)
    job_config: Attr[Compressed[dict[str, Any]]] = field(factory=dict)
    job_results: Attr[Results | None] = field(None)
    error: Attr[Failure | None] = field(None)
    #: the last log lines, and the location of earlier ones
    logs: Attr[Logs] = field(factory=lambda: Logs())
    parent_job_id: Attr[UUID | None] = field(None)
    root_job_id: Attr[UUID | None] = field(None)
    tree_path: Attr[str | None] = field(None)
    job_stage: Attr[str | None] = field(None)
    dependencies: Attr[list[UUID]] = field(factory=list, max_length=MAX_DEPENDENCIES)
    dependent_jobs: Attr[list[UUID]] = field(factory=list, max_length=MAX_DEPENDENTS)
    concurrency_key: Attr[str | None] = field(None)
    concurrency_limit: Attr[int | None] = field(None)
    idempotency_key: Attr[str | None] = field(None)
    unique_key: Attr[str | None] = field(None)
    internal: Attr[bool | None] = field(None)
    cancel_reason: Attr[str | None] = field(None)
    tags: Attr[list[str]] = field(factory=list, max_length=50)

    key = Key("{job_id}")
    of_subject = Pattern(PLAIN.subject_index, title="Archived jobs about a subject, newest first", order="desc")
    of_type = Pattern("JobTypeIndex", title="Archived jobs of a type, newest first", order="desc")


#: The attributes that the archive takes over from a job.
_KEPT = tuple(name for name in spec_of(ArchivedJob).attributes if name in spec_of(Job).attributes and name not in ("attempt", "logs"))


def summary_of(job: Job, now: datetime, log_location: str | None = None, kind: type[ArchivedJob] = ArchivedJob) -> ArchivedJob:
    """The archive item of a finished job. `kind` is the queue's class of archived jobs."""
    last: Attempt | None = job.attempts[-1] if job.attempts else None
    ended = job.completed_at or job.updated_at
    started = job.started_at
    kept = {name: getattr(job, name) for name in _KEPT} | {"completed_at": ended}
    return kind(
        **kept,
        archived_at=now,
        attempt=job.tries,
        run_seconds=None if started is None else (ended - started).total_seconds(),
        wait_seconds=None if started is None else (started - job.created_at).total_seconds(),
        error=None if last is None else last.error,
        logs=job.logs if log_location is None else job.logs.model_copy(update={"log_location": log_location}),
    )


def restored(archived: ArchivedJob, kind: type[Job] = Job) -> Job:
    """The finished job that was archived, to be stored in the queue again. `kind` is the queue's class of jobs."""
    kept = {name: value for name in _KEPT if (value := getattr(archived, name)) is not None}
    return kind(**kept, attempt=archived.attempt, logs=archived.logs, owner=owner_of(archived.tenant, archived.created_by))


def branch_of(archived: ArchivedJob, kind: type[ArchivedBranch]) -> ArchivedBranch | None:
    """The place of an archived job in its tree; None if it has no parent."""
    if archived.root_job_id is None or archived.parent_job_id is None or archived.tree_path is None:
        return None
    return kind(**{name: getattr(archived, name) for name in spec_of(kind).attributes})
