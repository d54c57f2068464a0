import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.worker.maintenance import ClockSkew

START = datetime(2030, 1, 1, tzinfo=UTC)


class Fleet:
    """Workers whose clocks are wrong by so many seconds each, and who report and look every ten seconds or so."""

    def __init__(self, *errors: float, seed: int = 1) -> None:
        self.errors, self.time, self.chance = errors, 0.0, random.Random(seed)
        self.reports = [self.clock(number) for number in range(len(errors))]
        self.skews = [ClockSkew() for _ in errors]

    def clock(self, number: int) -> datetime:
        return START + timedelta(seconds=self.time + self.errors[number])

    def go_on(self, turns: int) -> None:
        for _ in range(turns * len(self.errors)):
            self.time += 10 * (0.5 + self.chance.random()) / len(self.errors)
            number = self.chance.randrange(len(self.errors))
            others = {str(other): report for other, report in enumerate(self.reports) if other != number}
            self.skews[number].observe(others, self.clock(number), self.time)
            self.reports[number] = self.clock(number)

    def ahead(self) -> list[float]:
        return [skew.ahead() for skew in self.skews]


@given(seed=st.integers(0, 10_000), number=st.integers(1, 6))
def test_clocks_that_agree_are_never_suspected(seed: int, number: int) -> None:
    fleet = Fleet(*[0.0] * number, seed=seed)
    fleet.go_on(20)
    assert fleet.ahead() == [0.0] * number


@pytest.mark.parametrize("wrong", [-7200.0, -60.0, 60.0, 7200.0])
def test_the_one_that_is_wrong_among_many_is_found(wrong: float) -> None:
    fleet = Fleet(0.0, 0.0, wrong, 0.0)
    fleet.go_on(20)
    ahead = fleet.ahead()
    assert ahead[:2] == [0.0, 0.0]
    assert ahead[2] == pytest.approx(wrong, abs=15)


def test_of_two_each_sees_the_other_to_be_wrong() -> None:
    fleet = Fleet(0.0, 60.0)
    fleet.go_on(20)
    assert fleet.ahead() == [pytest.approx(-60, abs=15), pytest.approx(60, abs=15)]


def test_a_clock_that_was_set_right_is_trusted_again() -> None:
    fleet = Fleet(0.0, 0.0, 600.0)
    fleet.go_on(20)
    fleet.errors = (0.0, 0.0, 0.0)
    fleet.go_on(40)
    assert fleet.ahead() == [0.0, 0.0, 0.0]


def test_a_jump_of_the_own_clock_is_told() -> None:
    skew = ClockSkew()
    assert skew.observe({}, START, 0.0) == 0.0
    assert skew.observe({}, START + timedelta(seconds=10), 10.0) == 0.0
    assert skew.observe({}, START + timedelta(hours=1, seconds=20), 20.0) == 3600.0
    assert skew.observe({}, START + timedelta(seconds=30), 30.0) == -3600.0
