"""`Queue` and `AsyncQueue`: the methods of the queue, called or awaited.

Each verb is written once, as a flow, in the module it belongs to, and listed once, in `QueueVerbs`; both classes are derived from the list.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from gateleg.jobs.admin import (
    acquire_leader_lease,
    cancel,
    drain,
    every_worker,
    forget_worker,
    pause,
    release_leader_lease,
    report_worker,
    resume,
    retry,
    retry_failed,
    set_priority,
    set_rate,
    settle,
    states,
    workers,
)
from gateleg.jobs.adoption import get_job, get_or_archived
from gateleg.jobs.change_feed import ChangeFeed
from gateleg.jobs.claim import claim, claim_several
from gateleg.jobs.errors import WrongArgument
from gateleg.jobs.finish import finish
from gateleg.jobs.foreign_jobs import adopt_jobs, find_set_aside, record_set_aside, set_aside, survey
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.leases import correct_delays, promote, reap, renew
from gateleg.jobs.monitor.listing import (
    archive_page,
    cancel_tree,
    ids_beginning,
    jobs_page,
    own_jobs_page,
    read_log,
    read_update,
    tree,
    unfinished_tree,
)
from gateleg.jobs.monitor.stats import history, queue_names, record_history, stats, write_counts
from gateleg.jobs.queue_context import (
    QueueContext,
    QueueSettings,
    by_id,
    by_job,
    is_empty,
    jobs_where,
    read_jobs,
    unread_tables,
    warn_of_unread_tables,
)
from gateleg.jobs.retention import archive_job, overdue
from gateleg.jobs.schedules import (
    declare_schedules,
    find_schedule,
    run_schedules,
    schedule,
    schedules,
    schedules_page,
    set_enabled,
    unschedule,
)
from gateleg.jobs.submission import Submitter
from gateleg.jobs.submit import enlist, submit, submit_many, writes_of
from gateleg.jobs.tables.job import PLAIN, TableNames
from gateleg.store import AsyncStore, Store
from gateleg.store.operations.tables import ensure_tables
from gateleg.store.verbs import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from gateleg.jobs.submission import Submission, Submitted
    from gateleg.jobs.tables.records import QueueTables
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

P = ParamSpec("P")
R = TypeVar("R")


def _ensure_tables(context: QueueContext) -> Flow[list[str]]:
    """Create the queue's tables that do not exist, and return their names. Safe to call at every start.

    Logs a warning if the store has jobs only in queue tables that this queue does not read.
    """
    created = yield from ensure_tables(*(table for tables in context.ledgers for table in tables.all)).flow(context.setup)
    if (yield from is_empty(context)):
        yield from warn_of_unread_tables(context)
    return created


def _refuse_store(store: object, kind: type, fix: str) -> None:
    """Raise `WrongArgument` for an async store in a sync queue, or the reverse, and for the arguments in another order."""
    if isinstance(store, kind | Jobs | str):
        raise WrongArgument(f"This queue cannot use a store of type {type(store).__name__}.", fix=fix)


def _checked_registry(jobs: Jobs) -> Jobs:
    """The registry; raises `WrongArgument` for anything else, which would otherwise only fail at the first submission."""
    if not isinstance(jobs, Jobs):
        raise WrongArgument(f"A queue needs a registry of handlers, not a {type(jobs).__name__}.", fix="Pass the Jobs() itself.")
    return jobs


def _checked_names(tables: Any) -> TableNames:
    if not isinstance(tables, TableNames):
        raise WrongArgument(
            f"tables= takes the names of a queue's tables, and was given {tables!r}.",
            fix="Give TableNames(...), or leave it out for JobQueue, JobLedger and JobArchive.",
        )
    return tables


def _context_of(setup: Setup, jobs: Jobs, settings: QueueSettings | None, tables: Any, further: Sequence[Any]) -> QueueContext:
    others = [_checked_names(names) for names in further]
    return QueueContext.spanning(setup, _checked_registry(jobs), settings or QueueSettings(), _checked_names(tables), others)


class Verb(Generic[P, R]):
    """One verb of `QueueVerbs`. To a type checker, it is a method of `Queue`, and an async method of `AsyncQueue`.

    At run time, both classes have functions instead.
    """

    def __init__(self, flow: Callable[Concatenate[QueueContext, P], Flow[R]]) -> None:
        self.flow = flow

    @overload
    def __get__(self, queue: None, kind: type[QueueVerbs]) -> Verb[P, R]: ...

    @overload
    def __get__(self, queue: Queue, kind: type[QueueVerbs]) -> Callable[P, R]: ...

    @overload
    def __get__(self, queue: AsyncQueue, kind: type[QueueVerbs]) -> Callable[P, Coroutine[Any, Any, R]]: ...

    def __get__(self, queue: QueueVerbs | None, kind: type[QueueVerbs]) -> Any:
        """The verb itself; the derived classes have methods instead."""
        return self

    def method(self, within: str) -> Callable[..., Any]:
        """The method that drives the flow. `within` is the type that wraps its result, shown by `help`."""
        build: Callable[..., Flow[R]] = self.flow

        def method(queue: Queue | AsyncQueue, /, *args: Any, **options: Any) -> Any:
            try:
                flow = build(queue.context, *args, **options)
            except TypeError as error:
                raise _explained(method, error) from None
            return queue.store.drive(flow)

        return describe(method, build, fills=1, within=within)


def _explained(method: Callable[..., Any], error: TypeError) -> TypeError:
    """The error of a call, with the method's signature if the call does not fit it."""
    raised_inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
    if raised_inside:
        return error
    _, *parameters = inspect.signature(method).parameters.values()
    signature = inspect.Signature([parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters])
    return WrongArgument(f"The arguments do not fit: {error}.", fix=f"Call it as {method.__name__}{signature}.")


