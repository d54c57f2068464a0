import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.durations import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.0004, "0 ms"),
        (0.34, "340 ms"),
        (0.9996, "1 s"),
        (1, "1 s"),
        (4.24, "4.2 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (7800, "2 h 10 min"),
        (86400, "1 day"),
        (3 * 86400 + 4 * 3600, "3 days 4 h"),
        (-5, "0 ms"),
    ],
)
def test_durations_are_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e8))
def test_a_duration_has_two_units_at_most(seconds: float) -> None:
    assert len(duration(seconds).split()) in (2, 4)
