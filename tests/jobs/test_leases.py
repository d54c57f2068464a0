"""Delays are counted by the clock of whoever writes them, and leases by the clock of whoever watches them."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.rules import AttemptOutcome, Snoozed
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, Readiness, queue_table
from gateleg.jobs.testing import ManualClock
from gateleg.migrate import Step, TableSettings, apply
from gateleg.store import Store
from tests.jobs.foreign.seed_items import pca_item, wire_item
from tests.jobs.sample import claimed, failed, make_jobs, submitted

HOURS = timedelta(hours=2)


@pytest.fixture(params=["embedded", "wire"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    if request.param == "embedded":
        with Store.embedded(clock=clock, ticks=clock) as store:
            yield store
        return
    with (
        Engine(":memory:") as engine,
        serve_in_thread(engine) as url,
        Store.connect(url, clock=clock, ticks=clock) as store,
    ):
        yield store


def delayed_by_a_clock_that_is_ahead(queue: Queue, selector: CandidateSelector, clock: ManualClock, ending: AttemptOutcome) -> Job:
    """A job that a worker has put off, whose clock is then set back by as much as it was ahead."""
    queue.submit(Submission("PCA", {"n_components": 2}))
    clock.advance(hours=2)
    job = queue.finish(claimed(queue, selector, name="math"), ending)
    clock.advance(hours=-2)
    assert (job.readiness, job.run_at) == (Readiness.DELAYED, clock.now + HOURS + timedelta(seconds=10))
    return job


@pytest.mark.parametrize("ending", [failed(), Snoozed(10)], ids=["retried", "snoozed"])
def test_a_job_that_a_clock_ahead_has_put_off_waits_no_longer_than_its_delay(
    queue: Queue, selector: CandidateSelector, clock: ManualClock, ending: AttemptOutcome
) -> None:
    job = delayed_by_a_clock_that_is_ahead(queue, selector, clock, ending)
    assert queue.correct_delays("math").number == 1
    assert queue.get(job.job_id).run_at == clock.now + timedelta(seconds=10)
    assert queue.correct_delays("math").number == 0
    clock.advance(9)
    assert queue.promote("math") == 0
    clock.advance(1)
    assert queue.promote("math") == 1
    assert claimed(queue, selector, name="math").job_id == job.job_id


def test_a_delay_of_a_submission_is_counted_anew_as_well(queue: Queue, clock: ManualClock) -> None:
    clock.advance(hours=2)
    job = submitted(queue, delay=60)
    clock.advance(hours=-2)
    assert queue.correct_delays("default").number == 1
    assert queue.get(job.job_id).run_at == clock.now + timedelta(seconds=60)


def test_a_time_that_was_chosen_is_never_moved(queue: Queue, clock: ManualClock) -> None:
    clock.advance(hours=2)
    chosen = submitted(queue, run_at=clock.now + timedelta(days=30))
    clock.advance(hours=-2)
    assert queue.correct_delays("default").number == 0
    assert queue.get(chosen.job_id).run_at == chosen.run_at


def test_a_long_delay_of_a_clock_that_is_right_stays(queue: Queue, clock: ManualClock) -> None:
    long = submitted(queue, delay=30 * 86_400)
    for _ in range(3):
        assert queue.correct_delays("default").number == 0
        clock.advance(hours=20)
    assert queue.get(long.job_id).run_at == long.run_at


def test_clocks_that_are_a_little_apart_move_nothing(queue: Queue, clock: ManualClock) -> None:
    submitted(queue, delay=60)
    clock.advance(-4)
    assert queue.correct_delays("default").number == 0


def test_a_look_examines_so_many_jobs_and_the_next_goes_on_after_them(queue: Queue, clock: ManualClock) -> None:
    for seconds in (10, 20, 30, 40, 50):
        submitted(queue, delay=86_400 + seconds)
    clock.advance(hours=2)
    late = submitted(queue, delay=86_400)
    clock.advance(hours=-2)
    first = queue.correct_delays("default", examine=3)
    assert (first.number, first.next is None) == (0, False)
    # What a look begins after may be due, or gone, by the time of the next one.
    clock.advance(86_400 + 45)
    assert queue.promote("default") == 4
    clock.advance(-86_400 - 45)
    second = queue.correct_delays("default", first.next, examine=3)
    assert (second.number, second.next) == (1, None)
    assert queue.get(late.job_id).run_at == clock.now + timedelta(days=1)


def test_a_job_that_was_changed_meanwhile_is_left_to_the_next_look(queue: Queue, clock: ManualClock) -> None:
    clock.advance(hours=2)
    job = submitted(queue, delay=60)
    clock.advance(hours=-2)
    queue.cancel(job.job_id)
    assert queue.correct_delays("default").number == 0
    queue.retry(job.job_id)
    assert queue.correct_delays("default").number == 1


def test_invalid_items_at_the_head_of_the_index_keep_no_job_from_being_promoted(queue: Queue, clock: ManualClock) -> None:
    bad = pca_item(priority=5_000, queue="default", due_queue="default", run_at="2000-01-01T00:00:00Z", readiness="delayed", version=1)
    del bad["worker_id"]
    for _ in range(130):
        item = {"TableName": queue.context.queue_table_name, "Item": wire_item(bad | {"job_id": str(uuid4())})}
        queue.store.transport.call("PutItem", item)
    late = submitted(queue, delay=60)
    clock.advance(61)
    assert queue.promote("default", 25) == 1
    assert queue.get(late.job_id).readiness is Readiness.READY
    assert queue.promote("default", 25) == 0


def test_a_table_that_was_made_before_delays_were_noted_goes_on_as_it_was(clock: ManualClock) -> None:
    with Store.embedded(clock=clock, ticks=clock) as store:
        queue = Queue(store, make_jobs())
        queue.ensure_tables()
        _project_what_was_projected_before(store)
        clock.advance(hours=2)
        submitted(queue, delay=60)
        clock.advance(hours=-2)
        assert queue.correct_delays("default").number == 0
        clock.advance(hours=3)
        assert queue.promote("default") == 1


def test_applying_the_declared_tables_gives_an_older_one_what_it_lacks(clock: ManualClock) -> None:
    with Store.embedded(clock=clock, ticks=clock) as store:
        queue = Queue(store, make_jobs())
        queue.ensure_tables()
        _project_what_was_projected_before(store)
        clock.advance(hours=2)
        job = submitted(queue, delay=60)
        clock.advance(hours=-2)
        done = apply(store, queue_table, TableSettings(), Agreeing()).done
        assert [step.action for step in done] == ["delete-index", "create-index"]
        assert queue.correct_delays("default").number == 1
        assert queue.get(job.job_id).run_at == clock.now + timedelta(seconds=60)


class Agreeing:
    """Lets every step of a plan be taken."""

    def agree(self, step: Step) -> bool:
        return True

    def begin(self, step: Step) -> None: ...

    def waiting(self, text: str) -> None: ...

    def end(self, step: Step) -> None: ...

    def kept(self, name: str, backup: str | None) -> None: ...


def _project_what_was_projected_before(store: Store) -> None:
    """Put an index without the new attribute in place of the one that is declared."""
    table = store.setup.name_of(queue_table)
    indexes = store.transport.call("DescribeTable", {"TableName": table})["Table"]["GlobalSecondaryIndexes"]
    (declared,) = [one for one in indexes if one["IndexName"] == "DueIndex"]
    before = [name for name in declared["Projection"]["NonKeyAttributes"] if name != "delayed_at"]
    older = {
        "IndexName": "DueIndex",
        "KeySchema": declared["KeySchema"],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": before},
    }
    types = [{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in declared["KeySchema"]]
    for update in ({"Delete": {"IndexName": "DueIndex"}}, {"Create": older}):
        request = {"TableName": table, "AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": [update]}
        store.transport.call("UpdateTable", request)


def test_the_age_of_a_value_is_counted_from_when_it_was_seen_first() -> None:
    seen: LeaseObserver[str] = LeaseObserver()
    assert seen.observe({"a": 1}, 100.0) == {"a": 0.0}
    assert seen.observe({"a": 1, "b": 1}, 110.0) == {"a": 10.0, "b": 0.0}
    assert seen.observe({"a": 2, "b": 1}, 130.0) == {"a": 0.0, "b": 20.0}


def test_what_was_gone_is_new_when_it_comes_back() -> None:
    seen: LeaseObserver[str] = LeaseObserver()
    seen.observe({"a": 1}, 0.0)
    seen.observe({}, 10.0)
    assert seen.observe({"a": 1}, 20.0) == {"a": 0.0}
