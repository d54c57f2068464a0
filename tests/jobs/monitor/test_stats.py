"""Statistics, their history, their metrics, and the labels of jobs that look alike."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs import Job
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.stats import (
    Metric,
    QueueStats,
    Work,
    WorkerCounters,
    bound_of,
    bucket_of,
    distinct_stage,
    labels,
    metrics,
    moments,
    quantile,
    series,
)
from gateleg.jobs.queue import AsyncQueue, Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.records import Hour, Minute
from gateleg.jobs.testing import ManualClock
from gateleg.jobs.worker.maintenance import MaintenanceTasks
from gateleg.store import AsyncStore
from tests.jobs.sample import DONE, claimed, failed, make_jobs, submitted
from tests.web.console.jobs.samples import job, number


def test_stats_tell_what_waits_runs_and_was_done(queue: Queue, selector: CandidateSelector, clock: ManualClock) -> None:
    tallies = WorkerCounters("w1")
    for _ in range(4):
        submitted(queue)
    submitted(queue, delay=100)
    clock.advance(8)
    for ending in (DONE, failed(final=True)):
        job = claimed(queue, selector)
        tallies.claimed(job, clock.now)
        clock.advance(2)
        tallies.ended(queue.finish(job, ending))
    claimed(queue, selector)
    tallies.count("default", "plain", clock.now, "lost_claims", 3)
    assert queue.write_counts(tallies) == 1
    assert queue.write_counts(tallies) == 0
    found = queue.stats("default", minutes=10)
    assert (found.waiting, found.delayed, found.running, found.oldest_waiting) == (1, 1, 1, 12)
    assert (found.work.completed, found.work.failed, found.work.claimed, found.work.lost_claims) == (1, 1, 2, 3)
    assert found.work.throughput == pytest.approx(0.1)
    assert found.work.run_p50 is not None
    assert 2 <= found.work.run_p50 < 2 * 1.19
    assert found.by_type.keys() == {"plain"}
    assert (found.waiting_by_type, found.running_by_type) == ({"plain": 1}, {"plain": 1})


def test_the_oldest_waiting_job_is_found_behind_any_number_of_others(queue: Queue, clock: ManualClock) -> None:
    submitted(queue, priority=0)
    clock.advance(10)
    submitted(queue, priority=20, delay=3600)
    queue.submit_many([Submission("plain", priority=90) for _ in range(2100)])
    clock.advance(5)
    found = queue.stats("default")
    assert (found.waiting, found.delayed, found.oldest_waiting) == (2101, 1, 15)
    assert found.waiting_by_type == {"plain": 2000}


def test_tallies_of_a_minute_that_is_over_are_written_and_forgotten(queue: Queue, clock: ManualClock) -> None:
    tallies = WorkerCounters("w1")
    job = Job(job_type="plain", created_at=clock.now)
    tallies.claimed(job, clock.now)
    clock.advance(60)
    tallies.claimed(job, clock.now)
    assert queue.write_counts(tallies) == 2
    clock.advance(60)
    assert queue.write_counts(tallies) == 0
    assert queue.stats("default").work.claimed == 2


@given(seconds=st.floats(0.000001, 1e6))
def test_a_bucket_holds_its_time_and_little_more(seconds: float) -> None:
    assert seconds * 0.999 <= bound_of(bucket_of(seconds)) <= seconds * 1.1893


@given(seconds=st.lists(st.floats(0.000001, 1e6), min_size=1), part=st.floats(0.01, 1))
def test_a_quantile_is_at_most_a_fifth_too_long(seconds: list[float], part: float) -> None:
    buckets: dict[str, int] = {}
    for one in seconds:
        buckets[bucket_of(one)] = buckets.get(bucket_of(one), 0) + 1
    exact = next(one for place, one in enumerate(sorted(seconds), 1) if place >= part * len(seconds))
    found = quantile(buckets, part)
    assert found is not None
    assert exact * 0.999 <= found <= exact * 1.1893


def test_no_runs_have_no_quantile_and_no_time_is_the_shortest() -> None:
    assert quantile({}, 0.5) is None
    assert bucket_of(0) == bucket_of(-1) == bucket_of(0.000001)


class TestFigures:
    STATS = QueueStats(
        queue="math",
        mode="paused",
        waiting=3,
        delayed=2,
        running=1,
        oldest_waiting=None,
        minutes=15,
        work=Work(claimed=5, completed=4, failed=1, lost_claims=2, throughput=0.25, run_p50=1.5),
        by_type={"PCA": Work(completed=4)},
        waiting_by_type={"PCA": 3},
        running_by_type={"PCA": 1},
    )

    def found(self, name: str) -> list[Metric]:
        return [figure for figure in metrics([self.STATS]) if figure.name == name]

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("jobs_waiting", 3),
            ("jobs_delayed", 2),
            ("jobs_running", 1),
            ("jobs_oldest_waiting_seconds", 0),
            ("jobs_paused", 1),
            ("jobs_claimed", 5),
            ("jobs_failed", 1),
            ("jobs_lost_claims", 2),
            ("jobs_throughput_per_minute", 0.25),
        ],
    )
    def test_every_figure_has_its_name(self, name: str, value: float) -> None:
        (figure,) = self.found(name)
        assert (figure.value, figure.labels) == (value, {"queue": "math"})

    def test_types_have_figures_of_their_own(self) -> None:
        (waiting,), (completed,) = self.found("jobs_waiting_by_type"), self.found("jobs_completed_by_type")
        assert (waiting.value, completed.value) == (3, 4)
        assert waiting.labels == completed.labels == {"queue": "math", "type": "PCA"}

    def test_times_that_are_not_known_are_left_out(self) -> None:
        (half,) = self.found("jobs_run_seconds")
        assert (half.value, half.labels["quantile"]) == (1.5, "0.5")
        assert self.found("jobs_wait_seconds") == []

    def test_figures_of_a_name_follow_each_other_and_have_one_meaning(self) -> None:
        found = metrics([self.STATS, self.STATS])
        names = [figure.name for figure in found]
        assert sum(one != other for one, other in itertools.pairwise(names)) == len(set(names)) - 1
        assert len({(figure.name, figure.about) for figure in found}) == len(set(names))


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


def parts(*configs: dict[str, Any], **values: Any) -> list[Job]:
    return [job(job_id=number(at), job_config=config, **values) for at, config in enumerate(configs)]


def test_jobs_that_are_alike_are_labelled_with_what_differs_in_their_config() -> None:
    found = labels(parts({"file": "books.csv", "rows": {"first": 0}}, {"file": "books.csv", "rows": {"first": 500}}, subject="gamma#west"))
    assert found == {number(0): "rows.first 0", number(1): "rows.first 500"}


def test_subjects_that_all_differ_are_enough() -> None:
    jobs = [job(job_id=number(at), subject=f"shelf {at}", job_config={"at": at}) for at in range(3)]
    assert labels(jobs)[number(2)] == "shelf 2"


def test_where_one_value_is_not_enough_two_are_named() -> None:
    found = labels(parts({"x": 1, "y": "a"}, {"x": 1, "y": "b"}, {"x": 2, "y": "a"}))
    assert list(found.values()) == ["x 1, y a", "x 1, y b", "x 2, y a"]


def test_jobs_that_differ_in_nothing_are_labelled_with_their_ids() -> None:
    assert labels(parts({}, {}))[number(1)] == str(number(1))[:8]


def test_jobs_with_a_type_stage_or_parent_of_their_own_need_no_label() -> None:
    jobs = [job(job_id=number(1)), job(job_id=number(2), job_stage="Mix"), job(job_id=number(3), parent_job_id=number(1))]
    assert labels(jobs) == {}


def test_a_long_value_is_cut() -> None:
    (first, _) = labels(parts({"text": "a" * 900}, {"text": "b" * 900})).values()
    assert len(first) < 60
    assert first.endswith("…")


@pytest.mark.parametrize(
    ("job_type", "stage", "told"),
    [
        ("demo.report", "report", None),
        ("UMAP", "umap", None),
        ("REEL", "Mix", "Mix"),
        ("demo.load-songs", "load", "load"),
        ("REEL", None, None),
        ("REEL", "", None),
    ],
)
def test_a_stage_that_repeats_its_type_is_left_out(job_type: str, stage: str | None, told: str | None) -> None:
    assert distinct_stage(job_type, stage) == told
