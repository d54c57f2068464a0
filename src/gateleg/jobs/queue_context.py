"""`QueueContext`: the store's setup, handlers, settings and tables, which all flows of a queue share.

A queue with further tables (`QueueContext.members`) is one queue for all who use it. New jobs go to the tables of their type
(`QueueContext.of_type`); an operation on a job goes to the tables that hold it (`by_id`, `by_job`); references between jobs may lead from
one to another.

Other programs write the job table too. `read_job` decides what is a job, and what is wrong with an item that is none; every reader of the
table goes by it. Such items are set aside and named, and all other jobs go on: `Notices` remembers what a process has come across, so that
each item is logged once. Jobs in queue tables that this queue does not read, such as those of an application that is not installed, are
found by the names of the tables (`unread_tables`).
"""

from __future__ import annotations

import functools
import logging
import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import NAMESPACE_URL, uuid5

from gateleg.jobs.rules import RETENTION
from gateleg.jobs.tables.job import Job, JobStatus, job_key
from gateleg.jobs.tables.records import ArchivedJob, QueueTables, tables_beside, tables_named
from gateleg.model import DecodeError, ModelError, spec_of
from gateleg.store.flow import Request, StreamedItems, Together
from gateleg.store.operations import batch_get, count, query
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from gateleg.jobs.handlers import Handler, Jobs
    from gateleg.jobs.tables.job import TableNames
    from gateleg.model import Item, Query, Table
    from gateleg.store.flow import Flow
    from gateleg.store.operations import Stream
    from gateleg.store.setup import OnUnreadable, Setup, Unreadable

__all__ = ["QUEUE_NAME", "UnreadableJob", "read_job", "unread_tables_warning"]

R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")
_log = logging.getLogger("gateleg.jobs")


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


#: How many queues the cache remembers.
_MAX_CACHED_QUEUES = 1000


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


#: How many items a process remembers.
MAX_NOTICES = 1000


class Notices:
    """The invalid items that a process has come across."""

    def __init__(self) -> None:
        self._noticed: dict[str, UnreadableJob] = {}
        self._unrecorded: dict[str, UnreadableJob] = {}

    def note(self, bad: UnreadableJob) -> None:
        """Remember an item, and log it the first time."""
        if bad.job_id in self._noticed or len(self._noticed) >= MAX_NOTICES:
            return
        self._noticed[bad.job_id] = self._unrecorded[bad.job_id] = bad
        _log.warning("set aside the item %s of the job table, which is not a valid job: %s", bad.job_id, bad.reason)

    def knows(self, job_id: str) -> bool:
        """Whether the item was noticed."""
        return job_id in self._noticed

    def forget(self, job_id: str) -> None:
        """Forget an item, because it was repaired or deleted. If it is invalid again, it is logged again."""
        self._noticed.pop(job_id, None)
        self._unrecorded.pop(job_id, None)

    @property
    def noticed(self) -> tuple[UnreadableJob, ...]:
        """All noticed items."""
        return tuple(self._noticed.values())

    @property
    def unrecorded(self) -> tuple[UnreadableJob, ...]:
        """The noticed items that the ledger does not have yet."""
        return tuple(self._unrecorded.values())

    def recorded(self, bad: UnreadableJob) -> None:
        """Record that the ledger has the item."""
        self._unrecorded.pop(bad.job_id, None)

    def reporter(self, otherwise: OnUnreadable) -> OnUnreadable:
        """What lists of the queue do with an item that cannot be decoded: jobs are noted, anything else is handled as the store says."""

        def report(bad: Unreadable) -> None:
            if issubclass(bad.ref.entity, Job | ArchivedJob):
                self.note(UnreadableJob.of(bad))
            elif otherwise == "raise":
                raise bad.error
            elif otherwise == "warn":
                _log.warning("skipped an item that cannot be decoded: %s", bad.error)
            else:
                otherwise(bad)

        return report


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


def by_id(flow: F) -> F:
    """The flow of a verb whose first argument is a job's id, on the tables that hold the job."""

    @functools.wraps(flow)
    def routed(context: QueueContext, *args: Any, **options: Any) -> Any:
        started = flow(context, *args, **options)
        if len(context.members) == 1:
            return started
        started.close()
        return _on_holder(flow, context, args, options)

    return cast("F", routed)


def by_job(flow: F) -> F:
    """The flow of a verb whose first argument is a job, on the tables that the job was read from."""

    @functools.wraps(flow)
    def routed(context: QueueContext, job: Job, *args: Any, **options: Any) -> Any:
        return flow(context.holding(job), job, *args, **options)

    return cast("F", routed)


