"""The job table: four indexes of the public schema, and sparse indexes of claimable, delayed and running jobs, trees and owners.

`TableNames` are the names of a queue's tables; `PLAIN` those of a queue that chooses none.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from urllib.parse import quote
from uuid import UUID

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from gateleg.jobs.tables.foreign_form import in_model_form
from gateleg.model import (
    GSI,
    TTL,
    Attr,
    Entity,
    Item,
    Key,
    Pattern,
    Record,
    States,
    Table,
    Version,
    field,
    new_uuid,
    required,
    spec_of,
    stamp,
    state,
)
from gateleg.model.wire import uuid_text

__all__ = ["TableNames"]


@dataclass(frozen=True)
class TableNames:
    """The names of the queue's three tables, and of the attribute and index for a job's subject.

    As with any other table, the store's prefix is prepended, and its `table_names` replace the names.
    """

    #: the table of jobs
    queue: str = "JobQueue"
    #: the table of all other records: workers, schedules, keys, logs, counts
    ledger: str = "JobLedger"
    #: the table of archived jobs
    archive: str = "JobArchive"
    #: the attribute that holds a job's `subject`
    subject: str = "subject"
    #: the index by the subject
    subject_index: str = "SubjectIndex"


PLAIN = TableNames()
#: The attributes that a worker needs to choose a job.
_CHOICE = ("version", "status", "job_type", "queue", "priority", "created_at", "start_by", "concurrency_key", "concurrency_limit")
#: The attributes that are needed to promote a delayed job.
_WAKING = ("version", "status", "queue", "priority", "created_at", "delayed_at")
#: The attributes that trees show.
_OVERVIEW = ("status", "job_type", "job_stage", "parent_job_id", "progress", "created_at", "started_at", "completed_at", "retry_count")

#: The numbers of log lines and of ended attempts that are kept in the job's item.
KEPT_LINES = 20
KEPT_ATTEMPTS = 20
#: A job and its dependencies are written in one transaction, which may have 100 items.
MAX_DEPENDENCIES = 90
MAX_DEPENDENTS = 1000
_LONGEST_OWNER = 1500


def make_queue_table(names: TableNames) -> Table:
    """The table of jobs, under given names."""
    return Table(
        names.queue,
        hash="job_id",
        indexes=[
            GSI("StatusCreatedIndex", hash="status", range="created_at"),
            GSI(names.subject_index, hash=names.subject, range="created_at"),
            GSI("JobTypeIndex", hash="job_type", range="priority"),
            GSI("WorkerStatusIndex", hash="worker_id", range="status"),
            GSI("ReadyIndex", hash="ready_queue", range="ready_order", project=_CHOICE),
            GSI("DueIndex", hash="due_queue", range="run_at", project=_WAKING),
            GSI("LeaseIndex", hash="lease_queue", range="lease_until", project=("version", "status", "queue", "job_type", "worker_id")),
            GSI("TreeIndex", hash="root_job_id", range="tree_path", project=_OVERVIEW),
            GSI("OwnerIndex", hash="owner", range="created_at", project=("job_type",)),
        ],
    )


def make_running_view(names: TableNames) -> Table:
    """The same table for `Running`, declared separately because a table has one entity for each form of key."""
    return Table(names.queue, hash="job_id")


queue_table = make_queue_table(PLAIN)


def job_key(job_id: UUID) -> dict[str, dict[str, str]]:
    """The key of a job in DynamoDB's JSON, for frequent requests."""
    return {"job_id": {"S": uuid_text(job_id)}}


class JobStatus(States):
    """The states of a job."""

    PENDING = state("PENDING", to=["PROCESSING", "CANCELLED", "FAILED"])
    PROCESSING = state("PROCESSING", to=["COMPLETED", "FAILED", "PENDING", "CANCELLED"])
    COMPLETED = state("COMPLETED")
    FAILED = state("FAILED", to=["PENDING"])
    CANCELLED = state("CANCELLED", to=["PENDING"])


#: The final states of a job.
FINISHED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)


def owner_of(tenant: str | None, created_by: str | None) -> str | None:
    """Tenant and submitter as one key; None if the submitter is unknown, or if the key would be too long for an index."""
    if created_by is None:
        return None
    owner = f"{quote(tenant or '', safe='')}#{quote(created_by, safe='')}"
    return owner if len(owner) <= _LONGEST_OWNER else None


class Readiness(StrEnum):
    """Whether a pending job can be claimed now."""

    READY = "ready"
    #: waits until its `run_at`
    DELAYED = "delayed"
    #: waits for its dependencies
    BLOCKED = "blocked"


class LogEntry(Record, defer_build=True):
    """One line of a job's log."""

    timestamp: Attr[datetime]
    level: Attr[str]
    message: Attr[str]


class Logs(Record, defer_build=True):
    """The last lines of a job's log, and the location of the earlier ones."""

    entries: Attr[list[LogEntry]] = field(factory=list, max_length=KEPT_LINES)
    #: the number of lines before the first entry; they are in chunks in the ledger, or in the object at `log_location`
    earlier: Attr[int] = field(0)
    log_location: Attr[str | None] = field(None)


