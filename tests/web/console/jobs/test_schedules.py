from datetime import timedelta
from typing import Any

from gateleg.jobs import Schedule
from gateleg.web.console.jobs.schedules import COLUMNS, schedule_row, upcoming, when_text
from tests.web.console.jobs.samples import NOW


def schedule(**values: Any) -> Schedule:
    return Schedule(**{"name": "night", "job_type": "REEL", "every": 600, "next_run_at": NOW + timedelta(seconds=60), **values})


def test_the_next_runs_follow_the_interval() -> None:
    assert upcoming(schedule(), NOW) == [NOW + timedelta(seconds=seconds) for seconds in (60, 660, 1260)]


def test_the_next_runs_follow_cron() -> None:
    times = upcoming(schedule(every=None, cron="0 6 * * *", next_run_at=NOW.replace(day=2, hour=6)), NOW)
    assert [(time.day, time.hour) for time in times] == [(2, 6), (3, 6), (4, 6)]


def test_a_schedule_that_is_off_has_no_next_run() -> None:
    assert upcoming(schedule(enabled=False), NOW) == []


def test_a_schedule_that_is_no_longer_declared_says_so_and_can_be_switched_on() -> None:
    row = schedule_row(schedule(declared_by="music", undeclared_at=NOW), NOW, deeds=True)
    assert "No longer declared" in str(row.cells["state"])
    assert "Switch on" in str(row.cells["deeds"])
    assert upcoming(schedule(undeclared_at=NOW), NOW) == []


def test_when_it_runs_is_in_words() -> None:
    assert when_text(schedule()) == "every 10 min"
    assert when_text(schedule(every=None, cron="0 6 * * *", timezone="Europe/Berlin")) == "0 6 * * * Europe/Berlin"


def test_a_viewer_sees_no_deeds_and_no_form() -> None:
    row = schedule_row(schedule(), NOW, deeds=False)
    assert (row.href, row.cells["deeds"]) == (None, None)
    assert set(row.cells) == {column.key for column in COLUMNS}
