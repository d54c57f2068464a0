"""The queue's records other than jobs: queues, workers, schedules, reserved keys, log chunks, counts and the archive.

They share one table, the ledger, with partitions by entity; most are read by their full key. The archive has its own table, with a summary
of each finished job, without its running state.

`QueueTables` has all entities of a queue, bound to tables with configurable names. Every flow of a queue takes them from its context.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from types import new_class
from typing import Any, Literal, TypeVar
from uuid import UUID

from gateleg.jobs.tables.job import (
    KEPT_ATTEMPTS,
    MAX_DEPENDENCIES,
    MAX_DEPENDENTS,
    PLAIN,
    Attempt,
    Failure,
    Job,
    JobStatus,
    LogEntry,
    Logs,
    Results,
    Running,
    TableNames,
    make_queue_table,
    make_running_view,
    owner_of,
)
from gateleg.model import GSI, TTL, Access, Attr, Compressed, Entity, Key, Pattern, Record, Table, Version, field, spec_of
from gateleg.model.validation import construct_unchecked

__all__ = ["TABLES", "Hour", "MinuteCounts", "QueueTables", "tables_beside", "tables_named"]

E = TypeVar("E", bound=Entity)

#: The entities of which a queue has one set, however many tables its jobs are in.
_SHARED = (
    *("queue_state", "rate_window", "slots", "key_reservation", "worker_record", "leader_lease", "schedule", "minute_counts", "hour"),
    "set_aside_record",
)


def make_ledger_table(names: TableNames) -> Table:
    """The ledger: the table of the queue's other records, under a given name."""
    return Table(names.ledger, hash="pk", range="sk", tag="kind")


ledger_table = make_ledger_table(PLAIN)


class QueueState(Entity, table=ledger_table, tag="queue", defer_build=True):
    """The mode and rate limit of a queue. A queue without this item runs without a limit."""

    name: Attr[str]
    #: `paused`: no jobs are claimed; `draining`: no new jobs are accepted
    mode: Attr[Literal["running", "paused", "draining"]] = field("running")
    #: the maximum number of starts in a window of `rate_seconds`; 0 for no limit
    rate: Attr[int] = field(0, ge=0)
    rate_seconds: Attr[int] = field(60, ge=1)
    changed_at: Attr[datetime | None] = field(None)
    changed_by: Attr[str | None] = field(None)

    key = Key("QUEUES", "QUEUE#{name}")
    every = Pattern(title="All queues that have a state")


class RateWindow(Entity, table=ledger_table, tag="rate", defer_build=True):
    """The number of jobs of a queue that were started in one time window."""

    queue: Attr[str]
    window: Attr[int]
    started: Attr[int] = field(0)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("RATE#{queue}", "WINDOW#{window:012d}")


class Slots(Entity, table=ledger_table, tag="slots", defer_build=True):
    """The running jobs of one concurrency key."""

    concurrency_key: Attr[str]
    holders: Attr[set[str] | None] = field(None, max_length=1000)

    key = Key("SLOTS#{concurrency_key}", "SLOTS")


class KeyReservation(Entity, table=ledger_table, tag="hold", defer_build=True):
    """A key that a submission has reserved: until it expires (`idempotency`), or while its job is pending (`unique`)."""

    purpose: Attr[Literal["idempotency", "unique"]]
    text: Attr[str]
    job_id: Attr[UUID]
    #: a digest of the submission, which distinguishes a repetition from another use of the key
    digest: Attr[str] = field("")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("HOLD#{text}", "HOLD#{purpose}")


