from datetime import timedelta

import pytest

from gateleg.jobs.monitor import QueueStats, Work
from gateleg.jobs.monitor.stats import bucket_of
from gateleg.jobs.tables import Hour, MinuteCounts
from gateleg.jobs.tables.records import Minute
from gateleg.web.console.overview.figures import failure_text, fitting_step, four_figures, latency, throughput
from tests.web.console.jobs.samples import NOW

HOURS = [
    Hour(queue="media", hour=NOW, minutes={"0": Minute(completed=4, failed=1, waiting=7, running=2)}),
    Hour(queue="default", hour=NOW, minutes={"0": Minute(completed=2, retried=1)}),
    Hour(queue="media", hour=NOW - timedelta(hours=3), minutes={"30": Minute(completed=10)}),
]


def test_the_four_figures_are_of_all_queues() -> None:
    queues = [QueueStats("media", "running", 3, 1, 2, None, 15, Work(throughput=1.5)), QueueStats("default", "running", 1, 0, 1, None, 15)]
    waiting, running, done, failed = four_figures(queues, HOURS, NOW)
    assert (waiting.value, waiting.hint) == (4, "1 delayed")
    assert (running.value, running.hint) == (3, "1.5 completed per minute")
    assert (done.value, done.hint) == (16, "1 retried")
    assert (failed.value, failed.hint) == (1, "5.9% of all")
    assert len(done.line) == 24
    assert (done.line[-1], sum(value or 0 for value in done.line)) == (6, 16)


def test_a_queue_without_a_past_has_figures_too() -> None:
    assert [figure.value for figure in four_figures([], [], NOW)] == [0, 0, 0, 0]


def test_a_part_that_failed_is_told() -> None:
    assert failure_text(10, 0) == "none failed"
    assert failure_text(0, 3) == "100.0% of all"
    assert failure_text(1_000_000, 1) == "less than 0.1% of all"


def test_throughput_is_by_the_minute_or_by_the_quarter_of_an_hour() -> None:
    times, (done, failed) = throughput(HOURS, NOW, "hour")
    assert (len(times), times[-1], done.values[-1], failed.values[-1]) == (60, NOW, 6, 1)
    times, (done, _) = throughput(HOURS, NOW, "day")
    assert (len(times), sum(value or 0 for value in done.values)) == (96, 16)


def tally(minutes: int, run: float, wait: float) -> MinuteCounts:
    return MinuteCounts(
        queue="media",
        minute=NOW - timedelta(minutes=minutes),
        job_type="REEL",
        worker_id=f"w:{minutes}",
        run_times={bucket_of(run): 1},
        wait_times={bucket_of(wait): 1},
    )


def test_latency_is_known_only_where_something_ran() -> None:
    times, (half, most, waited) = latency([tally(0, 2.0, 0.1), tally(7, 1.0, 0.1), tally(500, 9.0, 9.0)], NOW)
    assert len(times) == len(half.values) == 12
    assert half.values[-1] is not None
    assert half.values[-1] >= 2.0
    assert most.values[-4] is None
    assert sum(value is not None for value in waited.values) == 2


@pytest.mark.parametrize(("minutes", "step"), [(0, 1), (20, 1), (60, 5), (300, 15), (1000, 60), (3000, 60)])
def test_a_small_line_shows_what_there_is(minutes: int, step: int) -> None:
    begin = NOW - timedelta(minutes=minutes)
    hour = Hour(queue="media", hour=begin.replace(minute=0), minutes={str(begin.minute): Minute(completed=1)})
    assert fitting_step([hour], NOW) == step


def test_without_a_past_a_small_line_is_of_minutes() -> None:
    assert fitting_step([], NOW) == 1