class Progress(Record, defer_build=True):
    """The progress of a job, as its handler reports it."""

    done: Attr[float] = field(0.0)
    total: Attr[float] = field(1.0)
    message: Attr[str] = field("")

    @property
    def fraction(self) -> float:
        """The fraction done, from 0 to 1."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total > 0 else 0.0


class Failure(Record, defer_build=True):
    """Why an attempt did not succeed."""

    #: the exception's qualified name, or one of `lease-expired`, `timed-out`, `waited-too-long`, `dependency`
    kind: Attr[str]
    message: Attr[str]
    trace: Attr[str | None] = field(None)


Outcome = Literal["completed", "failed", "retried", "snoozed", "released", "cancelled", "lost"]


class Attempt(Record, defer_build=True):
    """One try of a job: an attempt by one worker, with the snoozed ones before it."""

    #: the number of the try
    number: Attr[int]
    worker_id: Attr[str]
    started_at: Attr[datetime]
    ended_at: Attr[datetime]
    outcome: Attr[Outcome]
    error: Attr[Failure | None] = field(None)
    #: how often it has snoozed
    times: Attr[int | None] = field(None)


#: The metric of every result: the seconds of its job, from the start of the last try.
DURATION_METRIC = "processing_time_seconds"


class Results(Record, defer_build=True):
    """The result of a job."""

    result_type: Attr[Literal["SUCCESS", "FAILURE", "CANCELLED"]]
    #: what the handler returned
    value: Attr[Any] = field(None)
    output_location: Attr[dict[str, list[str]]] = field(factory=dict)
    summary_metrics: Attr[dict[str, Any]] = field(factory=dict)


def _in_claim_order(priority: int) -> int:
    """The priority, if the claim order has a place for it.

    Bounds hold for written values only. This one holds for stored values too, because the key of `ReadyIndex` contains the priority: a job
    without a place in the claim order could be read, but neither retried nor returned to its queue.
    """
    if not 0 <= priority <= LARGEST_PRIORITY:
        raise PydanticCustomError("priority", "must be 0 to {largest}", {"largest": LARGEST_PRIORITY})
    return priority


def slots_text(concurrency_key: str) -> str:
    """The concurrency key as a part of a key in the ledger, which may not contain `#`."""
    return quote(concurrency_key, safe="")


def is_concurrency_key(text: str) -> bool:
    """Whether a key in the ledger, of up to 2,048 bytes, can hold a concurrency key."""
    return len(slots_text(text)) <= _SLOTS_BYTES


def _in_the_ledger(concurrency_key: str) -> str:
    """The concurrency key, if the ledger can hold it. As for priorities, this holds for stored values too."""
    if not is_concurrency_key(concurrency_key):
        raise PydanticCustomError("concurrency_key", "must have at most {most} bytes when it is percent-encoded", {"most": _SLOTS_BYTES})
    return concurrency_key


_SLOTS_BYTES = 2048 - len("SLOTS#")
ConcurrencyKey = Annotated[str, AfterValidator(_in_the_ledger)]

LARGEST_PRIORITY = 100
#: 0 to 100, higher first
Priority = Annotated[int, Field(ge=0, le=LARGEST_PRIORITY), AfterValidator(_in_claim_order)]


class Job(Entity, table=queue_table, defer_build=True):
    """One unit of work, from submission to its result."""

    job_id: Attr[UUID] = new_uuid()
    status: Attr[JobStatus] = field(JobStatus.PENDING)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    started_at: Attr[datetime | None] = field(None)
    completed_at: Attr[datetime | None] = field(None)
    #: the worker that runs it, or ran it last
    worker_id: Attr[str | None] = field(None)
    job_type: Attr[str] = required(min_length=1, max_length=200)
    #: true if its handler is internal: lists hide it by default, unless it has failed
    internal: Attr[bool | None] = field(None)
    #: 0 to 100, higher first
    priority: Attr[Priority] = field(50)
    #: a name for what the job is about, such as a conversation or a project
    subject: Attr[str | None] = field(None, min_length=1, max_length=500)
    #: the number of retries after failures
    retry_count: Attr[int] = field(0, ge=0)
    max_retries: Attr[int] = field(3, ge=0)
    #: the maximum duration of an attempt
    timeout_seconds: Attr[int] = field(3600, ge=1)
    #: the config as JSON
    job_config: Attr[dict[str, Any]] = field(factory=dict)
    #: set when the job has finished
    job_results: Attr[Results | None] = field(None)
    logs: Attr[Logs] = field(factory=lambda: Logs())
    #: the submitter
    created_by: Attr[str | None] = field(None)
    #: the tenant of the submitter
    tenant: Attr[str | None] = field(None, max_length=500)
    #: tenant and submitter as one key, for the list of a user's jobs
    owner: Attr[str | None] = field(None)
    #: the jobs that it depends on
    dependencies: Attr[list[UUID]] = field(factory=list, max_length=MAX_DEPENDENCIES)
    #: the jobs that depend on it
    dependent_jobs: Attr[list[UUID]] = field(factory=list, max_length=MAX_DEPENDENTS)
    #: raised by every write except heartbeats
    version: Attr[Version] = field(0)

    queue: Attr[str] = field("default")
    #: whether it can be claimed while it is pending
    readiness: Attr[Readiness] = field(Readiness.READY)
    #: the earliest start time
    run_at: Attr[datetime | None] = field(None)
    #: the start of the delay that ends at `run_at`, by the clock that wrote both; absent if the submitter chose `run_at`
    delayed_at: Attr[datetime | None] = field(None)
    #: the latest start time
    start_by: Attr[datetime | None] = field(None)
    #: the dependencies that have not completed yet
    waiting_for: Attr[set[str] | None] = field(None, max_length=MAX_DEPENDENCIES)
    #: the dependency whose failure cancelled the job
    cancelled_by: Attr[UUID | None] = field(None)
    #: when its cancellation was requested
    cancel_requested: Attr[datetime | None] = field(None)
    cancel_reason: Attr[str | None] = field(None)

    #: the number of claims; it only grows, so it is also a fencing token for other systems
    attempt: Attr[int] = field(0)
    #: the number of times that its worker was lost; these are not retries
    losses: Attr[int | None] = field(None)
    #: the number of times that its handler has snoozed it
    snoozes: Attr[int | None] = field(None)
    #: the last ended attempts, oldest first
    attempts: Attr[list[Attempt]] = field(factory=list, max_length=KEPT_ATTEMPTS)
    #: the token of the running attempt, which its writes require
    lease_token: Attr[str | None] = field(None, hidden=True)
    #: when the lease of its worker ends, by that worker's clock
    lease_until: Attr[datetime | None] = field(None)
    progress: Attr[Progress | None] = field(None)
    #: the number of events that it has emitted
    emitted: Attr[int | None] = field(None)

    parent_job_id: Attr[UUID | None] = field(None)
    #: the root of its tree, if it has a parent
    root_job_id: Attr[UUID | None] = field(None)
    #: its label in the job tree, to distinguish children of the same type
    job_stage: Attr[str | None] = field(None)
    #: the ids of the jobs from the root to this one, separated by slashes; only if it has a parent
    tree_path: Attr[str | None] = field(None)

    #: at most `concurrency_limit` jobs with this key run at once
    concurrency_key: Attr[ConcurrencyKey | None] = field(None)
    concurrency_limit: Attr[int] = field(1, ge=1)
    #: a repeated submission with this key gets this job
    idempotency_key: Attr[str | None] = field(None)
    #: a repeated submission with this key gets this job while it is pending
    unique_key: Attr[str | None] = field(None)
    tags: Attr[list[str]] = field(factory=list, max_length=50)
    #: only in jobs that an earlier version of Gateleg finished: now only archiving removes jobs
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{job_id}")
    ready_key = Key(
        "{queue}",
        "{priority:03d:desc}#{created_at}#{job_id}",
        index="ReadyIndex",
        when={"status": [JobStatus.PENDING], "readiness": [Readiness.READY]},
    )
    due_key = Key("{queue}", index="DueIndex", when={"status": [JobStatus.PENDING], "readiness": [Readiness.DELAYED]})
    lease_key = Key("{queue}", index="LeaseIndex", when={"status": [JobStatus.PROCESSING]})

    in_status = Pattern("StatusCreatedIndex", title="Jobs in a status, oldest first")
    of_subject = Pattern(PLAIN.subject_index, title="Jobs about a subject, newest first", order="desc")
    of_type = Pattern("JobTypeIndex", title="Jobs of a type, highest priority first", order="desc")
    of_worker = Pattern("WorkerStatusIndex", title="Jobs of a worker, by status")
    ready = Pattern("ReadyIndex", title="Claimable jobs of a queue, in claim order")
    due = Pattern("DueIndex", title="Delayed jobs of a queue, soonest first")
    leased = Pattern("LeaseIndex", title="Running jobs of a queue, by the end of their lease")
    of_owner = Pattern("OwnerIndex", title="Jobs of a submitter, newest first", order="desc")
    in_tree = Pattern("TreeIndex", title="The jobs below a root, each after its parent")

    @classmethod
    def __read_foreign__(cls, item: Item) -> Item:
        """The item of a job that another program has written, in the form of the model."""
        return in_model_form(item, spec_of(cls).attributes["subject"].wire)

    @property
    def finished(self) -> bool:
        """Whether the job is completed, failed or cancelled."""
        return self.status in FINISHED

    @property
    def tries(self) -> int:
        """The number of tries, including the current attempt. Snoozed attempts do not count."""
        return self.attempt - (self.snoozes or 0)


class Running(Entity, table=make_running_view(PLAIN), defer_build=True):
    """The attributes of a running job that its worker updates without raising the version."""

    job_id: Attr[UUID]
    status: Attr[str]
    lease_token: Attr[str | None] = field(None)
    lease_until: Attr[datetime | None] = field(None)
    progress: Attr[Progress | None] = field(None)
    emitted: Attr[int | None] = field(None)
    logs: Attr[Logs] = field(factory=lambda: Logs())
    cancel_requested: Attr[datetime | None] = field(None)

    key = Key("{job_id}")
