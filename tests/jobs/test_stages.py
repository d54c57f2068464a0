"""A job that directs others, and what handlers have in common."""

import time
from typing import Any
from uuid import UUID

import pytest

from gateleg.jobs import (
    AsyncQueue,
    GiveUp,
    JobContext,
    Jobs,
    JobStatus,
    Retry,
    Snooze,
    Stage,
    Submission,
    direct_stages,
    giving_up,
    reporting,
)
from gateleg.jobs.tasks import combined_status
from tests.jobs.worker.test_worker import done, ended, reaches, working


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["COMPLETED", "COMPLETED"], JobStatus.COMPLETED),
        (["COMPLETED", "PROCESSING"], None),
        (["FAILED", "PROCESSING"], JobStatus.FAILED),
        (["CANCELLED", "FAILED"], JobStatus.FAILED),
        (["CANCELLED", "COMPLETED"], JobStatus.CANCELLED),
    ],
)
def test_stages_end_together(states: list[str], expected: JobStatus | None) -> None:
    assert combined_status({str(number): JobStatus(state) for number, state in enumerate(states)}) is expected


class Film:
    """A film of three stages, one of which fails while the light is off."""

    def __init__(self) -> None:
        self.jobs = Jobs()
        self.queue: AsyncQueue | None = None
        self.light = True
        self.shot: list[str] = []
        self.jobs.handler("film", retry=Retry(times=0))(self.direct)
        self.jobs.handler("shoot", retry=Retry(times=0))(self.shoot)

    async def direct(self, job: JobContext, config: dict[str, Any]) -> dict[str, str]:
        assert self.queue is not None
        stages = [
            Stage("script", Submission("shoot", {"what": "script"})),
            Stage("scenes", Submission("shoot", {"what": "scenes"}), needs=["script"]),
            Stage("cut", Submission("shoot", {"what": "cut"}), needs=["scenes"]),
        ]
        children = await direct_stages(job, self.queue, stages, look_again=0.02)
        return {name: str(child) for name, child in children.items()}

    async def shoot(self, job: JobContext, config: dict[str, Any]) -> None:
        if config["what"] == "scenes" and not self.light:
            raise ValueError("no light")
        self.shot.append(config["what"])
        job.log(f"shot the {config['what']}")
        job.output("files", f"{config['what']}.mp4")
        job.metric("frames", 24)
        job.metric(f"{config['what']}_takes", 2)


async def test_stages_run_after_each_other_once_and_belong_to_whoever_submitted_the_whole() -> None:
    film = Film()
    async with working(film.jobs) as (queue, _):
        film.queue = queue
        job = await done(queue, Submission("film", {}, created_by="ann", tenant="north", priority=70))
        assert job.status == JobStatus.COMPLETED, job.attempts
        assert job.job_results is not None
        cut = await queue.get(UUID(job.job_results.value["cut"]))
    assert film.shot == ["script", "scenes", "cut"]
    assert (cut.parent_job_id, cut.job_stage, cut.created_by, cut.tenant, cut.priority) == (job.job_id, "cut", "ann", "north", 70)


async def test_the_whole_has_the_results_the_log_and_the_duration_of_its_stages() -> None:
    film = Film()
    async with working(film.jobs) as (queue, _):
        film.queue = queue
        job = await done(queue, Submission("film", {}))
        stages = [child.job_id for child in (await queue.tree(job.job_id)).children]
        script, *_, cut = [await queue.get(stage) for stage in stages]
    assert job.job_results is not None
    assert job.job_results.output_location == {"files": ["script.mp4", "scenes.mp4", "cut.mp4"]}
    metrics = dict(job.job_results.summary_metrics)
    seconds = metrics.pop("processing_time_seconds")
    takes = {f"{name}_takes": 2 for name in ("script", "scenes", "cut")}
    assert metrics == takes | {f"{name}.frames": 24 for name in ("script", "scenes", "cut")}
    assert [line.message.partition(" in ")[0] for line in job.logs.entries] == [f"{name} completed" for name in ("script", "scenes", "cut")]
    assert job.logs.entries[0].message.endswith(": shot the script")
    assert job.started_at is not None
    assert script.started_at is not None
    assert cut.completed_at is not None
    assert job.started_at <= script.created_at
    assert float(seconds) >= (cut.completed_at - script.started_at).total_seconds()


async def test_a_retry_runs_what_is_missing() -> None:
    film = Film()
    film.light = False
    async with working(film.jobs) as (queue, _):
        film.queue = queue
        job = await done(queue, Submission("film", {}))
        assert job.status == JobStatus.FAILED
        error = job.attempts[-1].error
        assert error is not None
        assert "scenes (job" in error.message
        film.light = True
        await queue.retry(job.job_id)
        again = await ended(queue, job.job_id)
    assert again.status == JobStatus.COMPLETED
    assert film.shot == ["script", "scenes", "cut"]


class Passing(Exception):
    passing = True


def test_errors_that_stay_are_given_up_and_those_that_pass_are_not() -> None:
    with pytest.raises(GiveUp, match="no such film"), giving_up(LookupError):
        raise KeyError("no such film")
    with pytest.raises(Passing), giving_up(Exception):
        raise Passing
    with pytest.raises(Snooze), giving_up(LookupError):
        raise Snooze(1)


async def test_a_report_logs_each_step_once_and_ends_work_that_is_to_stop() -> None:
    jobs = Jobs()

    @jobs.handler("computes", runs="thread")
    def computes(job: JobContext, config: dict[str, Any]) -> None:
        report = reporting(job)
        for number in range(10):
            report(number / 10, "first" if number < 5 else "second")

    @jobs.handler("goes-on", runs="thread")
    def goes_on(job: JobContext, config: dict[str, Any]) -> None:
        report = reporting(job)
        while True:
            report(0.5, "working")
            time.sleep(0.001)

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("computes"))
        assert [line.message for line in job.logs.entries] == ["first", "second"]
        endless = (await queue.submit(Submission("goes-on"))).job
        await reaches(queue, endless.job_id, lambda one: one.progress is not None)
        await queue.cancel(endless.job_id)
        assert (await ended(queue, endless.job_id)).status == JobStatus.CANCELLED