class WorkerRecord(Entity, table=ledger_table, tag="worker", defer_build=True):
    """The last report of a worker."""

    worker_id: Attr[str]
    host: Attr[str]
    pid: Attr[int]
    #: the version of the application, as passed to the worker
    app_version: Attr[str] = field("")
    queues: Attr[list[str]] = field(factory=list, max_length=100)
    #: the relative frequency with which each queue is polled first
    weights: Attr[dict[str, int]] = field(factory=dict)
    concurrency: Attr[int] = field(1)
    #: the maximum number of concurrent jobs of a queue, for limited queues
    limits: Attr[dict[str, int]] = field(factory=dict)
    state: Attr[Literal["running", "draining", "stopped"]] = field("running")
    running: Attr[list[UUID]] = field(factory=list, max_length=1000)
    memory_bytes: Attr[int] = field(0)
    #: the duration of its leases
    lease_seconds: Attr[float | None] = field(None)
    #: estimated seconds by which its clock is ahead of the other workers' clocks
    clock_ahead: Attr[float] = field(0.0)
    started_at: Attr[datetime]
    seen_at: Attr[datetime]
    expires_at: Attr[TTL | None] = field(None)

    key = Key("WORKERS", "WORKER#{worker_id}")
    every = Pattern(title="All recently active workers")


class LeaderLease(Entity, table=ledger_table, tag="duty", defer_build=True):
    """The lease of a maintenance task, which one worker does for all while it renews the lease."""

    name: Attr[str]
    #: the worker; empty if the lease is free
    holder: Attr[str]
    #: changes with every renewal; a time of the holder's clock, so it is never compared with another clock
    until: Attr[datetime]
    #: the duration of the lease: a worker that sees no renewal for this long may take it over
    seconds: Attr[float | None] = field(None)
    #: the position at which an incremental task continues
    position: Attr[str | None] = field(None)

    key = Key("DUTIES", "DUTY#{name}")


class Schedule(Entity, table=ledger_table, tag="schedule", defer_build=True):
    """A job that is submitted repeatedly."""

    name: Attr[str] = field("", min_length=1, max_length=200)
    job_type: Attr[str]
    job_config: Attr[dict[str, Any]] = field(factory=dict)
    #: five cron fields; None if `every` is set
    cron: Attr[str | None] = field(None)
    timezone: Attr[str] = field("UTC")
    #: seconds between two runs
    every: Attr[int | None] = field(None, ge=1)
    queue: Attr[str | None] = field(None)
    priority: Attr[int] = field(50, ge=0, le=100)
    subject: Attr[str | None] = field(None)
    #: at most `concurrency_limit` of its runs, and of other jobs with this key, run at once
    concurrency_key: Attr[str | None] = field(None)
    concurrency_limit: Attr[int] = field(1, ge=1)
    enabled: Attr[bool] = field(True)
    #: the handler's defaults, so that a worker that does not know the job type can submit its jobs
    max_retries: Attr[int | None] = field(None)
    timeout_seconds: Attr[int | None] = field(None)
    #: which of these two the schedule itself sets; the handler that runs a job decides the others
    overrides: Attr[list[str]] = field(factory=list, max_length=10)
    #: seconds after which a run is no longer started
    start_within: Attr[float | None] = field(None)
    tags: Attr[list[str]] = field(factory=list, max_length=50)
    #: a run that is later than this many seconds is skipped
    max_delay: Attr[int] = field(600, ge=0)
    next_run_at: Attr[datetime | None] = field(None)
    last_run_at: Attr[datetime | None] = field(None)
    last_job_id: Attr[UUID | None] = field(None)
    #: the number of runs that did not happen: missed while no worker ran, too late, or refused
    skipped: Attr[int] = field(0)
    #: the application whose code declares it; None if a person or a program created it
    declared_by: Attr[str | None] = field(None)
    #: when its application first started without declaring it; the schedule has not run since
    undeclared_at: Attr[datetime | None] = field(None)
    version: Attr[Version] = field(0)

    @property
    def active(self) -> bool:
        """Whether it submits jobs: it is enabled, and its application still declares it."""
        return self.enabled and self.undeclared_at is None

    key = Key("SCHEDULES", "SCHEDULE#{name}")
    listed = Pattern(title="All schedules by name")


class SetAsideRecord(Entity, table=ledger_table, tag="aside", defer_build=True):
    """An item of the job table that is not a valid job, as a worker has found it."""

    #: the id, which may be any text, as hexadecimal digits of its digest
    digest: Attr[str]
    #: the text in the item's key
    job_id: Attr[str]
    #: what is wrong, by attribute
    problems: Attr[list[str]] = field(factory=list)
    noticed_at: Attr[datetime]

    key = Key("ASIDE", "JOB#{digest}")
    every = Pattern(title="The items of the job table that are not valid jobs")


