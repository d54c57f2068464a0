"""`QueueContext`: the store's setup, handlers, settings and tables, which all flows of a queue share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from gateleg.jobs.rules import RETENTION
from gateleg.jobs.set_aside import Notices
from gateleg.jobs.tables.queue_tables import QueueTables, tables_beside, tables_named
from gateleg.model import spec_of
from gateleg.store.flow import StreamedItems
from gateleg.store.operations import count
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.handlers import Handler, Jobs
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.jobs.tables.job import Job, JobStatus
    from gateleg.jobs.tables.table_names import TableNames
    from gateleg.model import Query
    from gateleg.store.flow import Flow
    from gateleg.store.operations import Stream
    from gateleg.store.setup import Setup

R = TypeVar("R")
#: How many queues the cache remembers.
_MAX_CACHED_QUEUES = 1000


@dataclass(frozen=True)
class QueueSettings:
    """Settings of a queue: leases, limits and retention."""

    #: seconds without a heartbeat after which another worker may take over a job (the visibility timeout)
    lease_seconds: float = 30.0
    #: how many claimable jobs one claim reads from the index
    window: int = 50
    #: how long an idempotency key stays reserved
    remember: timedelta = timedelta(days=7)
    #: how long finished jobs stay in the queue before they are archived, by status
    retention: Mapping[JobStatus, timedelta] = field(default_factory=lambda: dict(RETENTION))
    #: how long the counts of each minute are kept
    counts: timedelta = timedelta(days=7)
    #: the maximum size of a config in bytes
    config_limit: int = 200_000
    #: the maximum size of a result in bytes
    result_limit: int = 100_000
    #: seconds for which a submitter caches that a queue is not draining
    open_for: float = 1.0
    #: how many dependents the transaction that completes a job releases at most; if there are more, an internal job releases them
    inline_dependents: int = 20


class DrainingCache:
    """Remembers for a moment which queues are not draining."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def open(self, queue: str, now: float) -> bool:
        """Whether the queue was recently read and was not draining."""
        return self._until.get(queue, now) > now

    def record_open(self, queue: str, until: float) -> None:
        """Remember that the queue is not draining, until this tick."""
        if len(self._until) >= _MAX_CACHED_QUEUES:
            self._until.clear()
        self._until[queue] = until

    def forget(self, queue: str) -> None:
        """Forget a queue, so that its state is read again."""
        self._until.pop(queue, None)


@dataclass(frozen=True)
class QueueContext:
    """The store's setup, handlers, settings and tables, which all flows of a queue share.

    The jobs of a queue may be in several tables: its own, and further ones that applications bring for jobs of their types. All other
    records (queues, workers, schedules, keys, counts) are in its own ledger. `members` are the contexts of the single tables.
    """

    setup: Setup
    jobs: Jobs
    settings: QueueSettings = field(default_factory=QueueSettings)
    #: its entities, bound to its tables
    tables: QueueTables = field(default_factory=QueueTables)
    draining_cache: DrainingCache = field(default_factory=DrainingCache, compare=False)
    #: the items of the job table that are not valid jobs, as far as this process has come across them
    notices: Notices = field(default_factory=Notices, compare=False)

    #: all tables of the queue, its own first; empty if it has no further ones
    all_tables: tuple[QueueTables, ...] = ()

    @classmethod
    def spanning(cls, setup: Setup, jobs: Jobs, settings: QueueSettings, own: TableNames, further: Sequence[TableNames]) -> QueueContext:
        """The context of a queue on its own tables and further ones."""
        others = [names for names in dict.fromkeys(further) if names != own]
        tables = (tables_named(own), *(tables_beside(names, own) for names in others))
        return cls(setup, jobs, settings, tables[0], all_tables=tables if others else ())

    @cached_property
    def members(self) -> tuple[QueueContext, ...]:
        """The contexts of the single tables, that of the queue's own first."""
        return tuple(replace(self, tables=tables) for tables in self.all_tables) or (self,)

    @cached_property
    def ledgers(self) -> tuple[QueueTables, ...]:
        """All tables with the ledgers of their own, which programs that use only these tables write."""
        return tuple(tables_named(tables.names) for tables in self.all_tables) or (self.tables,)

    def holding(self, job: Job | ArchivedJob) -> QueueContext:
        """The member whose table a job was read from."""
        kind = type(job)
        return next((member for member in self.members if kind in (member.tables.job, member.tables.archived_job)), self)

    def of_type(self, handler: Handler) -> QueueContext:
        """The member for new jobs of a type: the tables of its application if that brings any, or else the queue's own."""
        if handler.tables is None:
            return self.members[0]
        return next((member for member in self.members if member.tables.names == handler.tables), self.members[0])

    def __post_init__(self) -> None:
        """Let lists note jobs that cannot be decoded, instead of logging them at every read."""
        reporting = replace(self.setup, on_unreadable=self.notices.reporter(self.setup.on_unreadable))
        object.__setattr__(self, "setup", reporting)

    @property
    def queue_table_name(self) -> str:
        """The name of the job table in the account."""
        return self.setup.name_of(spec_of(self.tables.job).table)

    def now(self) -> datetime:
        """The current time of the store's clock."""
        return self.setup.now()


def collect_stream(stream: Stream[R], context: QueueContext, *, expired: bool = False) -> Flow[list[R]]:
    """All results of a stream, inside a flow. `expired` includes items that have expired by this clock: their writer's may be behind."""
    flow = stream.flow(replace(context.setup, expired=True) if expired else context.setup)
    found: list[R] = []
    try:
        step = next(flow)
        while True:
            if isinstance(step, StreamedItems):
                found += step.items
                step = flow.send(None)
                continue
            try:
                response = yield step
            except (ServiceError, Unreachable) as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration:
        return found


def count_jobs(question: Query[Job], context: QueueContext, *, limit: int | None = None) -> Flow[int]:
    """Count the jobs of an index, inside a flow. Pending and running jobs do not expire, so their items are not read."""
    return (yield from count(question, limit=limit).flow(replace(context.setup, expired=True)))
