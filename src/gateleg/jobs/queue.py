"""`Queue` and `AsyncQueue`: the queue's verbs, called or awaited. Each is written once, as a flow, in the module it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

from gateleg.jobs import admin, queue_admin
from gateleg.jobs import schedules as _schedules
from gateleg.jobs.claim import claims, leases
from gateleg.jobs.finish import complete
from gateleg.jobs.monitor import counts, follow, listing, logs, trees
from gateleg.jobs.monitor import history as _history
from gateleg.jobs.monitor import stats as _stats
from gateleg.jobs.queue_context import QueueContext, Settings
from gateleg.jobs.retention import sweeper
from gateleg.jobs.submit import enqueue
from gateleg.jobs.tables.archive import archive_table
from gateleg.jobs.tables.job import queue_table
from gateleg.jobs.tables.records import ledger_table
from gateleg.store.verb_signatures import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from gateleg.jobs.handlers import Jobs
    from gateleg.jobs.submit.submission import Submission
    from gateleg.store import AsyncStore, Store, WriteOperation
    from gateleg.store.flow import Flow

P = ParamSpec("P")
R = TypeVar("R")
#: All tables of the queue.
TABLES = (queue_table, ledger_table, archive_table)


def called(flow: Callable[Concatenate[QueueContext, P], Flow[R]]) -> Callable[Concatenate[Queue, P], R]:
    """A method that runs a flow."""

    def verb(self: Queue, /, *args: P.args, **options: P.kwargs) -> R:
        return self.store.drive(flow(self.context, *args, **options))

    return cast("Callable[Concatenate[Queue, P], R]", describe(verb, flow, hides=1))


def awaited(flow: Callable[Concatenate[QueueContext, P], Flow[R]]) -> Callable[Concatenate[AsyncQueue, P], Coroutine[Any, Any, R]]:
    """A method that runs a flow, awaited."""

    def verb(self: AsyncQueue, /, *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, R]:
        return self.store.drive(flow(self.context, *args, **options))

    return cast("Callable[Concatenate[AsyncQueue, P], Coroutine[Any, Any, R]]", describe(verb, flow, hides=1, within="Awaitable"))


class Queue:
    """The job queue on a store: `Queue(store, jobs).submit(Submission("PCA", config))`."""

    def __init__(self, store: Store, jobs: Jobs, settings: Settings | None = None) -> None:
        self.store = store
        self.context = QueueContext(store.setup, jobs, settings or Settings())

    def ensure_tables(self) -> list[str]:
        """Create those of the queue's tables that are missing."""
        return self.store.ensure_tables(*TABLES)

    def writes(self, submission: Submission) -> list[WriteOperation[Any]]:
        """The writes of a plain submission, for a transaction of the caller: `store.transact([create(x), *queue.writes(submission)])`."""
        return enqueue.writes_of(self.context, submission)

    submit = called(enqueue.submit)
    submit_many = called(enqueue.submit_many)
    enlist = called(enqueue.enlist)
    get = called(complete.present)
    claim = called(claims.claim)
    claim_several = called(claims.claim_several)
    promote = called(claims.promote)
    renew = called(leases.renew)
    finish = called(complete.finish)
    reap = called(leases.reap)
    cancel = called(admin.cancel)
    retry = called(admin.retry)
    retry_failed = called(admin.retry_failed)
    set_priority = called(admin.set_priority)
    settle = called(admin.settle)
    log = called(logs.read_log)
    pause = called(queue_admin.pause)
    resume = called(queue_admin.resume)
    drain = called(queue_admin.drain)
    set_rate = called(queue_admin.set_rate)
    states = called(queue_admin.states)
    workers = called(queue_admin.workers)
    every_worker = called(queue_admin.every_worker)
    report_worker = called(queue_admin.report_worker)
    forget_worker = called(queue_admin.forget_worker)
    take_duty = called(queue_admin.take_duty)
    drop_duty = called(queue_admin.drop_duty)
    write_tallies = called(counts.write_tallies)
    stats = called(_stats.stats)
    history = called(_history.history)
    note_history = called(_history.note_history)
    jobs_page = called(listing.jobs_page)
    get_or_archived = called(listing.get_or_archived)
    look_on = called(follow.look_on)
    archive_page = called(listing.archive_page)
    tree = called(trees.tree)
    cancel_tree = called(trees.cancel_tree)
    schedule = called(_schedules.schedule)
    schedules = called(_schedules.schedules)
    unschedule = called(_schedules.unschedule)
    set_enabled = called(_schedules.set_enabled)
    run_schedules = called(_schedules.run_schedules)
    overdue = called(sweeper.overdue)
    archive_job = called(sweeper.archive_job)


class AsyncQueue:
    """The same, awaited: `await AsyncQueue(store, jobs).submit(Submission("PCA", config))`."""

    def __init__(self, store: AsyncStore, jobs: Jobs, settings: Settings | None = None) -> None:
        self.store = store
        self.context = QueueContext(store.setup, jobs, settings or Settings())

    async def ensure_tables(self) -> list[str]:
        """Create those of the queue's tables that are missing."""
        return await self.store.ensure_tables(*TABLES)

    def writes(self, submission: Submission) -> list[WriteOperation[Any]]:
        """The writes of a plain submission, for a transaction of the caller."""
        return enqueue.writes_of(self.context, submission)

    submit = awaited(enqueue.submit)
    submit_many = awaited(enqueue.submit_many)
    enlist = awaited(enqueue.enlist)
    get = awaited(complete.present)
    claim = awaited(claims.claim)
    claim_several = awaited(claims.claim_several)
    promote = awaited(claims.promote)
    renew = awaited(leases.renew)
    finish = awaited(complete.finish)
    reap = awaited(leases.reap)
    cancel = awaited(admin.cancel)
    retry = awaited(admin.retry)
    retry_failed = awaited(admin.retry_failed)
    set_priority = awaited(admin.set_priority)
    settle = awaited(admin.settle)
    log = awaited(logs.read_log)
    pause = awaited(queue_admin.pause)
    resume = awaited(queue_admin.resume)
    drain = awaited(queue_admin.drain)
    set_rate = awaited(queue_admin.set_rate)
    states = awaited(queue_admin.states)
    workers = awaited(queue_admin.workers)
    every_worker = awaited(queue_admin.every_worker)
    report_worker = awaited(queue_admin.report_worker)
    forget_worker = awaited(queue_admin.forget_worker)
    take_duty = awaited(queue_admin.take_duty)
    drop_duty = awaited(queue_admin.drop_duty)
    write_tallies = awaited(counts.write_tallies)
    stats = awaited(_stats.stats)
    history = awaited(_history.history)
    note_history = awaited(_history.note_history)
    jobs_page = awaited(listing.jobs_page)
    get_or_archived = awaited(listing.get_or_archived)
    look_on = awaited(follow.look_on)
    archive_page = awaited(listing.archive_page)
    tree = awaited(trees.tree)
    cancel_tree = awaited(trees.cancel_tree)
    schedule = awaited(_schedules.schedule)
    schedules = awaited(_schedules.schedules)
    unschedule = awaited(_schedules.unschedule)
    set_enabled = awaited(_schedules.set_enabled)
    run_schedules = awaited(_schedules.run_schedules)
    overdue = awaited(sweeper.overdue)
    archive_job = awaited(sweeper.archive_job)
