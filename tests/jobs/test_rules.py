import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.rules import (
    AttemptOutcome,
    Cancelled,
    Completed,
    Decision,
    Failed,
    Released,
    Retry,
    Snoozed,
    attempts_after,
    decide,
    expiry_of,
    failure_of,
    lease_expired,
    must_run_alone,
    readiness_at,
)
from gateleg.jobs.tables.job import KEPT_ATTEMPTS, Attempt, Failure, Job, JobStatus, Readiness, Results
from gateleg.jobs.worker.output import AttemptRecorder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CHANCE = random.Random(1)


def job(**values: Any) -> Job:
    usual: dict[str, Any] = {"job_type": "x", "status": JobStatus.PROCESSING, "attempt": 1, "worker_id": "w"}
    return Job(**(usual | values))


def failure(kind: str = "ValueError", *bases: str) -> Failed:
    return Failed(Failure(kind=kind, message="no"), (kind, *bases))


def judged(ending: AttemptOutcome, retry: Retry | None = None, **values: Any) -> Decision:
    return decide(job(**values), ending, retry or Retry(jitter=0), NOW, CHANCE)


def test_a_failure_with_retries_left_waits_for_its_delay() -> None:
    decision = judged(failure(), retry_count=2)
    assert (decision.status, decision.retry_count, decision.outcome) == (JobStatus.PENDING, 3, "retried")
    assert decision.run_at == NOW + timedelta(seconds=4)


def test_a_failure_without_retries_left_is_final() -> None:
    decision = judged(failure(), retry_count=3)
    assert (decision.status, decision.retry_count) == (JobStatus.FAILED, 3)
    assert decision.failure is not None
    told = {"error": "ValueError", "message": decision.failure.message}
    assert decision.results == Results(result_type="FAILURE", summary_metrics=told)


def test_a_final_failure_is_not_tried_again() -> None:
    assert judged(Failed(Failure(kind="x", message="no"), final=True)).status == JobStatus.FAILED


def test_a_lost_worker_is_counted_apart_from_retries() -> None:
    decision = judged(lease_expired("w", NOW), retry_count=3)
    assert (decision.status, decision.outcome, decision.retry_count, decision.losses) == (JobStatus.PENDING, "lost", 3, 1)


def test_a_job_that_must_not_begin_again_fails_with_its_worker() -> None:
    assert judged(lease_expired("w", NOW), Retry(losses=0)).status == JobStatus.FAILED


@pytest.mark.parametrize(("losses", "suspect"), [(None, False), (1, False), (2, True), (9, True)])
def test_a_job_that_was_lost_twice_is_to_run_alone(losses: int | None, suspect: bool) -> None:
    assert must_run_alone(Job(job_type="x", losses=losses)) is suspect


def test_a_snooze_counts_as_no_retry() -> None:
    decision = judged(Snoozed(60), retry_count=1)
    assert (decision.status, decision.retry_count, decision.run_at) == (JobStatus.PENDING, 1, NOW + timedelta(seconds=60))


def test_a_release_is_ready_at_once_and_counts_as_no_retry() -> None:
    decision = judged(Released(), retry_count=1)
    assert (decision.status, decision.retry_count, decision.run_at) == (JobStatus.PENDING, 1, None)


@pytest.mark.parametrize("ending", [failure(), Snoozed(1), Released(), Cancelled(), lease_expired("w", NOW)])
def test_whatever_ends_an_attempt_that_was_to_be_cancelled_cancels_it(ending: AttemptOutcome) -> None:
    assert judged(ending, cancel_requested=NOW, cancel_reason="enough").status == JobStatus.CANCELLED


def test_a_result_outweighs_a_wish_to_cancel() -> None:
    assert judged(Completed(Results(result_type="SUCCESS")), cancel_requested=NOW).status == JobStatus.COMPLETED


def test_exceptions_that_are_never_tried_again_include_subclasses() -> None:
    retry = Retry(never=(LookupError,))
    assert judged(failure_of(KeyError("k")), retry).status == JobStatus.FAILED
    assert judged(failure_of(ValueError("v")), retry).status == JobStatus.PENDING


def test_only_some_exceptions_are_tried_again() -> None:
    retry = Retry(only=(OSError,))
    assert judged(failure_of(TimeoutError()), retry).status == JobStatus.PENDING
    assert judged(failure_of(ValueError()), retry).status == JobStatus.FAILED


def test_a_lost_worker_is_tried_again_whatever_exceptions_are() -> None:
    assert judged(lease_expired("w", NOW), Retry(only=(OSError,))).status == JobStatus.PENDING