def _on_holder(flow: Callable[..., Any], context: QueueContext, args: tuple[Any, ...], options: dict[str, Any]) -> Flow[Any]:
    holder = yield from member_with(context, args[0] if args else options["job_id"])
    return (yield from flow(holder, *args, **options))


def member_with(context: QueueContext, job_id: UUID) -> Flow[QueueContext]:
    """The member whose tables hold a job or its archive; that of the queue's own tables if none does.

    Only the key is read, so an item that cannot be decoded is found too.
    """
    own, *others = context.members
    if not others:
        return own
    requests = [request for member in others for request in _key_reads(member, job_id)]
    responses = yield Together(requests)
    for member, response in zip((member for member in others for _ in range(2)), responses, strict=True):
        if isinstance(response, Exception):
            raise response
        if "Item" in response:
            return member
    return own


def _key_reads(member: QueueContext, job_id: UUID) -> list[Request]:
    """The reads of a job's key in the queue and in the archive of one member."""
    tables: list[Table] = [spec_of(member.tables.job).table, spec_of(member.tables.archived_job).table]
    read = {"Key": job_key(job_id), "ConsistentRead": True, "ProjectionExpression": "job_id"}
    return [Request("GetItem", {"TableName": member.setup.name_of(table), **read}, "Job.key") for table in tables]


def read_jobs(context: QueueContext, ids: Iterable[UUID]) -> Flow[list[Job]]:
    """The jobs with these ids in any table of the queue, in the order of the ids; archived and unknown ones are left out."""
    job_ids = list(ids)
    refs = [member.tables.job.key(job_id=job_id) for member in context.members for job_id in job_ids]
    jobs = {job.job_id: job for job in (yield from batch_get(refs, consistent=True).flow(context.setup)) if job is not None}
    return [jobs[job_id] for job_id in job_ids if job_id in jobs]


def read_archived(context: QueueContext, ids: Iterable[UUID]) -> Flow[list[ArchivedJob]]:
    """The archived jobs with these ids in any archive of the queue."""
    refs = [member.tables.archived_job.key(job_id=job_id) for job_id in ids for member in context.members]
    return [job for job in (yield from batch_get(refs).flow(context.setup)) if job is not None]


def jobs_where(context: QueueContext, question: Callable[[type[Job]], Query[Job]], *, limit: int | None = None) -> Flow[list[Job]]:
    """The jobs of a question in all tables of the queue: `jobs_where(lambda job: job.of_type(job_type="resize"))`.

    They are in the order of the question within each table; `limit` is the maximum from each.
    """
    jobs: list[Job] = []
    for member in context.members:
        jobs += yield from collect_stream(query(question(member.tables.job), limit=limit), context)
    return jobs


def collect_stream(stream: Stream[R], context: QueueContext, *, expired: bool = False) -> Flow[list[R]]:
    """All results of a stream, inside a flow. `expired` includes items that have expired by this clock: their writer's may be behind."""
    flow = stream.flow(replace(context.setup, expired=True) if expired else context.setup)
    items: list[R] = []
    try:
        step = next(flow)
        while True:
            if isinstance(step, StreamedItems):
                items += step.items
                step = flow.send(None)
                continue
            try:
                response = yield step
            except (ServiceError, Unreachable) as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration:
        return items


def count_jobs(question: Query[Job], context: QueueContext, *, limit: int | None = None) -> Flow[int]:
    """Count the jobs of an index, inside a flow. Pending and running jobs do not expire, so their items are not read."""
    return (yield from count(question, limit=limit).flow(replace(context.setup, expired=True)))


#: Attributes whose bounds limit what Gateleg writes; another program may have written more, such as a longer log.
_UNBOUNDED = {"logs", "attempts", "tags"}


@dataclass(frozen=True)
class UnreadableJob:
    """An item of the job table that is not a valid job."""

    #: the text in the item's key, which may be no UUID
    job_id: str
    #: what is wrong, by attribute
    problems: tuple[str, ...]

    @property
    def reason(self) -> str:
        """What is wrong, in one line."""
        return "; ".join(self.problems)

    @property
    def sentence(self) -> str:
        """Which item it is, and what is wrong."""
        return f"The item of job {self.job_id} is not a valid job: {self.reason}."

    @classmethod
    def of(cls, bad: Unreadable) -> UnreadableJob:
        """The description of an item that the store could not decode."""
        return cls(job_id_of(bad.item), _problems(bad.item, bad.error))


