"""What the queue keeps beside the jobs: the state of queues, workers, schedules, keys that are taken, log chunks and tallies.

One table, in which every entity has a partition of its own kind; most of them are read by their whole key.
"""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from gateleg.jobs.tables.job import LogEntry
from gateleg.jobs.tables.table_names import PLAIN, TableNames
from gateleg.model import TTL, Attr, Compressed, Entity, Key, Pattern, Record, Table, Version, field

__all__ = ["Hour", "MinuteCounts"]


def make_ledger_table(names: TableNames) -> Table:
    """The table of what the queue keeps beside the jobs, by other names."""
    return Table(names.ledger, hash="pk", range="sk", tag="kind")


ledger_table = make_ledger_table(PLAIN)


class QueueState(Entity, table=ledger_table, tag="queue"):
    """How a queue is run. A queue that nobody has changed has none, and runs."""

    name: Attr[str]
    #: `paused`: nothing is claimed; `draining`: nothing new is taken in
    mode: Attr[Literal["running", "paused", "draining"]] = field("running")
    #: at most so many starts in a window of so many seconds; 0 for no limit
    rate: Attr[int] = field(0, ge=0)
    rate_seconds: Attr[int] = field(60, ge=1)
    changed_at: Attr[datetime | None] = field(None)
    changed_by: Attr[str | None] = field(None)

    key = Key("QUEUES", "QUEUE#{name}")
    every = Pattern(title="All queues that have a state")


class RateWindow(Entity, table=ledger_table, tag="rate"):
    """How many jobs of a queue were started in one window of time."""

    queue: Attr[str]
    window: Attr[int]
    started: Attr[int] = field(0)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("RATE#{queue}", "WINDOW#{window:012d}")


class Slots(Entity, table=ledger_table, tag="slots"):
    """The running jobs of one concurrency key."""

    concurrency_key: Attr[str]
    holders: Attr[set[str] | None] = field(None, max_length=1000)

    key = Key("SLOTS#{concurrency_key}", "SLOTS")


class KeyReservation(Entity, table=ledger_table, tag="hold"):
    """A key that a submission has taken: for good (`idempotency`, until it expires) or while its job waits (`unique`)."""

    purpose: Attr[Literal["idempotency", "unique"]]
    text: Attr[str]
    job_id: Attr[UUID]
    #: of the submission, to tell a repetition from another use of the key
    digest: Attr[str] = field("")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("HOLD#{text}", "HOLD#{purpose}")


class WorkerRecord(Entity, table=ledger_table, tag="worker"):
    """A worker that is alive, as it said last."""

    worker_id: Attr[str]
    host: Attr[str]
    pid: Attr[int]
    #: of the application, as the worker was told
    app_version: Attr[str] = field("")
    queues: Attr[list[str]] = field(factory=list, max_length=100)
    #: how often each queue is looked into first, against the others
    weights: Attr[dict[str, int]] = field(factory=dict)
    concurrency: Attr[int] = field(1)
    #: the most jobs of a queue that it runs at once, where that is limited
    limits: Attr[dict[str, int]] = field(factory=dict)
    state: Attr[Literal["running", "draining", "stopped"]] = field("running")
    running: Attr[list[UUID]] = field(factory=list, max_length=1000)
    memory_bytes: Attr[int] = field(0)
    #: for how long its leases last
    lease_seconds: Attr[float | None] = field(None)
    #: by how many seconds its clock is ahead of those of the others, as far as that can be told
    clock_ahead: Attr[float] = field(0.0)
    started_at: Attr[datetime]
    seen_at: Attr[datetime]
    expires_at: Attr[TTL | None] = field(None)

    key = Key("WORKERS", "WORKER#{worker_id}")
    every = Pattern(title="All workers that were alive lately")


class LeaderLease(Entity, table=ledger_table, tag="duty"):
    """A duty that one worker has for all, as long as it renews its term."""

    name: Attr[str]
    #: nobody, when it is empty
    holder: Attr[str]
    #: moves with every renewal; by the clock of the holder, so nobody compares it with its own
    until: Attr[datetime]
    #: how long a term is: who sees no renewal for that long may take the duty
    seconds: Attr[float | None] = field(None)
    #: where a duty that is done in pieces goes on
    position: Attr[str | None] = field(None)

    key = Key("DUTIES", "DUTY#{name}")


