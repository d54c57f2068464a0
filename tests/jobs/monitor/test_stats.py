import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.stats import Metric, QueueStats, Work, WorkerCounters, bound_of, bucket_of, metrics, quantile
from gateleg.jobs.queue import Queue
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job
from gateleg.jobs.testing import ManualClock
from tests.jobs.sample import DONE, claimed, failed, submitted


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
