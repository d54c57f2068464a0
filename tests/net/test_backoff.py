"""Backoff between retries, throttling errors, `Retry-After` headers, and clocks."""

import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import Backoff, Deadline, Retries, RetryBudget, ServiceClock, is_throttled, may_pass, retry_after, span


@given(seed=st.integers(), tries=st.integers(0, 30), first=st.floats(0.001, 1), longest=st.floats(0.001, 10), budget=st.floats(0, 60))
def test_delays_stay_below_their_span_and_all_together_below_the_budget(
    seed: int, tries: int, first: float, longest: float, budget: float
) -> None:
    delays = list(Backoff(tries, first, longest, budget).delays(random.Random(seed).random))
    assert len(delays) <= tries
    assert all(0 <= delay <= min(longest, first * 2**number) for number, delay in enumerate(delays))
    assert sum(delays) <= budget * (1 + 1e-9)


def test_wait_is_a_random_part_of_a_span_that_doubles() -> None:
    assert list(Retries(attempts=5, first=0.1, longest=0.5, random=lambda: 0.5).delays()) == pytest.approx([0.05, 0.1, 0.2, 0.25])


def test_span_of_a_long_series_is_the_longest() -> None:
    assert span(10_000, 1.0, 60.0, factor=10.0) == 60.0


def test_wait_that_would_end_after_the_deadline_is_not_begun() -> None:
    now = 0.0
    delays = Backoff(first=1.0).delays(lambda: 1.0, Deadline(3.0, lambda: now))
    assert next(delays) == 1.0
    now = 1.5
    assert next(delays, None) is None


def test_request_that_is_sent_once_has_no_waits() -> None:
    assert list(Retries(attempts=1).delays()) == []


def test_budget_grows_with_time_and_not_beyond_its_burst() -> None:
    now = 0.0
    budget = RetryBudget(Retries(burst=2, rate=1.0, ticks=lambda: now))
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    now = 1.0
    assert [budget.spend() for _ in range(2)] == [True, False]
    now = 100.0
    assert [budget.spend() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("code", "status", "throttled"),
    [
        ("ProvisionedThroughputExceededException", 400, True),
        ("ThrottlingException", 400, True),
        ("SlowDown", 503, True),
        ("Http429", 429, True),
        # A quota does not pass by itself.
        ("LimitExceededException", 400, False),
        ("ValidationException", 400, False),
        ("InternalServerError", 500, False),
    ],
)
def test_throttling_is_distinguished_from_other_errors(code: str, status: int, throttled: bool) -> None:
    assert is_throttled(code, status) == throttled


@pytest.mark.parametrize(("status", "passes"), [(400, False), (403, False), (408, True), (429, True), (500, True), (529, True)])
def test_the_status_determines_whether_an_error_is_transient(status: int, passes: bool) -> None:
    assert may_pass(status) == passes


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry-after": formatdate(90, usegmt=True)}, 60.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e99"}, None),
        ({}, None),
    ],
)
def test_retry_after_headers_are_parsed(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=30.0) == seconds


def test_a_deadline_comes_nearer() -> None:
    now = 10.0
    deadline = Deadline.after(5.0, lambda: now)
    assert deadline.left() == 5.0
    now = 16.0
    assert deadline.left() == -1.0


def test_the_clock_takes_over_the_time_of_the_service() -> None:
    clock = ServiceClock(lambda: 1_000_000.0)
    assert clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.now() == 1_432_000.0


def test_a_clock_that_is_nearly_right_is_not_corrected() -> None:
    clock = ServiceClock(lambda: 1_000_000.0)
    assert not clock.repair("Mon, 12 Jan 1970 13:47:10 GMT")
    assert clock.now() == 1_000_000.0


def test_after_another_thread_corrected_the_clock_a_retry_is_allowed() -> None:
    clock = ServiceClock(lambda: 1_000_000.0)
    clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.repair("Sat, 17 Jan 1970 13:46:41 GMT")


def test_the_correction_is_removed_when_the_machines_clock_is_corrected() -> None:
    time = 1_000_000.0
    clock = ServiceClock(lambda: time)
    clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    time = 1_432_000.0
    assert clock.repair("Sat, 17 Jan 1970 13:46:40 GMT")
    assert clock.now() == 1_432_000.0


def test_a_missing_or_invalid_date_does_not_correct_the_clock() -> None:
    assert not ServiceClock().repair(None)
    assert not ServiceClock().repair("yesterday")
