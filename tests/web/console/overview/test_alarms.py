from dataclasses import replace

from gateleg.jobs.monitor import QueueStats, Work
from gateleg.jobs.tables import WorkerRecord
from gateleg.web.console.overview.figures import alarms
from tests.web.console.jobs.samples import NOW, job

CALM = QueueStats("media", "running", 0, 0, 0, None, 15)
WORKER = WorkerRecord(worker_id="w:1", host="a", pid=1, queues=["media"], started_at=NOW, seen_at=NOW)


def titles(stats: QueueStats, *workers: WorkerRecord) -> list[str]:
    return [alarm.title for alarm in alarms([stats], workers or (WORKER,))]


def test_a_calm_queue_raises_no_alarm() -> None:
    assert titles(CALM) == []
    assert titles(replace(CALM, waiting=10, oldest_waiting=20.0, work=Work(completed=50, failed=2, throughput=3.0))) == []


def test_many_failures_are_an_alarm_and_few_are_not() -> None:
    assert titles(replace(CALM, work=Work(completed=8, failed=3))) == ["Many failures in media"]
    assert titles(replace(CALM, work=Work(completed=0, failed=2))) == []


def test_a_job_that_waits_long_is_an_alarm() -> None:
    assert titles(replace(CALM, waiting=1, oldest_waiting=301.0)) == ["media is stuck"]


def test_more_work_than_is_done_in_a_quarter_of_an_hour_is_a_backlog() -> None:
    assert titles(replace(CALM, waiting=100, oldest_waiting=9.0, work=Work(throughput=2.0))) == ["Backlog in media"]
    assert titles(replace(CALM, waiting=100, oldest_waiting=9.0, work=Work(throughput=20.0))) == []


def test_a_paused_queue_is_an_alarm_when_something_waits() -> None:
    assert titles(replace(CALM, mode="paused", waiting=1, oldest_waiting=900.0)) == ["media is paused"]
    assert titles(replace(CALM, mode="paused")) == []


def test_a_queue_without_a_worker_is_an_alarm_when_something_waits() -> None:
    other = WORKER.model_copy(update={"queues": ["default"]})
    assert titles(replace(CALM, waiting=1), other) == ["No worker for media"]
    assert titles(CALM, other) == []


def test_a_job_that_no_worker_of_the_host_can_run_is_named() -> None:
    (alarm,) = alarms([CALM], [WORKER], stranger=job(job_type="elsewhere"))
    assert alarm.title == "A job of type elsewhere waits"


def test_the_worst_comes_first() -> None:
    paused = replace(CALM, mode="paused", waiting=1)
    broken = replace(CALM, queue="default", work=Work(failed=9))
    assert [alarm.kind for alarm in alarms([paused, broken], [WORKER])] == ["failed", "warning"]