class LogChunk(Entity, table=ledger_table, tag="log", defer_build=True):
    """Log lines that were moved out of the job's item. `first` is the number of the first line, counted from 0."""

    job_id: Attr[UUID]
    first: Attr[int]
    lines: Attr[Compressed[list[LogEntry]]]
    expires_at: Attr[TTL | None] = field(None)

    key = Key("LOG#{job_id}", "LINES#{first:010d}")
    of_job = Pattern(title="The earlier lines of a job's log, in order")


class EventChunk(Entity, table=ledger_table, tag="events", defer_build=True):
    """Events of a job that were written together. `first` is the number of the first event, counted from 0."""

    job_id: Attr[UUID]
    first: Attr[int]
    events: Attr[Compressed[list[Any]]]
    expires_at: Attr[TTL | None] = field(None)

    key = Key("EVENTS#{job_id}", "EVENT#{first:010d}")
    of_job = Pattern(title="The events that a job has emitted, in order")


class ArchivedBranch(Entity, table=ledger_table, tag="branch", defer_build=True):
    """The place of an archived job in its tree, below the root. The archive has the job itself."""

    root_job_id: Attr[UUID]
    #: the ids from the root to the job
    tree_path: Attr[str]
    job_id: Attr[UUID]
    parent_job_id: Attr[UUID]
    status: Attr[JobStatus]
    job_type: Attr[str]
    job_stage: Attr[str | None] = field(None)
    created_at: Attr[datetime]
    started_at: Attr[datetime | None] = field(None)
    completed_at: Attr[datetime | None] = field(None)
    retry_count: Attr[int] = field(0)

    key = Key("TREE#{root_job_id}", "{tree_path}")
    in_tree = Pattern(title="The archived jobs below a root, each after its parent")


class MinuteCounts(Entity, table=ledger_table, tag="tally", defer_build=True):
    """Counts of one worker for one job type in one minute. Only that worker writes the item, each time as a whole."""

    queue: Attr[str]
    minute: Attr[datetime]
    job_type: Attr[str]
    worker_id: Attr[str]
    claimed: Attr[int] = field(0)
    lost_claims: Attr[int] = field(0)
    completed: Attr[int] = field(0)
    failed: Attr[int] = field(0)
    retried: Attr[int] = field(0)
    cancelled: Attr[int] = field(0)
    #: histogram of run times: each key is a bucket of a quarter of a power of two, in milliseconds
    run_times: Attr[dict[str, int]] = field(factory=dict)
    #: histogram of waiting times from submission to start, with the same buckets
    wait_times: Attr[dict[str, int]] = field(factory=dict)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("TALLY#{queue}", "MINUTE#{minute}#{job_type}#{worker_id}")
    of_queue = Pattern(title="The counts of a queue, by minute")


class Minute(Record, defer_build=True):
    """The counts of a queue in one minute, and how many jobs waited and ran when the minute was recorded."""

    claimed: Attr[int] = field(0)
    completed: Attr[int] = field(0)
    failed: Attr[int] = field(0)
    retried: Attr[int] = field(0)
    cancelled: Attr[int] = field(0)
    lost_claims: Attr[int] = field(0)
    #: the number of claimable and of running jobs; None if not recorded
    waiting: Attr[int | None] = field(None)
    running: Attr[int | None] = field(None)


class Hour(Entity, table=ledger_table, tag="hour", defer_build=True):
    """The history of a queue in one hour. The worker that maintains the history writes it from the counts of all workers."""

    queue: Attr[str]
    hour: Attr[datetime]
    #: the counts by minute, 0 to 59; minutes without activity may be missing
    minutes: Attr[dict[str, Minute]] = field(factory=dict)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("HISTORY", "HOUR#{hour}#{queue}")
    since = Pattern(title="The counts of all queues, by hour")


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


