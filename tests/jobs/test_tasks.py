"""Tasks: submitted with a config, to any kind of queue, or called as functions. Stages: a job that directs others."""

import dataclasses
import time
from datetime import UTC, datetime
from typing import Any, get_type_hints
from uuid import UUID, uuid4

import orjson
import pytest
from pydantic import BaseModel

from gateleg.jobs import (
    AsyncQueue,
    BadConfig,
    GiveUp,
    JobContext,
    Jobs,
    JobStatus,
    Queue,
    Retry,
    Snooze,
    Stage,
    Submission,
    SubmitOptions,
    TestWorker,
    direct_stages,
    giving_up,
    reporting,
)
from gateleg.jobs.errors import BadHandler, BadSubmission
from gateleg.jobs.submission import as_json, from_json
from gateleg.jobs.tasks import Task, combined_status
from gateleg.jobs.worker.attempt import in_own_process
from gateleg.store import AsyncStore, Store
from tests.jobs.worker.test_worker import done, ended, reaches, working

jobs = Jobs()


class Greeting(BaseModel):
    name: str


@jobs.handler("greet", priority=60)
async def greet(job: JobContext, config: Greeting) -> dict[str, str]:
    """Greet somebody."""
    return {"said": f"Hello, {config.name}!"}


@jobs.handler("greet-all")
async def greet_all(job: JobContext, config: dict[str, list[str]]) -> None:
    first = await greet.submit(job, Greeting(name=config["names"][0]))
    await job.submit_many([greet.submission(Greeting(name=name), dependencies=[first.job.job_id]) for name in config["names"][1:]])


@pytest.fixture
def queue(store: Store) -> Queue:
    queue = Queue(store, jobs)
    queue.ensure_tables()
    return queue


def test_a_task_is_submitted_with_its_config_and_options(queue: Queue) -> None:
    job = greet.submit(queue, Greeting(name="Nina"), subject="door", tags=["warm"]).job
    assert (job.job_type, job.job_config, job.priority, job.subject, job.tags) == ("greet", {"name": "Nina"}, 60, "door", ["warm"])
    (ended,) = TestWorker(queue).run()
    assert ended.job_results is not None
    assert ended.job_results.value == {"said": "Hello, Nina!"}


async def test_a_task_is_submitted_to_an_async_queue() -> None:
    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        submitted = await greet.submit(queue, Greeting(name="Nina"), idempotency_key="once")
        again = await greet.submit(queue, Greeting(name="Nina"), idempotency_key="once")
    assert (submitted.created, again.created, again.job.job_id) == (True, False, submitted.job.job_id)


def test_a_handler_submits_tasks_as_children(queue: Queue) -> None:
    root = greet_all.submit(queue, {"names": ["Nina", "Otto", "Ada"]}).job
    ended = TestWorker(queue).run()
    assert [job.job_type for job in ended] == ["greet-all", "greet", "greet", "greet"]
    assert {job.root_job_id for job in ended[1:]} == {root.job_id}
    assert all(job.status == JobStatus.COMPLETED for job in ended)


def test_many_tasks_are_submitted_and_enlisted(queue: Queue, store: Store) -> None:
    made = queue.submit_many([greet.submission(Greeting(name=name)) for name in ("Nina", "Otto")])
    assert [one.job.job_config["name"] for one in made] == ["Nina", "Otto"]
    enlisted = queue.enlist(greet.submission(Greeting(name="Ada"), unique_key="ada"))
    store.transact(list(enlisted.writes))
    assert queue.get(enlisted.job.job_id).job_config == {"name": "Ada"}


async def test_a_task_is_called_as_its_function(queue: Queue) -> None:
    job = greet.submit(queue, Greeting(name="Nina")).job
    assert await greet(JobContext(job, None), Greeting(name="Nina")) == {"said": "Hello, Nina!"}  # type: ignore[arg-type]
    assert (greet.__name__, greet.__doc__, repr(greet)) == ("greet", "Greet somebody.", "<Task greet>")