class Schedule(Entity, table=ledger_table, tag="schedule"):
    """A job that is submitted again and again."""

    name: Attr[str] = field("", min_length=1, max_length=200)
    job_type: Attr[str]
    job_config: Attr[dict[str, Any]] = field(factory=dict)
    #: five fields of cron; or else `every`
    cron: Attr[str | None] = field(None)
    timezone: Attr[str] = field("UTC")
    #: seconds between two runs
    every: Attr[int | None] = field(None, ge=1)
    queue: Attr[str | None] = field(None)
    priority: Attr[int] = field(50, ge=0, le=100)
    subject: Attr[str | None] = field(None)
    enabled: Attr[bool] = field(True)
    #: of its jobs, so that they can also be made by a worker that does not know their type
    max_retries: Attr[int | None] = field(None)
    timeout_seconds: Attr[int | None] = field(None)
    #: a run that is later than this many seconds is left out
    max_delay: Attr[int] = field(600, ge=0)
    next_run_at: Attr[datetime | None] = field(None)
    last_run_at: Attr[datetime | None] = field(None)
    last_job_id: Attr[UUID | None] = field(None)
    #: runs that were left out because they were too late, or refused
    skipped: Attr[int] = field(0)
    #: the application whose code declares it; None when a person or a program has made it
    declared_by: Attr[str | None] = field(None)
    #: since when its application has started without declaring it; it does not run then
    undeclared_at: Attr[datetime | None] = field(None)
    version: Attr[Version] = field(0)

    @property
    def active(self) -> bool:
        """Whether it submits jobs: it is switched on, and its application still declares it."""
        return self.enabled and self.undeclared_at is None

    key = Key("SCHEDULES", "SCHEDULE#{name}")
    listed = Pattern(title="All schedules by name")


class LogChunk(Entity, table=ledger_table, tag="log"):
    """Lines of a job's log that have left the job. `first` is the number of the first, counted from 0."""

    job_id: Attr[UUID]
    first: Attr[int]
    lines: Attr[Compressed[list[LogEntry]]]
    expires_at: Attr[TTL | None] = field(None)

    key = Key("LOG#{job_id}", "LINES#{first:010d}")
    of_job = Pattern(title="The earlier lines of a job's log, in order")


class EventChunk(Entity, table=ledger_table, tag="events"):
    """Events that a job has emitted, as they were written together. `first` is the number of the first, counted from 0."""

    job_id: Attr[UUID]
    first: Attr[int]
    events: Attr[Compressed[list[Any]]]
    expires_at: Attr[TTL | None] = field(None)

    key = Key("EVENTS#{job_id}", "EVENT#{first:010d}")
    of_job = Pattern(title="The events that a job has emitted, in order")


class MinuteCounts(Entity, table=ledger_table, tag="tally"):
    """What one worker did with the jobs of one type in one minute. Only that worker writes it, as a whole."""

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
    #: runs by their time: the key is the quarter of a power of two of milliseconds that holds it
    run_times: Attr[dict[str, int]] = field(factory=dict)
    #: waits from submission to start, in the same way
    wait_times: Attr[dict[str, int]] = field(factory=dict)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("TALLY#{queue}", "MINUTE#{minute}#{job_type}#{worker_id}")
    of_queue = Pattern(title="What was done in a queue, minute by minute")


class Minute(Record):
    """What a queue did in one minute, and what was in it when the minute was noted."""

    claimed: Attr[int] = field(0)
    completed: Attr[int] = field(0)
    failed: Attr[int] = field(0)
    retried: Attr[int] = field(0)
    cancelled: Attr[int] = field(0)
    lost_claims: Attr[int] = field(0)
    #: None where nobody has looked
    waiting: Attr[int | None] = field(None)
    running: Attr[int | None] = field(None)


class Hour(Entity, table=ledger_table, tag="hour"):
    """The history of a queue in one hour. Written by the worker that watches the queue, from the tallies of all."""

    queue: Attr[str]
    hour: Attr[datetime]
    #: by the number of the minute, 0 to 59; minutes in which nothing happened may be left out
    minutes: Attr[dict[str, Minute]] = field(factory=dict)
    expires_at: Attr[TTL | None] = field(None)

    key = Key("HISTORY", "HOUR#{hour}#{queue}")
    since = Pattern(title="What was done in all queues, hour by hour")
