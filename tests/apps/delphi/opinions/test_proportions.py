from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.opinions.proportions import estimate, proportion_test, two_proportion_test, wilson_interval


def test_an_estimate_adds_one_of_each() -> None:
    assert estimate(3, 4) == pytest.approx(4 / 6)
    assert estimate(0, 0) == 0.5


def test_a_proportion_is_tested_against_one_half() -> None:
    # 2 * sqrt(9) * (8/9 - 1/2)
    assert proportion_test(7, 8) == pytest.approx(7 / 3)
    assert proportion_test(0, 0) == 1.0


def test_two_proportions_are_tested_against_each_other() -> None:
    # 9/11 and 3/13 of 12/24 together
    assert two_proportion_test(8, 2, 10, 12) == pytest.approx((9 / 11 - 3 / 13) / sqrt(0.25 * (1 / 11 + 1 / 13)))


def test_two_unanimous_groups_do_not_differ() -> None:
    assert two_proportion_test(4, 9, 4, 9) == 0.0


def test_wilsons_interval() -> None:
    # The published example: 10 of 10, at 95 %.
    low, high = wilson_interval(10, 10)
    assert [float(low), float(high)] == pytest.approx([0.7225, 1.0], abs=1e-4)
    assert [float(bound) for bound in wilson_interval(0, 0)] == [0.0, 1.0]


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_holds_the_share_and_narrows_with_votes(successes: int, failures: int) -> None:
    n = successes + failures
    low, high = wilson_interval(successes, n)
    assert 0 <= low <= high <= 1
    if n:
        assert low - 1e-12 <= successes / n <= high + 1e-12
        wide = float(high - low)
        narrow = np.subtract(*wilson_interval(successes * 4, n * 4)[::-1])
        assert narrow <= wide + 1e-12
