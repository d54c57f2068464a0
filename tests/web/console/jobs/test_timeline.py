from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs import JobStatus
from gateleg.web.console.jobs.job_details import job_details
from gateleg.web.console.jobs.job_panels import bars
from tests.web.console.jobs.samples import NOW, attempt, before, job


def test_a_job_that_was_never_started_only_waits() -> None:
    (bar,) = bars(job_details(job()), NOW)
    assert (bar.label, bar.left, bar.width, bar.since) == ("Waiting", 0, 1, before(100))


def test_attempts_stand_where_they_were() -> None:
    tried = [attempt(1, "retried", 80, 60, "no tape"), attempt(2, "completed", 40, 0)]
    details = job_details(job(JobStatus.COMPLETED, attempts=tried, started_at=before(40), completed_at=NOW, attempt=2))
    waiting, first, second = bars(details, NOW + timedelta(days=3))
    assert (waiting.left, round(waiting.width, 3), waiting.text) == (0, 0.2, "20 s")
    assert (round(first.left, 3), round(first.width, 3), first.word, first.error) == (
        0.2,
        0.2,
        "Failed, retried",
        "ValueError: no tape",
    )
    assert (round(second.left, 3), round(second.width, 3), second.kind) == (0.6, 0.4, "done")


def test_a_running_attempt_goes_on_to_the_end() -> None:
    details = job_details(job(JobStatus.PROCESSING, started_at=before(50), attempt=1))
    waiting, running = bars(details, NOW)
    assert (round(running.left + running.width, 3), running.since) == (1.0, before(50))
    assert waiting.since is None


def test_a_job_between_two_attempts_waits_again() -> None:
    details = job_details(job(attempts=[attempt(1, "retried", 90, 80, "no")], started_at=before(90), attempt=1))
    assert [bar.label for bar in bars(details, NOW)] == ["Waiting", "Attempt 1", "Waiting"]


@given(st.lists(st.floats(min_value=-10, max_value=1000), min_size=2, max_size=8))
def test_no_bar_leaves_the_track_whatever_the_clocks_say(times: list[float]) -> None:
    pairs = list(zip(times[::2], times[1::2], strict=False))
    tried = [attempt(at + 1, "retried", start, stop) for at, (start, stop) in enumerate(pairs)]
    for bar in bars(job_details(job(attempts=tried, started_at=NOW)), NOW):
        assert 0 <= bar.left < 1
        assert 0 < bar.width <= 1
        assert bar.left + bar.width <= 1.0001


def test_an_error_is_said_once_where_it_was_last_or_at_the_head_of_the_page() -> None:
    tried = [attempt(1, "retried", 90, 80, "no"), attempt(2, "retried", 70, 60, "no"), attempt(3, "failed", 50, 40, "other")]
    details = job_details(job(JobStatus.FAILED, attempts=tried, started_at=before(50), completed_at=before(40), attempt=3))
    assert [bar.error for bar in bars(details, NOW)[1:]] == [None, "ValueError: no", None]


def test_snoozes_are_one_bar_that_tells_how_many_and_no_attempts() -> None:
    put_off = attempt(1, "snoozed", 80, 60).model_copy(update={"times": 7})
    tried = [put_off, attempt(1, "completed", 40, 0)]
    details = job_details(job(JobStatus.COMPLETED, attempts=tried, started_at=before(40), completed_at=NOW, attempt=8, snoozes=7))
    assert details.attempt == 1
    assert [bar.word for bar in bars(details, NOW)] == ["", "Snoozed 7 times", "Done"]