def read_job(kind: type[Job], item: Item) -> Job | UnreadableJob:
    """The job in an item, or what is wrong with it: an attribute that cannot be read, or a pending job that Gateleg would not accept."""
    spec = spec_of(kind)
    try:
        job = spec.decode(item)
    except ModelError as error:
        return UnreadableJob(job_id_of(item), _problems(item, error))
    problems = ["status is missing"] if "status" not in item else []
    if job_id_of(item) != str(job.job_id):
        problems.append(f"job_id: it is not in the usual form of a UUID. Put the job again as {job.job_id}, and delete this item")
    if job.status == JobStatus.PENDING:
        problems += [f"{name}: {problem}" for name, problem in spec.violations(job).items() if name not in _UNBOUNDED]
    return UnreadableJob(job_id_of(item), tuple(problems)) if problems else job


def job_id_of(item: Item) -> str:
    """The id of a job as it is stored."""
    return str(item.get("job_id", {}).get("S", "unknown"))


def _problems(item: Item, error: ModelError) -> tuple[str, ...]:
    problems = error.problems if isinstance(error, DecodeError) else ()
    if any(problem.startswith("job_id:") for problem in problems):
        # What the decoder says of the characters does not help: the key of an item cannot be corrected.
        problems = (_bad_id(job_id_of(item)), *(problem for problem in problems if not problem.startswith("job_id:")))
    return tuple(problems) or (error.message,)


def _bad_id(job_id: str) -> str:
    proposed = uuid5(NAMESPACE_URL, job_id)
    return f"job_id: {job_id[:60]!r} is not a UUID. Put the job again with one, such as {proposed}, and delete this item"


#: The names of tables of jobs: `JobQueue`, and those that applications bring.
QUEUE_NAME = re.compile(r"([A-Z][A-Za-z0-9]*)?JobQueue")


def unread_tables(context: QueueContext) -> Flow[list[str]]:
    """The tables of jobs in the store, by the names in the account, that are not empty and that this queue does not read.

    They are told by their name (`QUEUE_NAME`) and their key. Where tables may not be listed or read, none is found.
    """
    own = {context.setup.name_of(tables.all[0]) for tables in context.ledgers}
    names: list[str] = []
    start: dict[str, str] = {}
    while True:
        try:
            response = yield Request("ListTables", start, "tables")
        except ServiceError:
            return names
        for name in response["TableNames"]:
            if name not in own and _may_be_ours(context, name):
                names += (yield from _holds_jobs(name)) * [name]
        if "LastEvaluatedTableName" not in response:
            return names
        start = {"ExclusiveStartTableName": response["LastEvaluatedTableName"]}


def is_empty(context: QueueContext) -> Flow[bool]:
    """Whether the queue's own tables have no job. Tables that cannot be read count as not empty."""
    for tables in context.ledgers:
        name = context.setup.name_of(tables.all[0])
        try:
            response = yield Request("Scan", {"TableName": name, "Limit": 1, "Select": "COUNT"}, "Job.any")
        except ServiceError as error:
            return error.code == "ResourceNotFoundException"
        if response["Count"]:
            return False
    return True


def _may_be_ours(context: QueueContext, name: str) -> bool:
    """Whether a table of the account has the name of a table of jobs in this store."""
    setup = context.setup
    declared = next((short for short, full in setup.table_names.items() if full == name), None)
    if declared is None and name.startswith(setup.prefix):
        declared = name.removeprefix(setup.prefix)
    return declared is not None and QUEUE_NAME.fullmatch(declared) is not None


def _holds_jobs(name: str) -> Flow[bool]:
    try:
        response = yield Request("Scan", {"TableName": name, "Limit": 1, "ProjectionExpression": "job_id"}, "Job.any")
    except ServiceError:
        return False
    return any("job_id" in item for item in response["Items"])


def unread_tables_warning(names: Sequence[str]) -> str:
    """The text of the warning about jobs in tables that are not read."""
    return (
        f"the store has jobs in {', '.join(names)}, which this queue does not read: they are neither listed nor run. Install the "
        "application that brings these tables, and name it in `applications`; for a queue in Python, add its TableNames to further="
    )


def warn_of_unread_tables(context: QueueContext) -> Flow[None]:
    """Log a warning if the store has jobs in queue tables that this queue does not read."""
    names = yield from unread_tables(context)
    if names:
        _log.warning("%s", unread_tables_warning(names))
