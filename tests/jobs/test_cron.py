from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs.cron import parse_cron
from gateleg.jobs.errors import BadSchedule


def after(text: str, moment: str, zone: str = "UTC") -> str:
    found = parse_cron(text, zone).after(datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone)))
    return found.astimezone(ZoneInfo(zone)).strftime("%a %Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [
        ("* * * * *", "2026-01-01T00:00:30", "Thu 2026-01-01 00:01"),
        ("*/15 8-18 * * mon-fri", "2026-01-02T18:45", "Mon 2026-01-05 08:00"),
        ("0 0 29 2 *", "2026-01-01", "Tue 2028-02-29 00:00"),
        ("30 6 1,15 * *", "2026-01-01T06:30", "Thu 2026-01-15 06:30"),
        ("0 12 13 * fri", "2026-01-01", "Fri 2026-01-02 12:00"),
        ("0 0 * jan,jul sun", "2026-02-01", "Sun 2026-07-05 00:00"),
        ("0 0 * * 7", "2026-01-01", "Sun 2026-01-04 00:00"),
        ("5/20 * * * *", "2026-01-01T00:30", "Thu 2026-01-01 00:45"),
        ("@weekly", "2026-01-01", "Sun 2026-01-04 00:00"),
        ("0 0 */2 * mon", "2026-01-01T01:00", "Mon 2026-01-05 00:00"),
    ],
)
def test_the_next_time(text: str, moment: str, expected: str) -> None:
    assert after(text, moment) == expected


def test_a_time_that_does_not_come_in_spring_is_an_hour_later() -> None:
    assert after("30 2 * * *", "2026-03-28T12:00", "Europe/Berlin") == "Sun 2026-03-29 03:30"


def test_a_time_that_comes_twice_in_autumn_is_taken_once() -> None:
    cron = parse_cron("30 2 * * *", "Europe/Berlin")
    first = cron.after(datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert cron.after(first) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_every_hour_means_every_hour_also_in_autumn() -> None:
    cron, moment = parse_cron("0 * * * *", "Europe/Berlin"), datetime(2026, 10, 24, 20, tzinfo=UTC)
    for _ in range(10):
        assert cron.after(moment) == moment + timedelta(hours=1)
        moment += timedelta(hours=1)


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *",
     "a * * * *", "1- * * * *", "*/ * * * *", "-1 * * * *", "1,,2 * * * *", "٣ * * * *"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadSchedule):
        parse_cron(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 25 * * *", "The hour '25' of '0 25 [*] [*] [*]' is outside 0 to 23"),
        ("0 2 * * mo", "The weekday of '0 2 [*] [*] mo' has 'mo', which is not a number"),
        ("0 2 * *", "has 4 fields, and cron needs five"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(text: str, told: str) -> None:
    with pytest.raises(BadSchedule, match=told):
        parse_cron(text)


def test_a_day_that_does_not_come_is_refused() -> None:
    with pytest.raises(BadSchedule, match="day that does not exist"):
        parse_cron("0 0 30 feb *").after(datetime(2026, 1, 1, tzinfo=UTC))


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(BadSchedule, match="no time zone"):
        parse_cron("@daily", "Europe/Atlantis")


_FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "10-20", "5,50"]),
    st.sampled_from(["*", "3", "*/5", "8-18"]),
    st.sampled_from(["*", "1", "28-31", "*/3"]),
    st.sampled_from(["*", "feb", "6-8"]),
    st.sampled_from(["*", "mon", "mon-fri", "0,6"]),
)


@given(fields=_FIELDS, moment=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)))
def test_the_next_time_fits_and_none_before_it_does(fields: tuple[str, ...], moment: datetime) -> None:
    cron, start = parse_cron(" ".join(fields)), moment.replace(tzinfo=UTC)
    found = cron.after(start)
    assert found > start

    def fits(time: datetime) -> bool:
        return cron.on(time.date()) and time.hour in cron.hours and time.minute in cron.minutes

    assert fits(found)
    first = start.replace(second=0, microsecond=0) + timedelta(minutes=1)
    nearby = min(found, first + timedelta(hours=6))
    while first < nearby:
        assert not fits(first)
        first += timedelta(minutes=1)


@pytest.mark.parametrize("fields", ["0 3 * * *", "*/7 * * * *", "30 2 * * sun", "0 0 29 2 *", "15 * 1,15 * mon"])
def test_the_latest_time_is_the_last_of_those_that_follow_each_other(fields: str) -> None:
    cron = parse_cron(fields, "Europe/Berlin")
    first = cron.after(datetime(2024, 2, 27, tzinfo=UTC))
    times = [first]
    while len(times) < 12:
        times.append(cron.after(times[-1]))
    for time in times:
        assert cron.latest(first, time) == time
        assert cron.latest(first, time + timedelta(seconds=59)) == time


@pytest.mark.parametrize(("fields", "expected"), [("30 23 * * sat", "Sun 2024-03-31 00:30"), ("15,45 23 * * sat", "Sun 2024-03-31 00:45")])
def test_the_latest_time_is_one_of_the_times_if_clocks_skip_midnight(fields: str, expected: str) -> None:
    nuuk = ZoneInfo("America/Nuuk")
    cron = parse_cron(fields, "America/Nuuk")
    first = cron.after(datetime(2024, 3, 30, 12, tzinfo=nuuk))
    found = cron.latest(first, datetime(2024, 3, 31, 23, 50, tzinfo=nuuk))
    assert found.astimezone(nuuk).strftime("%a %Y-%m-%d %H:%M") == expected
