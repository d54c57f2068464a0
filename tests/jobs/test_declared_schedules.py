"""Schedules that are declared with their handlers."""

from datetime import timedelta

import pytest
from pydantic import BaseModel

from gateleg.jobs import BadSchedule, JobContext, Jobs, ManualClock, Queue, Submission
from gateleg.jobs.errors import BadHandler
from gateleg.jobs.handlers import DeclaredSchedule
from gateleg.jobs.schedules import declare_schedules
from gateleg.jobs.tables import Schedule
from gateleg.store import Store
from tests.jobs.interleaving import Actor, Choices, run, search


class Report(BaseModel):
    days: int = 1


def make_jobs(when: str | int = "0 2 * * *") -> Jobs:
    jobs = Jobs()

    @jobs.every(when, timezone="Europe/Berlin", max_delay=60, subject="sales")
    @jobs.handler("report", queue="reports", priority=70)
    async def report(job: JobContext, config: Report) -> None: ...

    return jobs


def opened(store: Store, jobs: Jobs) -> Queue:
    queue = Queue(store, jobs)
    queue.ensure_tables()
    return queue


def the_schedule(queue: Queue) -> Schedule:
    (found,) = queue.schedules()
    return found


def test_a_declared_schedule_is_written_with_what_its_handler_says(store: Store, clock: ManualClock) -> None:
    queue = opened(store, make_jobs())
    assert [one.name for one in queue.declare_schedules()] == ["report"]
    found = the_schedule(queue)
    assert (found.cron, found.timezone, found.max_delay, found.subject) == ("0 2 * * *", "Europe/Berlin", 60, "sales")
    assert (found.job_type, found.job_config, found.queue, found.priority, found.declared_by) == ("report", {"days": 1}, "reports", 70, "")
    assert found.next_run_at is not None
    clock.reach(found.next_run_at)
    (job,) = queue.run_schedules()
    assert job.job_config == {"days": 1}


def test_a_function_without_a_handler_becomes_one() -> None:
    jobs = Jobs()

    @jobs.every(300, config=Report(days=7), name="weekly")
    async def summary(job: JobContext, config: Report) -> None: ...

    assert jobs.of("summary").config is Report
    assert jobs.schedules == (DeclaredSchedule("weekly", "summary", every=300, config=Report(days=7)),)
    assert summary.job_type == "summary"


def test_a_schedule_without_a_time_is_refused() -> None:
    jobs = Jobs()

    async def summary(job: JobContext, config: Report) -> None: ...

    with pytest.raises(BadSchedule, match=r"without a time"):
        jobs.every(summary)  # type: ignore[call-overload]
    assert jobs.schedules == ()


def test_declaring_again_changes_nothing(store: Store, clock: ManualClock) -> None:
    queue = opened(store, make_jobs())
    queue.declare_schedules()
    before = the_schedule(queue)
    clock.advance(hours=1)
    assert opened(store, make_jobs()).declare_schedules() == []
    assert the_schedule(queue) == before


def test_an_operators_pause_survives_a_restart_and_a_change(store: Store) -> None:
    queue = opened(store, make_jobs())
    queue.declare_schedules()
    queue.set_enabled("report", False)
    opened(store, make_jobs()).declare_schedules()
    assert not the_schedule(queue).enabled
    opened(store, make_jobs(600)).declare_schedules()
    assert (the_schedule(queue).enabled, the_schedule(queue).every, the_schedule(queue).cron) == (False, 600, None)


def test_a_change_of_the_times_moves_the_next_run_and_keeps_the_history(store: Store, clock: ManualClock) -> None:
    queue = opened(store, make_jobs(60))
    queue.declare_schedules()
    clock.advance(60)
    (job,) = queue.run_schedules()
    opened(store, make_jobs(600)).declare_schedules()
    assert (the_schedule(queue).last_job_id, the_schedule(queue).next_run_at) == (job.job_id, clock.now + timedelta(seconds=600))


def test_a_schedule_that_is_no_longer_declared_is_shown_and_does_not_run(store: Store, clock: ManualClock) -> None:
    opened(store, make_jobs(60)).declare_schedules()
    queue = opened(store, Jobs())
    (marked,) = queue.declare_schedules()
    assert (marked.undeclared_at, marked.active) == (clock.now, False)
    clock.advance(60)
    assert queue.run_schedules() == []
    assert queue.declare_schedules() == []
    opened(store, make_jobs(60)).declare_schedules()
    assert (the_schedule(queue).undeclared_at, the_schedule(queue).next_run_at) == (None, clock.now + timedelta(seconds=60))


def test_switching_on_what_is_no_longer_declared_makes_it_an_ordinary_schedule(store: Store) -> None:
    opened(store, make_jobs(60)).declare_schedules()
    queue = opened(store, Jobs())
    queue.declare_schedules()
    adopted = queue.set_enabled("report", True)
    assert (adopted.declared_by, adopted.undeclared_at, adopted.active) == (None, None, True)
    assert queue.declare_schedules() == []


def test_the_schedules_of_others_are_left_alone(store: Store) -> None:
    queue = opened(store, make_jobs())
    queue.schedule("by-hand", Submission("report"), every=60)
    queue.declare_schedules({"music": queue.context.jobs.schedules})
    assert queue.declare_schedules({"film": ()}) == []
    assert [one.active for one in queue.schedules()] == [True, True]
    assert [one.name for one in queue.declare_schedules({"music": ()})] == ["report"]


def test_starters_at_once_write_the_same_in_every_order(store: Store) -> None:
    queue = opened(store, make_jobs())

    def scenario(choices: Choices) -> None:
        names = [one.name for one in queue.schedules()]
        for name in names:
            queue.unschedule(name)
        actors = [Actor(name, declare_schedules(queue.context)) for name in ("first", "second")]
        run(actors, store.transport, choices, preemptions=2)
        assert sorted(len(actor.result) for actor in actors) == [0, 1]
        assert the_schedule(queue).version == 1

    assert search(scenario) > 2


def test_a_handler_above_its_schedule_is_refused() -> None:
    jobs = Jobs()
    with pytest.raises(BadHandler, match=r"Write @jobs.every\(...\) above @jobs.handler"):

        @jobs.handler("report")
        @jobs.every("0 2 * * *")
        async def nightly(job: JobContext, config: Report) -> None: ...


def test_what_cannot_be_a_schedule_is_refused_where_it_is_declared() -> None:
    async def handle(job: JobContext, config: Report) -> None: ...

    with pytest.raises(BadSchedule):
        Jobs().every("61 * * * *")(handle)
    with pytest.raises(BadSchedule, match="at least 1"):
        Jobs().every(0)(handle)
    with pytest.raises(BadSchedule):
        Jobs().every("0 2 * * *", timezone="Nowhere/At_all")(handle)
    with pytest.raises(BadSchedule, match=r"days: .*@jobs.every\(..., config=Report\(...\)\)"):
        Jobs().every(60, config={"days": "many"})(handle)
    jobs = Jobs()
    task = jobs.every(60)(handle)
    with pytest.raises(BadSchedule, match="declared twice"):
        jobs.every(120)(task)
    jobs.every(120, name="less-often")(task)
    assert [one.name for one in jobs.schedules] == ["handle", "less-often"]


def test_two_applications_cannot_declare_one_name(store: Store) -> None:
    queue = opened(store, make_jobs())
    with pytest.raises(BadSchedule, match="Two applications declare a schedule report"):
        queue.declare_schedules({"a": queue.context.jobs.schedules, "b": queue.context.jobs.schedules})
    assert queue.schedules() == []