def test_an_exception_may_have_a_delay_of_its_own() -> None:
    retry = Retry(delays={ConnectionError: 90.0})
    assert judged(failure_of(ConnectionResetError()), retry).run_at == NOW + timedelta(seconds=90)


@given(count=st.integers(1, 10_000), first=st.floats(0, 100), factor=st.floats(1, 10), jitter=st.floats(0, 1), seed=st.integers())
def test_delays_stay_within_their_cap_and_jitter(count: int, first: float, factor: float, jitter: float, seed: int) -> None:
    retry = Retry(first=first, factor=factor, jitter=jitter, longest=500)
    delay = retry.delay(count, ("x",), random.Random(seed))
    whole = retry.delay(count, ("x",), random.Random(seed)) if jitter == 0 else min(500, first * factor ** min(count - 1, 64))
    assert whole * (1 - jitter) - 1e-9 <= delay <= min(500, whole) + 1e-9


@given(st.integers(1, 100))
def test_delays_without_jitter_never_shrink(count: int) -> None:
    retry = Retry(jitter=0)
    assert retry.delay(count, (), CHANCE) <= retry.delay(count + 1, (), CHANCE)


@pytest.mark.parametrize("values", [{"times": -1}, {"factor": 0.5}, {"jitter": 2}, {"longest": -1}])
def test_impossible_rules_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Retry needs"):
        Retry(**values)


def test_the_history_keeps_the_last_attempts() -> None:
    one = job()
    for number in range(KEPT_ATTEMPTS + 5):
        one = one.model_copy(update={"attempt": number})
        one = one.model_copy(update={"attempts": attempts_after(one, Decision(JobStatus.PENDING, "retried"), NOW)})
    assert [attempt.number for attempt in one.attempts] == list(range(5, KEPT_ATTEMPTS + 5))


def test_snoozes_and_the_attempt_that_follows_them_are_one_try() -> None:
    one = job()
    for number, outcome in enumerate(("snoozed", "snoozed", "snoozed", "retried", "snoozed", "completed"), start=1):
        one = one.model_copy(update={"attempt": number, "started_at": NOW + timedelta(minutes=number)})
        decision = Decision(JobStatus.PENDING, outcome)  # type: ignore[arg-type]
        attempts = attempts_after(one, decision, NOW + timedelta(minutes=number, seconds=1))
        snoozes = (one.snoozes or 0) + (outcome == "snoozed")
        one = one.model_copy(update={"attempts": attempts, "snoozes": snoozes})
    shown = [(attempt.number, attempt.outcome, attempt.times) for attempt in one.attempts]
    assert shown == [(1, "retried", 3), (2, "completed", 1)]
    assert one.attempts[0].started_at == NOW + timedelta(minutes=1)
    assert one.attempts[0].ended_at == NOW + timedelta(minutes=4, seconds=1)
    assert one.tries == 2


def test_failures_are_cut_to_a_size_that_fits_beside_the_job() -> None:
    ending = failure_of(ValueError("x" * 10_000), trace="y" * 100_000 + "end")
    assert len(ending.failure.message) == 2000
    assert ending.failure.trace is not None
    assert ending.failure.trace.endswith("end")
    assert len(ending.failure.trace) == 8000


def test_a_job_is_delayed_until_its_time() -> None:
    assert readiness_at(NOW + timedelta(seconds=1), NOW) is Readiness.DELAYED
    assert readiness_at(NOW, NOW) is Readiness.READY
    assert readiness_at(None, NOW) is Readiness.READY


def test_events_expire_long_after_the_sweeper() -> None:
    assert expiry_of(JobStatus.COMPLETED, NOW) == NOW + timedelta(days=37)
    assert expiry_of(JobStatus.FAILED, NOW) == NOW + timedelta(days=60)
    assert expiry_of(JobStatus.PENDING, NOW) is None


def test_an_attempt_is_whole_though_it_is_made_unchecked() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    job = Job(job_type="any", worker_id="w", started_at=now, attempt=1)
    (attempt,) = attempts_after(job, Decision(JobStatus.COMPLETED, "completed"), now)
    assert attempt.__dict__.keys() == Attempt.model_fields.keys()
    assert attempt == Attempt.model_validate(attempt.model_dump())


def test_results_are_whole_though_they_are_made_unchecked() -> None:
    results = AttemptRecorder(lambda: datetime.now(UTC)).results(7, 0.25)
    assert results.__dict__.keys() == Results.model_fields.keys()
    assert results == Results.model_validate(results.model_dump())
