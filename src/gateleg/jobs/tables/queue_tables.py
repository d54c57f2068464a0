"""The queue's entities, bound to tables with configurable names. Every flow of a queue takes them from its context."""

from dataclasses import dataclass, replace
from functools import cache
from types import new_class
from typing import TypeVar

from gateleg.jobs.tables import job as jobs
from gateleg.jobs.tables.job import PLAIN, TableNames
from gateleg.jobs.tables.records import (
    ArchivedBranch,
    ArchivedJob,
    EventChunk,
    Hour,
    KeyReservation,
    LeaderLease,
    LogChunk,
    MinuteCounts,
    QueueState,
    RateWindow,
    Schedule,
    SetAsideRecord,
    Slots,
    WorkerRecord,
    make_archive_table,
    make_ledger_table,
)
from gateleg.model import Access, Entity, Pattern, Table, spec_of
from gateleg.model.validation import construct_unchecked

__all__ = ["TABLES", "QueueTables", "tables_beside", "tables_named"]

E = TypeVar("E", bound=Entity)
#: The entities of which a queue has one set, however many tables its jobs are in.
_SHARED = (
    *("queue_state", "rate_window", "slots", "key_reservation", "worker_record", "leader_lease", "schedule", "minute_counts", "hour"),
    "set_aside_record",
)


@dataclass(frozen=True, eq=False)
class QueueTables:
    """The entity classes of a queue. For tables with other names than the default, they are subclasses of the default classes."""

    names: TableNames = PLAIN
    job: type[jobs.Job] = jobs.Job
    running: type[jobs.Running] = jobs.Running
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
        job=_bound_by_subject(jobs.Job, jobs.make_queue_table(names), names, jobs.Job.of_subject),
        running=_bound(jobs.Running, jobs.make_running_view(names)),
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