class QueueVerbs:
    """The verbs of both kinds of queue."""

    context: QueueContext

    @property
    def tables(self) -> QueueTables:
        """The queue's entity classes, for queries of your own: `store.query(queue.tables.job.of_type, job_type="resize")`.

        Those of its own tables; `members` has the queue on each of its tables.
        """
        return self.context.tables

    @property
    def members(self) -> tuple[Self, ...]:
        """The same queue on each of its tables, its own first: its claims and queries concern the jobs of these tables only."""
        if len(self.context.members) == 1:
            return (self,)
        return tuple(self._within(member) for member in self.context.members)

    def _within(self, context: QueueContext) -> Self:
        member = copy.copy(self)
        member.context = context
        return member

    def __init_subclass__(cls, *, within: str | None = None, **options: Any) -> None:
        """Add the methods to `Queue` or `AsyncQueue`; their subclasses inherit them."""
        super().__init_subclass__(**options)
        if within is not None:
            for name, verb in vars(QueueVerbs).items():
                if isinstance(verb, Verb):
                    setattr(cls, name, verb.method(within))

    def writes(self, submission: Submission) -> list[WriteOperation[Any]]:
        """The writes of a submission, for a transaction of the caller: `store.transact([create(x), *queue.writes(submission)])`.

        Nothing is read, so a submission with a parent, dependencies or keys raises `BadSubmission`; use `enlist` for those.
        """
        return writes_of(self.context, submission)

    ensure_tables = Verb(_ensure_tables)
    unread_tables = Verb(unread_tables)
    warn_of_unread_tables = Verb(warn_of_unread_tables)
    submit = Verb(submit)
    submit_many = Verb(submit_many)
    enlist = Verb(enlist)
    get = Verb(by_id(get_job))
    claim = Verb(claim)
    claim_several = Verb(claim_several)
    promote = Verb(promote)
    correct_delays = Verb(correct_delays)
    renew = Verb(by_job(renew))
    finish = Verb(by_job(finish))
    reap = Verb(reap)
    adopt_jobs = Verb(adopt_jobs)
    survey = Verb(survey)
    record_set_aside = Verb(record_set_aside)
    set_aside = Verb(set_aside)
    find_set_aside = Verb(find_set_aside)
    find_schedule = Verb(find_schedule)
    read_jobs = Verb(read_jobs)
    jobs_where = Verb(jobs_where)
    cancel = Verb(by_id(cancel))
    retry = Verb(by_id(retry))
    retry_failed = Verb(retry_failed)
    set_priority = Verb(by_id(set_priority))
    settle = Verb(by_id(settle))
    log = Verb(by_id(read_log))
    pause = Verb(pause)
    resume = Verb(resume)
    drain = Verb(drain)
    set_rate = Verb(set_rate)
    states = Verb(states)
    workers = Verb(workers)
    every_worker = Verb(every_worker)
    report_worker = Verb(report_worker)
    forget_worker = Verb(forget_worker)
    acquire_leader_lease = Verb(acquire_leader_lease)
    release_leader_lease = Verb(release_leader_lease)
    write_counts = Verb(write_counts)
    stats = Verb(stats)
    queue_names = Verb(queue_names)
    history = Verb(history)
    record_history = Verb(record_history)
    jobs_page = Verb(jobs_page)
    own_jobs_page = Verb(own_jobs_page)
    get_or_archived = Verb(by_id(get_or_archived))
    read_update = Verb(by_id(read_update))
    archive_page = Verb(archive_page)
    tree = Verb(by_id(tree))
    cancel_tree = Verb(by_id(cancel_tree))
    unfinished_tree = Verb(by_id(unfinished_tree))
    ids_beginning = Verb(ids_beginning)
    schedule = Verb(schedule)
    schedules = Verb(schedules)
    schedules_page = Verb(schedules_page)
    declare_schedules = Verb(declare_schedules)
    unschedule = Verb(unschedule)
    set_enabled = Verb(set_enabled)
    run_schedules = Verb(run_schedules)
    overdue = Verb(overdue)
    archive_job = Verb(by_job(archive_job))


