"""The job queue: four indexes of the document, and two sparse ones for claiming and leases."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gateleg.model import GSI, Attr, Entity, Key, Pattern, Record, States, Table, Version, field, new_uuid, stamp, state

queue = Table(
    "DelphiJobQueue",
    hash="job_id",
    indexes=[
        GSI("StatusCreatedIndex", hash="status", range="created_at"),
        GSI("ConversationIndex", hash="conversation_id", range="created_at"),
        GSI("JobTypeIndex", hash="job_type", range="priority"),
        GSI("WorkerStatusIndex", hash="worker_id", range="status"),
        GSI("ReadyIndex", hash="ready_queue", range="ready_order"),
        GSI("LeaseIndex", hash="lease_queue", range="lease_until"),
    ],
)


class JobStatus(States):
    """The life of a job."""

    PENDING = state("PENDING", to=["PROCESSING", "CANCELLED"])
    PROCESSING = state("PROCESSING", to=["COMPLETED", "FAILED", "PENDING", "CANCELLED"])
    COMPLETED = state("COMPLETED")
    FAILED = state("FAILED", to=["PENDING"])
    CANCELLED = state("CANCELLED")


class LogEntry(Record):
    """One line of a job's log."""

    timestamp: Attr[datetime]
    level: Attr[str]
    message: Attr[str]


class Logs(Record):
    """The most recent lines, and where the rest is."""

    entries: Attr[list[LogEntry]] = field(factory=list)
    log_location: Attr[str | None] = field(None)


class Job(Entity, table=queue):
    """One unit of work, from submission to its result."""

    job_id: Attr[UUID] = new_uuid()
    status: Attr[JobStatus] = field(JobStatus.PENDING)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    started_at: Attr[datetime | None] = field(None)
    completed_at: Attr[datetime | None] = field(None)
    worker_id: Attr[str | None] = field(None)
    job_type: Attr[str]
    #: 0 to 100, higher first
    priority: Attr[int] = field(50, ge=0, le=100)
    conversation_id: Attr[str]
    retry_count: Attr[int] = field(0)
    max_retries: Attr[int] = field(3)
    timeout_seconds: Attr[int] = field(3600)
    job_config: Attr[dict[str, Any]] = field(factory=dict)
    job_results: Attr[dict[str, Any] | None] = field(None)
    logs: Attr[Logs] = field(factory=lambda: Logs())
    created_by: Attr[str | None] = field(None)
    dependencies: Attr[list[UUID]] = field(factory=list)
    dependent_jobs: Attr[list[UUID]] = field(factory=list)
    queue: Attr[str] = field("default")
    lease_until: Attr[datetime | None] = field(None)
    version: Attr[Version] = field(0)

    key = Key("{job_id}")
    ready_key = Key("{queue}", "{priority:03d:desc}#{created_at}#{job_id}", index="ReadyIndex", when={"status": ["PENDING"]})
    lease_key = Key("{queue}", index="LeaseIndex", when={"status": ["PROCESSING"]})

    in_status = Pattern("StatusCreatedIndex", title="Jobs in a status, oldest first")
    of_conversation = Pattern("ConversationIndex", title="Jobs of a conversation, newest first", order="desc")
    of_type = Pattern("JobTypeIndex", title="Jobs of a type, highest priority first", order="desc")
    of_worker = Pattern("WorkerStatusIndex", title="Jobs of a worker, by status")
    ready = Pattern("ReadyIndex", title="Claimable jobs of a queue, in the order to be claimed")
    leased = Pattern("LeaseIndex", title="Running jobs of a queue, by the end of their lease")