class ArchivedJob(Entity, table=archive_table, defer_build=True):
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
_KEPT = tuple(name for name in ArchivedJob.model_fields if name in Job.model_fields and name not in ("attempt", "logs"))


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


@dataclass(frozen=True, eq=False)
class QueueTables:
    """The entity classes of a queue. For tables with other names than the default, they are subclasses of the default classes."""

    names: TableNames = PLAIN
    job: type[Job] = Job
    running: type[Running] = Running
    archived_job: type[ArchivedJob] = ArchivedJob
    queue_state: type[QueueState] = QueueState
    rate_window: type[RateWindow] = RateWindow
    slots: type[Slots] = Slots
    key_reservation: type[KeyReservation] = KeyReservation
    worker_record: type[WorkerRecord] = WorkerRecord
    leader_lease: type[LeaderLease] = LeaderLease
    schedule: type[Schedule] = Schedule
    set_aside_record: type[SetAsideRecord] = SetAsideRecord
    log_chunk: type[LogChunk] = LogChunk
    event_chunk: type[EventChunk] = EventChunk
    archived_branch: type[ArchivedBranch] = ArchivedBranch
    minute_counts: type[MinuteCounts] = MinuteCounts
    hour: type[Hour] = Hour

    @property
    def all(self) -> tuple[Table, Table, Table]:
        """The tables of jobs, of other records, and of archived jobs."""
        return self.job.__table__, self.queue_state.__table__, self.archived_job.__table__


def moved_to(kind: type[E], item: E) -> E:
    """Convert an item to the class of the queue's tables; items created without a context have the default class."""
    return item if type(item) is kind else construct_unchecked(kind, dict(item.__dict__))


@cache
def tables_named(names: TableNames) -> QueueTables:
    """The queue's entities in tables with these names."""
    if names == PLAIN:
        return QueueTables()
    ledger = make_ledger_table(names)
    return QueueTables(
        names=names,
        job=_bound_by_subject(Job, make_queue_table(names), names, Job.of_subject),
        running=_bound(Running, make_running_view(names)),
        archived_job=_bound_by_subject(ArchivedJob, make_archive_table(names), names, ArchivedJob.of_subject),
        queue_state=_bound(QueueState, ledger),
        rate_window=_bound(RateWindow, ledger),
        slots=_bound(Slots, ledger),
        key_reservation=_bound(KeyReservation, ledger),
        worker_record=_bound(WorkerRecord, ledger),
        leader_lease=_bound(LeaderLease, ledger),
        schedule=_bound(Schedule, ledger),
        set_aside_record=_bound(SetAsideRecord, ledger),
        log_chunk=_bound(LogChunk, ledger),
        event_chunk=_bound(EventChunk, ledger),
        archived_branch=_bound(ArchivedBranch, ledger),
        minute_counts=_bound(MinuteCounts, ledger),
        hour=_bound(Hour, ledger),
    )


@cache
def tables_beside(names: TableNames, own: TableNames) -> QueueTables:
    """The entities of further tables of a queue: their jobs, archive, logs and events, and the other records of the queue's own tables."""
    shared = tables_named(own)
    return replace(tables_named(names), **{name: getattr(shared, name) for name in _SHARED})


def _bound(kind: type[E], table: Table, **members: object) -> type[E]:
    """The same entity in another table, with the given members replaced."""
    own = {"__doc__": kind.__doc__, "__module__": kind.__module__, **members}
    return new_class(kind.__name__, (kind,), {"table": table, "tag": spec_of(kind).tag}, lambda body: body.update(own))


def _bound_by_subject(kind: type[E], table: Table, names: TableNames, pattern: Access[E]) -> type[E]:
    """The same, with another wire name and index for the subject."""
    of_subject = Pattern(names.subject_index, title=pattern.pattern.title, order=pattern.pattern.order)
    return _bound(kind, table, of_subject=of_subject, __wire_case__=lambda name: names.subject if name == "subject" else name)


#: The tables of a queue with the default names.
TABLES = tables_named(PLAIN).all