class Queue(QueueVerbs, Submitter["Submitted"], within=""):
    """A job queue on a `Store`: `greet.submit(Queue(store, jobs), Greeting(name="Nina"))`.

    `jobs` is the registry of handlers. `tables` sets the names of the queue's tables, which must be the same for submitters and workers.
    `further` are tables that applications bring for jobs of their types (`Jobs.include(..., tables=)`): the queue reads, lists and runs the
    jobs of all its tables as one. Raises `WrongArgument` for an `AsyncStore`.
    """

    store: Store

    def __init__(
        self,
        store: Store,
        jobs: Jobs,
        settings: QueueSettings | None = None,
        *,
        tables: TableNames = PLAIN,
        further: Sequence[TableNames] = (),
    ) -> None:
        _refuse_store(store, AsyncStore, "Use AsyncQueue, or pass a Store.")
        self.store = store
        self.context = _context_of(store.setup, jobs, settings, tables, further)

    def submit_task(self, submission: Submission) -> Submitted:
        """Submit a task's job, like `submit`."""
        return self.submit(submission)


class AsyncQueue(QueueVerbs, Submitter["Coroutine[Any, Any, Submitted]"], within="Awaitable"):
    """A job queue on an `AsyncStore`, whose methods are awaited: `await greet.submit(AsyncQueue(store, jobs), Greeting(name="Nina"))`.

    The arguments are those of `Queue`.
    """

    store: AsyncStore

    def __init__(
        self,
        store: AsyncStore,
        jobs: Jobs,
        settings: QueueSettings | None = None,
        *,
        tables: TableNames = PLAIN,
        further: Sequence[TableNames] = (),
    ) -> None:
        _refuse_store(store, Store, "Use Queue, or pass an AsyncStore.")
        self.store = store
        self.context = _context_of(store.setup, jobs, settings, tables, further)
        #: detects commits of other processes
        self.changes = ChangeFeed(store.transport)

    def submit_task(self, submission: Submission) -> Coroutine[Any, Any, Submitted]:
        """Submit a task's job, like `submit`."""
        return self.submit(submission)
