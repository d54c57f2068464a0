"""Schedules: each run happens once, whoever declares it, and however late it is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.jobs import BadSchedule, JobContext, Jobs, ManualClock, Queue, Submission
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.errors import BadConfig, BadHandler, ScheduleMissing
from gateleg.jobs.handlers import DeclaredSchedule
from gateleg.jobs.rules import Retry
from gateleg.jobs.schedules import declare_schedules
from gateleg.jobs.tables import Schedule
from gateleg.store import Store
from tests.jobs.interleaving import Actor, Choices, run, search
from tests.jobs.sample import everything, make_jobs

PLAIN = Submission("plain", subject="s")


def test_a_schedule_submits_when_it_is_due(queue: Queue, clock: ManualClock) -> None:
    made = queue.schedule("nightly", PLAIN, cron="0 3 * * *")
    assert made.next_run_at == clock.now + timedelta(hours=3)
    assert queue.run_schedules() == []
    clock.advance(hours=3)
    (job,) = queue.run_schedules()
    assert (job.job_type, job.subject, job.created_by) == ("plain", "s", "schedule:nightly")
    (after,) = queue.schedules()
    assert (after.last_job_id, after.next_run_at) == (job.job_id, clock.now + timedelta(days=1))
    assert queue.get(job.job_id).job_id == job.job_id


def test_an_interval_keeps_its_beat(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("often", PLAIN, every=60)
    start = clock.now
    clock.advance(65)
    assert len(queue.run_schedules()) == 1
    (after,) = queue.schedules()
    assert after.next_run_at == start + timedelta(seconds=120)


@pytest.mark.parametrize(("cron", "every"), [("* * * * *", None), (None, 60)])
def test_an_outage_is_not_followed_by_a_storm(queue: Queue, clock: ManualClock, cron: str | None, every: int | None) -> None:
    queue.schedule("often", PLAIN, cron=cron, every=every, max_delay=10**9)
    clock.advance(days=3)
    assert len(queue.run_schedules()) == 1
    assert queue.run_schedules() == []


@settings(max_examples=30, deadline=None)
@given(outages=st.lists(st.integers(1, 400), min_size=1, max_size=12))
@pytest.mark.parametrize(("cron", "every"), [("* * * * *", None), (None, 60)])
def test_every_slot_runs_once_or_is_counted_as_skipped(cron: str | None, every: int | None, outages: list[int]) -> None:
    """After each outage one run is made up for: the last one that was missed."""
    clock = ManualClock()
    with Store.embedded(clock=clock, ticks=clock) as store:
        queue = Queue(store, make_jobs())
        queue.ensure_tables()
        queue.schedule("often", PLAIN, cron=cron, every=every)
        start, runs = clock.now, 0
        for seconds in outages:
            before, after = int((clock.now - start).total_seconds()), int((clock.advance(seconds) - start).total_seconds())
            jobs = queue.run_schedules()
            assert len(jobs) == (after // 60 > before // 60)
            runs += len(jobs)
        (kept,) = queue.schedules()
        assert runs + kept.skipped == sum(outages) // 60
        assert len({job.job_id for job in everything(queue)}) == runs


def test_a_run_that_is_too_late_is_left_out(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("nightly", PLAIN, cron="0 3 * * *", max_delay=600)
    clock.advance(hours=4)
    assert queue.run_schedules() == []
    (after,) = queue.schedules()
    assert after.skipped == 1
    clock.advance(hours=23)
    assert len(queue.run_schedules()) == 1


@pytest.mark.parametrize(
    ("cron", "every", "outage"), [("0 3 * * *", None, timedelta(days=3, hours=3, minutes=5)), (None, 300, timedelta(hours=2, minutes=4))]
)
def test_a_run_on_time_is_made_although_earlier_ones_were_missed(
    queue: Queue, clock: ManualClock, cron: str | None, every: int | None, outage: timedelta
) -> None:
    queue.schedule("nightly", PLAIN, cron=cron, every=every, max_delay=600)
    clock.advance(outage.total_seconds())
    assert len(queue.run_schedules()) == 1
    (after,) = queue.schedules()
    assert after.skipped == (3 if cron else 23)
    assert after.next_run_at is not None
    assert after.next_run_at > clock.now


def test_two_workers_submit_a_run_once(queue: Queue, clock: ManualClock, store: Store) -> None:
    queue.schedule("often", PLAIN, every=60)
    clock.advance(60)
    (due,) = queue.schedules()
    from gateleg.jobs.schedules import _fire

    assert due.next_run_at is not None
    first = store.drive(_fire(queue.context, due, due.next_run_at))
    second = store.drive(_fire(queue.context, due, due.next_run_at))
    assert first is not None
    assert second is None
    assert store.count(queue.tables.job.ready(queue="default")) == 1


def test_a_schedule_is_changed_in_place(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("x", PLAIN, every=60)
    clock.advance(60)
    queue.run_schedules()
    changed = queue.schedule("x", PLAIN, cron="@daily")
    (listed,) = queue.schedules()
    assert (listed.every, listed.cron, listed.last_run_at) == (None, "@daily", clock.now)
    assert changed == listed


def test_a_schedule_is_switched_off_and_on_and_taken_away(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("x", PLAIN, every=60)
    queue.set_enabled("x", False)
    clock.advance(1000)
    assert queue.run_schedules() == []
    assert queue.set_enabled("x", True).next_run_at is not None
    assert queue.run_schedules() == []
    queue.unschedule("x")
    assert queue.schedules() == []
    for change in (lambda: queue.unschedule("x"), lambda: queue.set_enabled("x", True)):
        with pytest.raises(ScheduleMissing):
            change()


def test_a_draining_queue_gets_no_runs(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("x", PLAIN, every=60)
    queue.drain("default")
    clock.advance(60)
    assert queue.run_schedules() == []


def test_bad_schedules_are_refused(queue: Queue) -> None:
    with pytest.raises(BadSchedule):
        queue.schedule("x", PLAIN)
    with pytest.raises(BadSchedule):
        queue.schedule("x", PLAIN, cron="@daily", every=5)
    with pytest.raises(BadSchedule):
        queue.schedule("x", PLAIN, cron="nonsense")
    with pytest.raises(BadSchedule):
        queue.schedule("a#b", PLAIN, every=5)
    with pytest.raises(BadSchedule):
        queue.schedule("x", PLAIN, every=0)
    with pytest.raises(BadConfig):
        queue.schedule("x", Submission("PCA", {"n_components": 0}), every=5)
    assert queue.schedules() == []


def test_an_interval_beyond_every_calendar_is_refused(queue: Queue) -> None:
    with pytest.raises(BadSchedule, match="calendar"):
        queue.schedule("seldom", PLAIN, every=10**14)


@pytest.mark.parametrize(("cron", "every"), [("0 3 * * *", None), ("0 3 1 * *", None), (None, 60), (None, 90 * 86_400)])
def test_a_clock_that_was_years_ahead_does_not_silence_a_schedule(
    queue: Queue, clock: ManualClock, cron: str | None, every: int | None
) -> None:
    made = queue.schedule("often", PLAIN, cron=cron, every=every)
    right = clock.now
    clock.advance(days=2000)
    queue.run_schedules()
    assert queue.run_schedules() == []
    clock.now = right
    assert queue.run_schedules() == []
    (after,) = queue.schedules()
    assert after.next_run_at == made.next_run_at


@pytest.mark.parametrize(("cron", "every"), [("* * * * *", None), ("*/5 9-17 * * 1-5", None), (None, 2), (None, 60)])
def test_a_clock_that_was_two_hours_ahead_does_not_silence_a_schedule(
    queue: Queue, clock: ManualClock, cron: str | None, every: int | None
) -> None:
    # A Friday noon.
    clock.reach(datetime(2100, 1, 8, 12, 0, tzinfo=UTC))
    queue.schedule("often", PLAIN, cron=cron, every=every)
    clock.advance(hours=2)
    queue.run_schedules()
    (moved,) = queue.schedules()
    assert moved.next_run_at is not None
    assert moved.next_run_at > clock.now
    clock.advance(hours=-2)
    assert queue.run_schedules() == []
    (after,) = queue.schedules()
    assert after.next_run_at is not None
    assert after.next_run_at <= clock.now + timedelta(minutes=5)


@pytest.mark.parametrize(("cron", "every"), [("0 3 * * *", None), ("0 3 1 * *", None), ("30 2 * * 1-5", None), (None, 90 * 86_400)])
def test_a_schedule_that_waits_for_its_time_is_left_alone(queue: Queue, clock: ManualClock, cron: str | None, every: int | None) -> None:
    made = queue.schedule("seldom", PLAIN, cron=cron, every=every)
    for _ in range(200):
        clock.advance(minutes=7)
        queue.run_schedules()
        (now,) = queue.schedules()
        if now.version != made.version:
            assert now.last_run_at == clock.now
            return


@pytest.mark.parametrize(("cron", "every"), [("0 3 * * *", None), ("0 3 1 * *", None), (None, 90 * 86_400)])
def test_a_clock_that_is_set_back_a_little_repeats_no_run(queue: Queue, clock: ManualClock, cron: str | None, every: int | None) -> None:
    queue.schedule("often", PLAIN, cron=cron, every=every)
    (before,) = queue.schedules()
    assert before.next_run_at is not None
    clock.reach(before.next_run_at)
    assert len(queue.run_schedules()) == 1
    clock.advance(hours=-1)
    assert queue.run_schedules() == []
    (after,) = queue.schedules()
    assert after.next_run_at is not None
    assert after.next_run_at > before.next_run_at


def test_the_runs_of_a_schedule_need_not_overlap(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("often", Submission("plain", concurrency_key="one at a time"), every=60)
    made = []
    for _ in range(2):
        clock.advance(60)
        made += queue.run_schedules()
    assert [job.concurrency_key for job in made] == ["one at a time"] * 2
    selector = CandidateSelector(clock, "w")
    assert queue.claim(selector, "default", "w") is not None
    assert queue.claim(selector, "default", "w") is None


def test_a_run_has_the_attributes_of_its_schedule(queue: Queue, clock: ManualClock) -> None:
    own = {"max_retries": 9, "timeout_seconds": 99, "start_within": 600.0, "tags": ["a"]}
    queue.schedule("nightly", Submission("plain", **own), every=60)  # type: ignore[arg-type]
    clock.advance(61)
    (job,) = queue.run_schedules()
    assert (job.max_retries, job.timeout_seconds, job.tags) == (9, 99, ["a"])
    assert job.start_by == job.created_at + timedelta(seconds=600)


def test_a_run_without_attributes_of_its_own_has_those_of_its_handler_at_that_time(queue: Queue, clock: ManualClock) -> None:
    queue.schedule("nightly", Submission("PCA", {}), every=60)
    handler = queue.context.jobs.of("PCA")
    later = Jobs()
    later.add(replace(handler, timeout=7, retry=Retry(times=8)))
    clock.advance(61)
    (job,) = Queue(queue.store, later, tables=queue.tables.names, further=[names.names for names in queue.context.ledgers]).run_schedules()
    assert (job.timeout_seconds, job.max_retries) == (7, 8)


@pytest.mark.parametrize(
    "options",
    [{"delay": 60}, {"idempotency_key": "k"}, {"unique_key": "k"}, {"stage": "s"}, {"parent_job_id": uuid4()}, {"tenant": "t"}],
)
def test_an_option_that_the_runs_would_not_have_is_refused(queue: Queue, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(BadSchedule, match=f"a submission with {name}=, which its runs would not have"):
        queue.schedule("nightly", Submission("plain", **options), cron="0 3 * * *")
    assert queue.schedules() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "has no time"),
        ({"cron": "0 3 * * *", "every": 60}, "both cron fields and an interval"),
        ({"every": 60, "max_delay": -1}, "would never run"),
    ],
)
def test_options_of_the_time_that_contradict_each_other_are_refused(queue: Queue, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSchedule, match=words):
        queue.schedule("nightly", PLAIN, **options)
    with pytest.raises(BadSchedule, match=words):
        DeclaredSchedule("nightly", "plain", **options)


class Report(BaseModel):
    days: int = 1


def jobs_with_schedule(when: str | int = "0 2 * * *") -> Jobs:
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
    queue = opened(store, jobs_with_schedule())
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
    queue = opened(store, jobs_with_schedule())
    queue.declare_schedules()
    before = the_schedule(queue)
    clock.advance(hours=1)
    assert opened(store, jobs_with_schedule()).declare_schedules() == []
    assert the_schedule(queue) == before


def test_an_operators_pause_survives_a_restart_and_a_change(store: Store) -> None:
    queue = opened(store, jobs_with_schedule())
    queue.declare_schedules()
    queue.set_enabled("report", False)
    opened(store, jobs_with_schedule()).declare_schedules()
    assert not the_schedule(queue).enabled
    opened(store, jobs_with_schedule(600)).declare_schedules()
    assert (the_schedule(queue).enabled, the_schedule(queue).every, the_schedule(queue).cron) == (False, 600, None)


def test_a_change_of_the_times_moves_the_next_run_and_keeps_the_history(store: Store, clock: ManualClock) -> None:
    queue = opened(store, jobs_with_schedule(60))
    queue.declare_schedules()
    clock.advance(60)
    (job,) = queue.run_schedules()
    opened(store, jobs_with_schedule(600)).declare_schedules()
    assert (the_schedule(queue).last_job_id, the_schedule(queue).next_run_at) == (job.job_id, clock.now + timedelta(seconds=600))


def test_a_schedule_that_is_no_longer_declared_is_shown_and_does_not_run(store: Store, clock: ManualClock) -> None:
    opened(store, jobs_with_schedule(60)).declare_schedules()
    queue = opened(store, Jobs())
    (marked,) = queue.declare_schedules()
    assert (marked.undeclared_at, marked.active) == (clock.now, False)
    clock.advance(60)
    assert queue.run_schedules() == []
    assert queue.declare_schedules() == []
    opened(store, jobs_with_schedule(60)).declare_schedules()
    assert (the_schedule(queue).undeclared_at, the_schedule(queue).next_run_at) == (None, clock.now + timedelta(seconds=60))


def test_switching_on_what_is_no_longer_declared_makes_it_an_ordinary_schedule(store: Store) -> None:
    opened(store, jobs_with_schedule(60)).declare_schedules()
    queue = opened(store, Jobs())
    queue.declare_schedules()
    adopted = queue.set_enabled("report", True)
    assert (adopted.declared_by, adopted.undeclared_at, adopted.active) == (None, None, True)
    assert queue.declare_schedules() == []


def test_the_schedules_of_others_are_left_alone(store: Store) -> None:
    queue = opened(store, jobs_with_schedule())
    queue.schedule("by-hand", Submission("report"), every=60)
    queue.declare_schedules({"music": queue.context.jobs.schedules})
    assert queue.declare_schedules({"film": ()}) == []
    assert [one.active for one in queue.schedules()] == [True, True]
    assert [one.name for one in queue.declare_schedules({"music": ()})] == ["report"]


def test_starters_at_once_write_the_same_in_every_order(store: Store) -> None:
    queue = opened(store, jobs_with_schedule())

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
    queue = opened(store, jobs_with_schedule())
    with pytest.raises(BadSchedule, match="Two applications declare a schedule report"):
        queue.declare_schedules({"a": queue.context.jobs.schedules, "b": queue.context.jobs.schedules})
    assert queue.schedules() == []
