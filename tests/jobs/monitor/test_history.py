from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.stats import WorkerCounters, moments, series
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tables.records import Hour, Minute
from gateleg.jobs.testing import ManualClock
from gateleg.jobs.worker.maintenance import MaintenanceTasks
from gateleg.store import AsyncStore
from tests.jobs.sample import DONE, claimed, make_jobs, submitted

NOON = datetime(2100, 1, 1, 12, tzinfo=UTC)


def count(queue: Queue, worker: str, number: int, clock: ManualClock) -> None:
    tallies = WorkerCounters(worker)
    tallies.count("default", "plain", clock.now, "completed", number)
    tallies.claimed(Job(job_type="plain", created_at=clock.now), clock.now)
    queue.write_counts(tallies)


def test_minutes_add_up_what_all_workers_did(queue: Queue, clock: ManualClock) -> None:
    count(queue, "a", 3, clock)
    count(queue, "b", 4, clock)
    clock.advance(minutes=1)
    count(queue, "a", 5, clock)
    assert queue.record_history("default") == 1
    (hour,) = queue.history()
    assert {number: minute.completed for number, minute in hour.minutes.items()} == {"0": 7, "1": 5}


def test_noting_again_counts_nothing_twice_and_later_tallies_are_added(queue: Queue, clock: ManualClock) -> None:
    count(queue, "a", 3, clock)
    queue.record_history("default")
    assert queue.record_history("default") == 0
    clock.advance(minutes=1)
    queue.record_history("default")
    clock.advance(minutes=-1)
    count(queue, "b", 2, clock)
    clock.advance(minutes=2)
    queue.record_history("default")
    (hour,) = queue.history()
    assert hour.minutes["0"].completed == 5


def test_the_depth_of_a_queue_is_kept_for_the_minute_in_which_somebody_looked(
    queue: Queue, selector: CandidateSelector, clock: ManualClock
) -> None:
    for _ in range(3):
        submitted(queue)
    claimed(queue, selector)
    count(queue, "a", 1, clock)
    queue.record_history("default")
    clock.advance(minutes=1)
    queue.finish(claimed(queue, selector), DONE)
    queue.record_history("default")
    (hour,) = queue.history()
    assert [(minute.waiting, minute.running) for minute in hour.minutes.values()] == [(2, 1), (1, 1)]


def test_the_depth_of_a_queue_is_counted_without_reading_its_jobs(
    queue: Queue, selector: CandidateSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        submitted(queue)
    claimed(queue, selector)
    asked: list[tuple[str, str | None, str | None]] = []
    call = queue.store.transport.call

    def watched(operation: str, request: dict[str, Any], **options: Any) -> dict[str, Any]:
        asked.append((operation, request.get("IndexName"), request.get("Select")))
        return call(operation, request, **options)

    monkeypatch.setattr(queue.store.transport, "call", watched)
    queue.record_history("default")
    queue.stats("default")
    assert ("Query", "ReadyIndex", "COUNT") in asked
    assert ("Query", "DueIndex", "COUNT") in asked
    assert "BatchGetItem" not in {operation for operation, _, _ in asked}


def test_a_note_across_the_hour_changes_both_hours(queue: Queue, clock: ManualClock) -> None:
    clock.advance(minutes=59)
    count(queue, "a", 1, clock)
    clock.advance(minutes=1)
    count(queue, "a", 2, clock)
    assert queue.record_history("default") == 2
    assert [sorted(hour.minutes) for hour in queue.history()] == [["59"], ["0"]]


def test_history_reaches_back_as_far_as_asked(queue: Queue, clock: ManualClock) -> None:
    for _ in range(30):
        count(queue, "a", 1, clock)
        queue.record_history("default")
        clock.advance(hours=1)
    assert len(queue.history()) == 23
    assert len(queue.history(hours=5)) == 4


async def test_the_worker_that_watches_a_queue_notes_its_history() -> None:
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, make_jobs())
        await queue.ensure_tables()
        await queue.submit(Submission("plain"))
        tasks = MaintenanceTasks(queue, ("default",), "w")
        await tasks.run_once()
        (hour,) = await queue.history()
        assert [minute.waiting for minute in hour.minutes.values()] == [1]


class TestSeries:
    HOURS = (
        Hour(queue="a", hour=NOON, minutes={"0": Minute(completed=1, waiting=5), "59": Minute(completed=2, waiting=3)}),
        Hour(queue="b", hour=NOON, minutes={"0": Minute(completed=10, waiting=7)}),
        Hour(queue="a", hour=NOON + timedelta(hours=1), minutes={"1": Minute(completed=4)}),
    )
    UNTIL = NOON + timedelta(hours=1, minutes=1, seconds=30)

    def test_hours_add_up_their_minutes(self) -> None:
        assert series(self.HOURS, "completed", self.UNTIL, points=3) == [0, 13, 4]
        assert series(self.HOURS, "completed", self.UNTIL, points=3, queue="a") == [0, 3, 4]

    def test_depths_are_the_most_that_was_seen_of_all_queues_at_once(self) -> None:
        assert series(self.HOURS, "waiting", self.UNTIL, points=3) == [None, 12, None]

    def test_minutes_have_points_of_their_own(self) -> None:
        assert series(self.HOURS, "completed", self.UNTIL, step=1, points=4) == [0, 2, 0, 4]
        assert moments(self.UNTIL, step=1, points=4)[0] == NOON + timedelta(minutes=58)

    @given(step=st.integers(1, 120), points=st.integers(1, 100))
    def test_nothing_is_lost_or_doubled_by_the_choice_of_points(self, step: int, points: int) -> None:
        found = series(self.HOURS, "completed", self.UNTIL, step=step, points=points)
        begins = moments(self.UNTIL, step=step, points=points)
        assert len(found) == len(begins) == points
        ends = [*begins[1:], begins[-1] + timedelta(minutes=step)]
        for value, start, end in zip(found, begins, ends, strict=True):
            inside = [
                minute.completed
                for hour in self.HOURS
                for number, minute in hour.minutes.items()
                if start <= hour.hour + timedelta(minutes=int(number)) < end
            ]
            assert value == sum(inside)
