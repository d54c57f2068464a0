from datetime import UTC, datetime, timedelta

import pytest

from gateleg.web.console.markup import exact, relative

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "now"),
        (1.5, "now"),
        (5, "5 s ago"),
        (65, "1 min ago"),
        (7200, "2 h ago"),
        (86400, "1 day ago"),
        (3 * 86400, "3 days ago"),
        (-90, "in 1 min"),
        (-2 * 86400, "in 2 days"),
        (40 * 86400, "2026-01-20"),
    ],
)
def test_times_are_relative(seconds: float, text: str) -> None:
    assert relative(NOW - timedelta(seconds=seconds), NOW) == text


def test_the_exact_time_is_in_utc() -> None:
    assert exact(NOW) == "2026-03-01 12:00:00 UTC"