def test_the_config_model_is_that_of_the_annotation() -> None:
    assert jobs.of("greet").config is Greeting
    assert jobs.of("greet-all").config is None


def test_a_config_of_any_model_is_not_emptied(queue: Queue) -> None:
    other = Jobs()

    @other.handler("any")
    async def handle(job: JobContext, config: BaseModel) -> None: ...

    assert other.of("any").config is None
    assert handle.submit(Queue(queue.store, other), Greeting(name="Nina")).job.job_config == {"name": "Nina"}


def test_a_submission_by_name_is_checked_against_the_annotated_model(queue: Queue) -> None:
    with pytest.raises(BadConfig, match="name: Field required"):
        queue.submit(Submission("greet", {"nmae": "Nina"}))


def test_an_annotation_that_cannot_be_evaluated_is_refused() -> None:
    async def handle(job: "Unknown", config: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(BadHandler, match="annotates its config as Missing"):
        Jobs().handler("x")(handle)
    assert isinstance(Jobs().handler("x", config=Greeting)(handle), Task)


def test_a_submission_to_a_store_says_what_to_write(queue: Queue) -> None:
    with pytest.raises(BadSubmission, match=r"to a Store, which is not a queue. Write greet\.submit\(queue, config\)"):
        greet.submit(queue.store, Greeting(name="Nina"))  # type: ignore[arg-type]


def test_a_task_where_a_submission_belongs_says_what_to_write(queue: Queue) -> None:
    with pytest.raises(BadSubmission, match=r"greet\.submit\(queue, config\)"):
        queue.submit(greet)  # type: ignore[arg-type]


def test_a_task_is_registered_again_under_another_name() -> None:
    other = Jobs().handler("hello")(greet)
    assert (other.job_type, other.function) == ("hello", greet.function)


def test_a_task_can_be_confined_to_a_process() -> None:
    assert in_own_process(jobs.of("greet")).runs == "process"


def test_the_options_of_a_task_are_those_of_a_submission() -> None:
    def hints(of: Any) -> dict[str, Any]:
        import datetime
        from collections.abc import Mapping, Sequence
        from uuid import UUID

        names = {"UUID": UUID, "datetime": datetime.datetime, "Sequence": Sequence, "Mapping": Mapping}
        return get_type_hints(of, localns=names)

    fields = {field.name for field in dataclasses.fields(Submission)} - {"job_type", "config"}
    assert hints(SubmitOptions) == {name: hint for name, hint in hints(Submission).items() if name in fields}


def test_a_submission_of_a_process_arrives_as_it_was() -> None:
    later, one = datetime(2099, 1, 2, tzinfo=UTC), uuid4()
    values: SubmitOptions = {"run_at": later, "start_by": later, "delay": 0.5, "tags": ["a"]}
    values |= {"job_id": one, "parent_job_id": one, "dependencies": [one]}
    keys = ("concurrency_key", "idempotency_key", "unique_key")
    texts: Any = dict.fromkeys(("queue", "subject", "created_by", "tenant", "stage", *keys), "x")
    numbers: Any = dict.fromkeys(("priority", "max_retries", "timeout_seconds", "concurrency_limit"), 7)
    submission = Submission("greet", {"a": [1]}, **values, **texts, **numbers)
    left_out = {field.name for field in dataclasses.fields(Submission) if getattr(submission, field.name) == field.default}
    assert left_out == {"start_within"}
    assert from_json(orjson.loads(orjson.dumps(as_json(submission)))) == submission
    plain = Submission("greet", start_within=3.5)
    assert from_json(orjson.loads(orjson.dumps(as_json(plain)))) == dataclasses.replace(plain, dependencies=[], tags=[])


def test_handlers_hold_the_function_not_the_task() -> None:
    assert jobs.of("greet").handle is greet.function


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
