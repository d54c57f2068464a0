"""A queue on several tables: its own, and those that an application brings. For all who use it, it is one queue."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.jobs import (
    AsyncQueue,
    GiveUp,
    JobContext,
    JobMissing,
    Jobs,
    JobStatus,
    KeyReused,
    ManualClock,
    Queue,
    QueueSettings,
    ScheduleMissing,
    Submission,
    TestWorker,
    Worker,
)
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import BadSubmission
from gateleg.jobs.tables import Readiness
from gateleg.store import AsyncStore, Store
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport
from tests.jobs.layouts import BROUGHT, PLAIN
from tests.jobs.sample import DONE, failed

NOTHING: dict[str, Any] = {}


def registry() -> Jobs:
    """`own` is of the host, `brought` of an application with tables of its own; each has a child of the other."""
    own, brought = Jobs(), Jobs()

    @own.handler("own")
    @own.handler("own.parent")
    async def on_own(job: JobContext, config: dict[str, Any]) -> None:
        job.log("on its own")
        if job.job.job_type == "own.parent":
            await job.submit(Submission("brought"))

    @brought.handler("brought")
    @brought.handler("brought.parent")
    async def on_brought(job: JobContext, config: dict[str, Any]) -> None:
        job.log("on brought tables")
        if job.job.job_type == "brought.parent":
            await job.submit(Submission("own"))

    @own.handler("fails")
    async def fails(job: JobContext, config: dict[str, Any]) -> None:
        raise GiveUp("never")

    jobs = Jobs()
    jobs.include(own, application="host")
    jobs.include(brought, application="shop", tables=BROUGHT)
    return jobs


@pytest.fixture
def both(store: Store) -> Queue:
    """The queue as a host has it."""
    queue = Queue(store, registry(), further=[BROUGHT])
    queue.ensure_tables()
    return queue


@pytest.fixture
def alone(both: Queue) -> Queue:
    """The queue as a program has it that knows only the brought tables, such as a host of an earlier release."""
    return Queue(both.store, registry(), tables=BROUGHT)


@pytest.fixture
def plain(both: Queue) -> Queue:
    """The queue of a program with the tables of every queue."""
    return Queue(both.store, registry())


def ids(found: Any) -> list[UUID]:
    return [job.job_id for job in found]


def test_new_jobs_go_to_the_tables_of_their_type(both: Queue, alone: Queue, plain: Queue) -> None:
    own, brought = (submitted.job.job_id for submitted in both.submit_many([Submission("own"), Submission("brought", subject="19305")]))
    assert (ids(plain.jobs_page()), ids(alone.jobs_page())) == ([own], [brought])
    (item,) = both.store.scan(alone.tables.all[0])
    assert item["conversation_id"] == {"S": "19305"}


@pytest.mark.parametrize("where", ["own", "brought"])
def test_a_job_is_found_by_its_id_wherever_it_is(both: Queue, alone: Queue, plain: Queue, clock: ManualClock, where: str) -> None:
    holder = plain if where == "own" else alone
    job_id = both.submit(Submission(where)).job.job_id
    assert both.get(job_id) == both.get(job_id=job_id) == holder.get(job_id)
    assert both.set_priority(job_id, 90) == holder.get(job_id)
    assert both.cancel(job_id, reason="no").status == holder.get(job_id).status == JobStatus.CANCELLED
    assert both.retry(job_id).status == holder.get(job_id).status == JobStatus.PENDING
    assert both.tree(job_id).job_id == job_id
    (ended,) = TestWorker(both, clock).run()
    assert ended.status == JobStatus.COMPLETED
    assert [line.message for line in both.log(job_id)] == [line.message for line in holder.log(job_id)] != []
    assert both.read_update(job_id).job == holder.get(job_id)
    assert both.archive_job(ended)
    assert both.get_or_archived(job_id) == holder.get_or_archived(job_id)
    assert ids(both.archive_page(job_type=where)) == ids(holder.archive_page(job_type=where)) == [job_id]
    with pytest.raises(JobMissing):
        both.get(job_id)


def test_lists_are_one_list(both: Queue, clock: ManualClock) -> None:
    names: list[UUID] = []
    for number in range(12):
        clock.advance(1)
        job_type = "own" if number % 3 else "brought"
        names.append(both.submit(Submission(job_type, subject="s", created_by="ann", tags=["t"])).job.job_id)
    newest_first = names[::-1]
    asked: list[Any] = [
        both.jobs_page,
        lambda **page: both.jobs_page(status=JobStatus.PENDING, **page),
        lambda **page: both.jobs_page(subject="s", **page),
        lambda **page: both.jobs_page(queue="default", tag="t", **page),
        lambda **page: both.own_jobs_page("ann", **page),
    ]
    for ask in asked:
        found: list[UUID] = []
        page = ask(limit=5)
        found += ids(page)
        while page.next:
            page = ask(limit=5, cursor=page.next)
            found += ids(page)
        assert found == newest_first
    while job := TestWorker(both).step():
        clock.advance(1)
        both.archive_job(job)
    done = [job.completed_at for job in both.archive_page(subject="s", limit=100)]
    assert (len(done), done) == (12, sorted(done, reverse=True))


def test_a_worker_runs_the_jobs_of_all_tables(both: Queue) -> None:
    names = [both.submit(Submission(job_type)).job.job_id for job_type in ("own", "brought") * 5]
    assert isinstance(both.store.transport, EmbeddedTransport)
    store = AsyncStore(AsyncEmbeddedTransport(both.store.transport.engine))

    async def work() -> None:
        queue = AsyncQueue(store, both.context.jobs, further=[BROUGHT])
        worker = Worker(queue, concurrency=2, idle=(0.001, 0.01))
        running = asyncio.ensure_future(worker.run())
        async with asyncio.timeout(60):
            while any(not job.finished for job in await queue.read_jobs(names)):
                await asyncio.sleep(0)
        assert len(await queue.workers()) == 1
        worker.stop()
        await running

    asyncio.run(work())
    assert [job.status for job in both.read_jobs(names)] == [JobStatus.COMPLETED] * 10


def test_tables_take_turns(both: Queue, clock: ManualClock) -> None:
    for job_type in ("own", "own", "own", "brought", "brought"):
        both.submit(Submission(job_type))

    async def order() -> list[str]:
        from gateleg.jobs.monitor.stats import WorkerCounters
        from gateleg.jobs.worker.polling import Poller, PrefetchedJobs, WorkerSlots

        assert isinstance(both.store.transport, EmbeddedTransport)
        store = AsyncStore(AsyncEmbeddedTransport(both.store.transport.engine))
        queue = AsyncQueue(store, both.context.jobs, further=[BROUGHT])
        selectors = [CandidateSelector(clock, "w", fresh_for=-1.0) for _ in queue.members]
        poller = Poller(
            queue,
            {"default": 1},
            selectors=selectors,
            capacity=WorkerSlots(1, {}),
            prefetched=PrefetchedJobs(0),
            counters=WorkerCounters("w"),
            poll_seconds=(0, 0),
        )
        return [job.job_type for _ in range(5) for job in await poller.poll()]

    assert asyncio.run(order()) == ["own", "brought", "own", "brought", "own"]


def test_a_worker_leaves_types_that_it_does_not_know_to_others(both: Queue, alone: Queue, clock: ManualClock) -> None:
    name = both.submit(Submission("brought")).job.job_id
    stranger = Jobs()
    stranger.handler("strange")(lambda job, config: None)
    assert TestWorker(Queue(both.store, stranger, further=[BROUGHT]), clock).run() == []
    assert alone.get(name).attempts == []


@pytest.mark.parametrize("kind", ["own", "brought"])
def test_trees_reach_over_tables(both: Queue, clock: ManualClock, kind: str) -> None:
    root = both.submit(Submission(f"{kind}.parent", created_by="ann")).job.job_id
    TestWorker(both, clock).run(limit=1)
    tree = both.tree(root)
    (child,) = tree.children
    assert child.job_type == ("brought" if kind == "own" else "own")
    assert set(ids(both.own_jobs_page("ann"))) == {child.job_id, root}
    assert [job.job_id for job in both.cancel_tree(root)] == [root, child.job_id]
    assert both.get(child.job_id).status == JobStatus.CANCELLED


@pytest.mark.parametrize(("first", "second"), [("own", "brought"), ("brought", "own")])
def test_dependencies_reach_over_tables(both: Queue, clock: ManualClock, first: str, second: str) -> None:
    before = both.submit(Submission(first)).job.job_id
    after = both.submit(Submission(second, dependencies=[before], parent_job_id=before)).job
    assert after.readiness is Readiness.BLOCKED
    assert [job.job_id for job in TestWorker(both, clock).run()] == [before, after.job_id]


@pytest.mark.parametrize("second", ["own", "brought"])
def test_a_failure_cancels_dependents_in_other_tables_and_a_retry_brings_them_back(both: Queue, clock: ManualClock, second: str) -> None:
    before = both.submit(Submission("fails")).job.job_id
    after = both.submit(Submission(second, dependencies=[before])).job.job_id
    TestWorker(both, clock).run()
    assert (both.get(before).status, both.get(after).status) == (JobStatus.FAILED, JobStatus.CANCELLED)
    both.retry(before)
    both.settle(before)
    assert both.get(after).readiness is Readiness.BLOCKED


def test_failed_jobs_of_all_tables_are_retried_oldest_first(both: Queue, clock: ManualClock) -> None:
    names = []
    for job_type in ("brought", "own", "brought"):
        clock.advance(1)
        names.append(both.submit(Submission(job_type)).job.job_id)
    for member in both.members:
        selector = CandidateSelector(clock, fresh_for=-1.0)
        while job := member.claim(selector, "default", "w"):
            both.finish(job, failed(final=True))
    assert ids(both.retry_failed(limit=2)) == names[:2]
    assert both.get(names[2]).status == JobStatus.FAILED


class TestKeys:
    """Keys hold for the queue, not for one of its tables."""

    def test_a_repeated_submission_gets_the_job_of_an_earlier_release(self, both: Queue, alone: Queue) -> None:
        """Such a release had the jobs of all applications in the brought tables."""
        earlier = alone.submit(Submission("own", idempotency_key="k")).job.job_id
        again = both.submit(Submission("own", idempotency_key="k"))
        assert (again.job.job_id, again.created) == (earlier, False)
        with pytest.raises(KeyReused):
            both.submit(Submission("fails", idempotency_key="k"))
        with pytest.raises(KeyReused):
            both.submit(Submission("brought", idempotency_key="k"))

    def test_a_unique_key_of_an_earlier_release_holds_while_its_job_waits(self, both: Queue, alone: Queue, clock: ManualClock) -> None:
        earlier = alone.submit(Submission("own", unique_key="k")).job.job_id
        assert both.submit(Submission("own", unique_key="k")).job.job_id == earlier
        assert both.enlist(Submission("own", unique_key="k")).job.job_id == earlier
        TestWorker(both, clock).run()
        fresh = both.submit(Submission("own", unique_key="k"))
        assert (fresh.created, both.submit(Submission("own", unique_key="k")).job.job_id) == (True, fresh.job.job_id)

    def test_an_expired_key_of_an_earlier_release_is_free(self, both: Queue, alone: Queue, clock: ManualClock) -> None:
        alone.submit(Submission("own", idempotency_key="k"))
        clock.advance(timedelta(days=8).total_seconds())
        assert both.submit(Submission("own", idempotency_key="k")).created

    def test_one_key_is_one_job_for_types_of_different_tables(self, both: Queue) -> None:
        both.submit(Submission("own", idempotency_key="k"))
        with pytest.raises(KeyReused):
            both.submit(Submission("brought", idempotency_key="k"))

    def test_a_chosen_id_is_one_job(self, both: Queue, alone: Queue) -> None:
        name = uuid4()
        alone.submit(Submission("own", job_id=name))
        again = both.submit(Submission("own", job_id=name))
        assert (again.created, len(both.jobs_page())) == (False, 1)
        assert both.enlist(Submission("own", job_id=name)).created is False
        with pytest.raises(BadSubmission, match="different job"):
            both.submit(Submission("fails", job_id=name))

    @pytest.mark.parametrize("first", ["both", "alone", "plain"])
    def test_a_concurrency_key_limits_the_jobs_of_all_tables(
        self, both: Queue, alone: Queue, plain: Queue, clock: ManualClock, first: str
    ) -> None:
        queues = {"both": both, "alone": alone, "plain": plain}
        selectors = [CandidateSelector(clock, fresh_for=-1.0, full_for=0.0) for _ in both.members]
        limited = {"concurrency_key": "thread", "concurrency_limit": 1}
        both.submit_many([Submission("own", **limited), Submission("brought", **limited)])  # type: ignore[arg-type]
        running = queues[first].claim(CandidateSelector(clock, fresh_for=-1.0), "default", "w")
        assert running is not None

        def claims() -> list[str]:
            clock.advance(1)
            found = [member.claim(selector, "default", "w") for member, selector in zip(both.members, selectors, strict=True)]
            return [job.job_type for job in found if job is not None]

        if first == "both":
            assert claims() == []
            both.finish(running, DONE)
            assert claims() == ["brought"]
        else:
            # A program with only one set of tables takes the slot of its own ledger, which the queue takes too.
            assert claims() == []


class TestStates:
    """Queues have one state, whichever program has set it."""

    def test_a_pause_by_an_earlier_release_stays(self, both: Queue, alone: Queue) -> None:
        alone.set_rate("default", 5, seconds=7, by="ann")
        alone.pause("default", by="ann")
        assert (both.states()["default"].mode, both.states(["default"])["default"].rate) == ("paused", 5)
        assert both.stats("default").mode == "paused"
        resumed = both.resume("default")
        assert (resumed.mode, resumed.rate, resumed.rate_seconds) == ("running", 5, 7)
        assert both.states()["default"].mode == alone.states()["default"].mode == "running"

    def test_other_programs_follow(self, both: Queue, alone: Queue, plain: Queue) -> None:
        both.drain("default")
        assert alone.states()["default"].mode == plain.states()["default"].mode == "draining"

    def test_statistics_are_of_all_tables(self, both: Queue, clock: ManualClock) -> None:
        both.submit_many([Submission("own"), Submission("brought"), Submission("brought", delay=60)])
        clock.advance(9)
        job = both.claim(CandidateSelector(clock, fresh_for=-1.0), "default", "w")
        assert job is not None
        stats = both.stats("default")
        assert (stats.waiting, stats.running, stats.delayed) == (1, 1, 1)
        assert stats.oldest_waiting == pytest.approx(9.0, abs=0.001)
        assert (stats.waiting_by_type, stats.running_by_type) == ({"brought": 1}, {"own": 1})
        both.record_history("default")
        (hour,) = both.history()
        (minute,) = hour.minutes.values()
        assert (minute.waiting, minute.running) == (1, 1)


class TestSchedules:
    """A schedule is in one ledger, and runs once."""

    def test_those_of_an_earlier_release_go_on(self, both: Queue, alone: Queue, plain: Queue, clock: ManualClock) -> None:
        alone.schedule("nightly", Submission("own"), every=60)
        both.schedule("weekly", Submission("brought"), every=120)
        assert [one.name for one in both.schedules()] == [one.name for one in both.schedules_page()] == ["nightly", "weekly"]
        first = both.schedules_page(limit=1)
        assert [one.name for one in both.schedules_page(limit=1, cursor=first.next)] == ["weekly"]
        clock.advance(61)
        # Workers of both releases run beside each other.
        runs = [job for queue in (both, alone, both) for job in queue.run_schedules()]
        assert [job.job_type for job in runs] == ["own"]
        assert ids(plain.jobs_page()) == ids(runs)
        clock.advance(60)
        assert sorted(job.job_type for queue in (alone, both) for job in queue.run_schedules()) == ["brought", "own"]

    def test_changes_are_made_where_it_is(self, both: Queue, alone: Queue, plain: Queue) -> None:
        alone.schedule("nightly", Submission("own"), every=60)
        both.schedule("nightly", Submission("own"), every=90)
        assert [one.every for one in alone.schedules()] == [one.every for one in both.schedules()] == [90]
        assert both.set_enabled("nightly", False).enabled is alone.schedules()[0].enabled is False
        found = both.find_schedule("nightly")
        assert found is not None
        assert found.every == 90
        both.unschedule("nightly")
        assert alone.schedules() == both.schedules() == plain.schedules() == []
        with pytest.raises(ScheduleMissing):
            both.unschedule("nightly")

    def test_declared_ones_are_declared_once(self, store: Store, alone: Queue) -> None:
        jobs = Jobs()
        jobs.every(60, name="sweep")(_sweep)
        earlier = Queue(store, jobs, tables=BROUGHT)
        earlier.declare_schedules({"host": jobs.schedules})
        queue = Queue(store, jobs, further=[BROUGHT])
        assert queue.declare_schedules({"host": jobs.schedules}) == []
        assert [one.name for one in queue.schedules()] == ["sweep"]
        assert Queue(store, jobs).schedules() == []
        (marked,) = queue.declare_schedules({"host": ()})
        assert (marked.undeclared_at is not None, earlier.schedules()) == (True, [marked])


async def _sweep(job: JobContext, config: dict[str, Any]) -> None:
    """Housekeeping."""


@pytest.fixture
def short(both: Queue) -> AsyncQueue:
    """The queue with no retention."""
    assert isinstance(both.store.transport, EmbeddedTransport)
    store = AsyncStore(AsyncEmbeddedTransport(both.store.transport.engine))
    store.setup = both.store.setup
    kept = dict.fromkeys((JobStatus.COMPLETED, JobStatus.CANCELLED, JobStatus.FAILED), timedelta(0))
    return AsyncQueue(store, both.context.jobs, QueueSettings(retention=kept), further=[BROUGHT])


def test_retention_is_for_all_tables(both: Queue, short: AsyncQueue, clock: ManualClock) -> None:
    from gateleg.jobs.retention import Archiver

    both.submit_many([Submission("own"), Submission("brought")])
    TestWorker(both, clock).run()
    clock.advance(1)
    assert asyncio.run(Archiver(short).sweep()) == 2
    assert (len(both.jobs_page()), len(both.archive_page(job_type="own")), len(both.archive_page(job_type="brought"))) == (0, 1, 1)


def test_maintenance_is_for_all_tables(both: Queue, short: AsyncQueue, clock: ManualClock) -> None:
    from gateleg.jobs.worker.maintenance import MaintenanceTasks

    both.submit_many([Submission("own", delay=60), Submission("brought", delay=60)])
    lost = [both.submit(Submission(job_type)).job.job_id for job_type in ("own", "brought")]
    for member in both.members:
        assert member.claim(CandidateSelector(clock, fresh_for=-1.0), "default", "lost") is not None
    tasks = MaintenanceTasks(short, ("default",), "w")

    async def rounds() -> None:
        for _ in range(30):
            await tasks.run_once()
            clock.advance(5)
        await tasks.leave()

    asyncio.run(rounds())
    assert [job.status for job in both.read_jobs(lost)] == [JobStatus.PENDING] * 2
    assert both.stats("default").waiting == 4


def test_the_same_names_twice_are_one_set_of_tables(store: Store) -> None:
    queue = Queue(store, Jobs(), tables=PLAIN, further=[PLAIN, BROUGHT, BROUGHT])
    assert [member.tables.names for member in queue.members] == [PLAIN, BROUGHT]
