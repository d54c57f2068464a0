"""`Queue` and `AsyncQueue`: the queue's verbs, called or awaited. Each is written once, as a flow, in the module it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

from gateleg.jobs import claiming, directing, finishing, following, leases, listing, logs, queues, submitting, sweeping, tallies, trees
from gateleg.jobs import history as _history
from gateleg.jobs import schedules as _schedules
from gateleg.jobs import stats as _stats
from gateleg.jobs.archive import archive_table
from gateleg.jobs.desk import Desk, Settings
from gateleg.jobs.ledger import ledger_table
from gateleg.jobs.tables import queue_table
from gateleg.store.signatures import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from gateleg.jobs.handlers import Jobs
    from gateleg.jobs.submissions import Submission
    from gateleg.store import AsyncStore, Store, WriteOperation
    from gateleg.store.requests import Flow

P = ParamSpec("P")
R = TypeVar("R")
#: All tables of the queue.
TABLES = (queue_table, ledger_table, archive_table)


def called(flow: Callable[Concatenate[Desk, P], Flow[R]]) -> Callable[Concatenate[Queue, P], R]:
    """A method that runs a flow."""

    def verb(self: Queue, /, *args: P.args, **options: P.kwargs) -> R:
        return self.store.drive(flow(self.desk, *args, **options))

    return cast("Callable[Concatenate[Queue, P], R]", describe(verb, flow, hides=1))


def awaited(flow: Callable[Concatenate[Desk, P], Flow[R]]) -> Callable[Concatenate[AsyncQueue, P], Coroutine[Any, Any, R]]:
    """A method that runs a flow, awaited."""

    def verb(self: AsyncQueue, /, *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, R]:
        return self.store.drive(flow(self.desk, *args, **options))

    return cast("Callable[Concatenate[AsyncQueue, P], Coroutine[Any, Any, R]]", describe(verb, flow, hides=1, within="Awaitable"))


class Queue:
    """The job queue on a store: `Queue(store, jobs).submit(Submission("PCA", config))`."""

    def __init__(self, store: Store, jobs: Jobs, settings: Settings | None = None) -> None:
        self.store = store
        self.desk = Desk(store.setup, jobs, settings or Settings())

    def ensure_tables(self) -> list[str]:
        """Create those of the queue's tables that are missing."""
        return self.store.ensure_tables(*TABLES)

    def writes(self, submission: Submission) -> list[WriteOperation[Any]]:
        """The writes of a plain submission, for a transaction of the caller: `store.transact([create(x), *queue.writes(submission)])`."""
        return submitting.writes_of(self.desk, submission)

    submit = called(submitting.submit)
    submit_many = called(submitting.submit_many)
    enlist = called(submitting.enlist)
    get = called(finishing.present)
    claim = called(claiming.claim)
    claim_several = called(claiming.claim_several)
    promote = called(claiming.promote)
    renew = called(leases.renew)
    finish = called(finishing.finish)
    reap = called(leases.reap)
    cancel = called(directing.cancel)
    retry = called(directing.retry)
    retry_failed = called(directing.retry_failed)
    set_priority = called(directing.set_priority)
    settle = called(directing.settle)
    log = called(logs.read_log)
    pause = called(queues.pause)
    resume = called(queues.resume)
    drain = called(queues.drain)
    set_rate = called(queues.set_rate)
    states = called(queues.states)
    workers = called(queues.workers)
    every_worker = called(queues.every_worker)
    report_worker = called(queues.report_worker)
    forget_worker = called(queues.forget_worker)
    take_duty = called(queues.take_duty)
    drop_duty = called(queues.drop_duty)
    write_tallies = called(tallies.write_tallies)
    stats = called(_stats.stats)
    history = called(_history.history)
    note_history = called(_history.note_history)
    jobs_page = called(listing.jobs_page)
    look_up = called(listing.look_up)
    look_on = called(following.look_on)
    archive_page = called(listing.archive_page)
    tree = called(trees.tree)
    cancel_tree = called(trees.cancel_tree)
    schedule = called(_schedules.schedule)
    schedules = called(_schedules.schedules)
    unschedule = called(_schedules.unschedule)
    set_enabled = called(_schedules.set_enabled)
    run_schedules = called(_schedules.run_schedules)
    overdue = called(sweeping.overdue)
    archive_job = called(sweeping.archive_job)
    sweep = called(sweeping.sweep)


class AsyncQueue:
    """The same, awaited: `await AsyncQueue(store, jobs).submit(Submission("PCA", config))`."""

    def __init__(self, store: AsyncStore, jobs: Jobs, settings: Settings | None = None) -> None:
        self.store = store
        self.desk = Desk(store.setup, jobs, settings or Settings())

    async def ensure_tables(self) -> list[str]:
        """Create those of the queue's tables that are missing."""
        return await self.store.ensure_tables(*TABLES)

    def writes(self, submission: Submission) -> list[WriteOperation[Any]]:
        """The writes of a plain submission, for a transaction of the caller."""
        return submitting.writes_of(self.desk, submission)

    submit = awaited(submitting.submit)
    submit_many = awaited(submitting.submit_many)
    enlist = awaited(submitting.enlist)
    get = awaited(finishing.present)
    claim = awaited(claiming.claim)
    claim_several = awaited(claiming.claim_several)
    promote = awaited(claiming.promote)
    renew = awaited(leases.renew)
    finish = awaited(finishing.finish)
    reap = awaited(leases.reap)
    cancel = awaited(directing.cancel)
    retry = awaited(directing.retry)
    retry_failed = awaited(directing.retry_failed)
    set_priority = awaited(directing.set_priority)
    settle = awaited(directing.settle)
    log = awaited(logs.read_log)
    pause = awaited(queues.pause)
    resume = awaited(queues.resume)
    drain = awaited(queues.drain)
    set_rate = awaited(queues.set_rate)
    states = awaited(queues.states)
    workers = awaited(queues.workers)
    every_worker = awaited(queues.every_worker)
    report_worker = awaited(queues.report_worker)
    forget_worker = awaited(queues.forget_worker)
    take_duty = awaited(queues.take_duty)
    drop_duty = awaited(queues.drop_duty)
    write_tallies = awaited(tallies.write_tallies)
    stats = awaited(_stats.stats)
    history = awaited(_history.history)
    note_history = awaited(_history.note_history)
    jobs_page = awaited(listing.jobs_page)
    look_up = awaited(listing.look_up)
    look_on = awaited(following.look_on)
    archive_page = awaited(listing.archive_page)
    tree = awaited(trees.tree)
    cancel_tree = awaited(trees.cancel_tree)
    schedule = awaited(_schedules.schedule)
    schedules = awaited(_schedules.schedules)
    unschedule = awaited(_schedules.unschedule)
    set_enabled = awaited(_schedules.set_enabled)
    run_schedules = awaited(_schedules.run_schedules)
    overdue = awaited(sweeping.overdue)
    archive_job = awaited(sweeping.archive_job)
    sweep = awaited(sweeping.sweep)
