from datetime import timedelta
from typing import Any

from gateleg.jobs import AsyncQueue, Job, JobStatus
from gateleg.jobs.tables import Schedule
from gateleg.store import AsyncStore
from gateleg.web.console.cells import FAILED, ago_cell, chip_cell
from gateleg.web.console.jobs.schedules import COLUMNS, ScheduleWithLastRun, runs_of, schedule_row, schedules_topic, upcoming, when_text
from tests.web.console.jobs.samples import NOW, before, job, number
from tests.web.console.sample import jobs


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
    row = schedule_row(ScheduleWithLastRun(schedule(declared_by="music", undeclared_at=NOW)), NOW, deeds=True)
    assert "No longer declared" in str(row.cells["state"])
    assert "Enable" in str(row.cells["deeds"])
    assert upcoming(schedule(undeclared_at=NOW), NOW) == []


def test_when_it_runs_is_in_words() -> None:
    assert when_text(schedule()) == "every 10 min"
    assert when_text(schedule(every=None, cron="0 6 * * *", timezone="Europe/Berlin")) == "0 6 * * * Europe/Berlin"


def test_a_viewer_sees_the_runs_and_no_deeds() -> None:
    row = schedule_row(ScheduleWithLastRun(schedule()), NOW, deeds=False)
    assert (row.href, row.cells["deeds"]) == ("/jobs/schedules/runs?name=night", None)
    assert set(row.cells) == {column.key for column in COLUMNS}


def test_the_outcome_of_the_last_run_links_to_it() -> None:
    row = schedule_row(ScheduleWithLastRun(schedule(last_run_at=NOW), job(JobStatus.FAILED)), NOW, deeds=True)
    assert row.cells["last"] == [ago_cell(NOW), chip_cell(FAILED, f"/jobs/{number(1)}")]


async def test_the_runs_of_a_schedule_are_those_that_it_or_somebody_for_it_has_submitted() -> None:
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        for at, by in enumerate(("schedule:night", "ada, schedule:night", "schedule:night-2", "ada")):
            await store.create(Job(job_id=number(at), job_type="REEL", created_by=by, created_at=before(10 - at)))
        assert [run.job_id for run in await runs_of(queue, schedule())] == [number(1), number(0)]


async def test_the_last_run_is_known_also_when_it_is_archived_or_gone() -> None:
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        for at, name in enumerate(("live", "archived", "gone")):
            await store.put(schedule(name=name, last_job_id=number(at)))
        await store.create(Job(job_id=number(0), job_type="REEL"))
        old = await store.create(Job(job_id=number(1), job_type="REEL", status=JobStatus.COMPLETED, completed_at=NOW))
        assert await queue.archive_job(old)
        found = {one.schedule.name: one.last for one in await schedules_topic(queue).read()}
    assert {name: last and last.status for name, last in found.items()} == {
        "live": JobStatus.PENDING,
        "archived": JobStatus.COMPLETED,
        "gone": None,
    }
