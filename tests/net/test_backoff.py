"""Backoff between retries."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import Backoff, Deadline, Retries, RetryBudget, span


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
