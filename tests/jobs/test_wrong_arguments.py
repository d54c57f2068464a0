"""A queue refuses a store or a registry of the wrong kind when it is created, not at the first job."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, JobContext, Jobs, JobStatus, ManualClock, Queue, Retry, Snooze, Submission, TestWorker, Worker
from gateleg.jobs.errors import BadHandler, BadSchedule, BadSubmission, WrongArgument
from gateleg.store import AsyncStore, CursorRejected, Store
from gateleg.store.errors import BadLimit


def connect(kind: Any) -> Any:
    return kind.connect("embedded::memory:")


@pytest.mark.parametrize(("queue", "store", "words"), [(Queue, AsyncStore, "Use AsyncQueue"), (AsyncQueue, Store, "Use Queue")])
def test_a_store_of_the_other_kind(queue: Any, store: Any, words: str) -> None:
    with pytest.raises(WrongArgument, match=words):
        queue(connect(store), Jobs())


@pytest.mark.parametrize("queue", [Queue, AsyncQueue])
def test_a_queue_whose_arguments_are_in_another_order(queue: Any) -> None:
    with pytest.raises(WrongArgument, match="cannot use a store of type Jobs"):
        queue(Jobs(), connect(Store))


def test_handlers_that_are_not_a_registry() -> None:
    handlers: Any = [print]
    with pytest.raises(WrongArgument, match="not a list"):
        Queue(connect(Store), handlers)


def test_tables_by_the_name_of_a_layout() -> None:
    tables: Any = "plain"
    with pytest.raises(WrongArgument, match="TableNames"):
        Queue(connect(Store), Jobs(), tables=tables)


@pytest.mark.parametrize("given", [connect(Store), AsyncQueue(connect(AsyncStore), Jobs())])
def test_a_test_worker_takes_a_queue(given: Any) -> None:
    with pytest.raises(WrongArgument, match="A TestWorker takes a Queue"):
        TestWorker(given)


def test_a_worker_takes_an_async_queue() -> None:
    queue: Any = Queue(connect(Store), Jobs())
    with pytest.raises(WrongArgument, match="given Queue"):
        Worker(queue)


@pytest.mark.parametrize(("queues", "words"), [("images", "queues={'images': 1}"), (["a", "b"], "queues={'a': 1, 'b': 1}")])
def test_queues_of_a_worker_have_weights(queues: Any, words: str) -> None:
    with pytest.raises(WrongArgument) as refused:
        Worker(AsyncQueue(connect(AsyncStore), Jobs()), queues=queues)
    assert words in str(refused.value)


@pytest.mark.parametrize("concurrency", [0, "4", True])
def test_a_worker_runs_at_least_one_job_at_once(concurrency: Any) -> None:
    with pytest.raises(WrongArgument, match="at least 1"):
        Worker(AsyncQueue(connect(AsyncStore), Jobs()), concurrency=concurrency)


@pytest.mark.parametrize("idle", [5, (1, 0.1)])
def test_a_worker_that_is_idle_for_a_minimum_and_a_maximum_of_seconds(idle: Any) -> None:
    with pytest.raises(WrongArgument, match="not a minimum and a maximum"):
        Worker(AsyncQueue(connect(AsyncStore), Jobs()), idle=idle)


async def work(job: JobContext, config: dict[str, Any]) -> None: ...


async def counted(job: JobContext, config: int) -> None: ...


HANDLERS: dict[str, tuple[dict[str, Any], str]] = {
    "a timeout": ({"timeout": 0}, "timeout=0. Give at least 1 second"),
    "a priority": ({"priority": 101}, "priority=101. Give a priority from 0 to 100"),
    "a limit": ({"limit_per_worker": 0}, "Leave it out"),
    "a queue": ({"queue": ""}, "its queue ''"),
}


@pytest.mark.parametrize("case", HANDLERS)
def test_an_option_of_a_handler_is_refused_with_advice_about_it(case: str) -> None:
    options, words = HANDLERS[case]
    register: Any = Jobs().handler
    with pytest.raises(BadHandler) as refused:
        register("work", **options)(work)
    assert words in str(refused.value)


def test_a_config_that_is_not_an_object() -> None:
    with pytest.raises(BadHandler, match="as int, and a config is a JSON object"):
        Jobs().handler("counted")(counted)


SCHEDULES: dict[str, tuple[Any, str]] = {
    "an interval that is not a number": (timedelta(hours=1), "Give seconds"),
    "a day that never comes": ("0 3 31 2 *", "day that does not exist"),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_a_schedule_is_refused_where_it_is_declared(case: str) -> None:
    when, words = SCHEDULES[case]
    with pytest.raises(BadSchedule, match=words):
        Jobs().every(when)(work)


SUBMISSIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a delay as text": ({"delay": "1h"}, "delay='1h' is not a number"),
    "a negative delay": ({"delay": -5}, "delay=-5 is not a time"),
    "a single dependency": ({"dependencies": UUID(int=1)}, "dependencies is a single UUID"),
    "tags as text": ({"tags": "urgent"}, "Write tags=[...]"),
    "a limit without a key": ({"concurrency_limit": 3}, "without concurrency_key="),
    "no time to start": ({"start_within": 0}, "start_within=0 is over before the job can start"),
    "a start before the delay is over": ({"start_within": 30, "delay": 60}, "start_within=30 ends before the job may start"),
    "no time": ({"timeout": 0}, "at least 1 second"),
}


@pytest.fixture
def queue() -> Queue:
    jobs = Jobs()
    jobs.handler("work")(work)
    made = Queue(connect(Store), jobs)
    made.ensure_tables()
    return made


@pytest.mark.parametrize("case", SUBMISSIONS)
def test_an_option_of_a_submission_is_explained(queue: Queue, case: str) -> None:
    options, words = SUBMISSIONS[case]
    with pytest.raises(BadSubmission) as refused:
        queue.submit(Submission("work", **options))
    assert words in str(refused.value)
    assert queue.jobs_page().items == []


def test_one_submission_in_place_of_many(queue: Queue) -> None:
    one: Any = Submission("work")
    with pytest.raises(BadSubmission, match=r"Write submit_many\(\[\.\.\.\]\)"):
        queue.submit_many(one)


def test_a_submission_by_name_without_a_submission(queue: Queue) -> None:
    submit: Any = queue.submit
    with pytest.raises(WrongArgument, match=r"Call it as submit\(submission, \*, under=None\)"):
        submit("work", {})


@pytest.mark.parametrize("limit", ["10", 0])
def test_a_limit_that_is_not_a_number_of_jobs(queue: Queue, limit: Any) -> None:
    with pytest.raises(BadLimit):
        queue.jobs_page(limit=limit)


def test_a_cursor_of_something_else(queue: Queue) -> None:
    with pytest.raises(CursorRejected, match="Start again without a cursor"):
        queue.jobs_page(cursor="x")


@pytest.mark.parametrize("seconds", ["60", timedelta(seconds=60)])
def test_snoozing_for_what_is_not_a_time(seconds: Any) -> None:
    with pytest.raises(ValueError, match="at most a hundred years"):
        Snooze(seconds)


def test_snoozing_until_a_time_that_is_over_is_snoozing_for_no_time() -> None:
    assert Snooze(-1).seconds == 0


def test_retries_that_are_not_a_number() -> None:
    times: Any = "3"
    with pytest.raises(TypeError, match="times='3'"):
        Retry(times=times)


@pytest.mark.parametrize(
    ("option", "given"),
    [("never", "ValueError"), ("never", ["ValueError"]), ("only", ValueError), ("only", [ValueError()]), ("delays", {"ValueError": 5})],
)
def test_retries_after_something_that_is_not_an_exception_class(option: str, given: Any) -> None:
    with pytest.raises(TypeError, match=rf"Retry\({option}=\.\.\.\) takes exception classes"):
        Retry(**{option: given})


class First(BaseModel):
    n: int = 0


class Second(BaseModel):
    n: int = 0


class Narrower(First):
    more: int = 0


async def perhaps(job: JobContext, config: First | None) -> None: ...


async def first(job: JobContext, config: First) -> None: ...


def test_a_config_that_is_annotated_as_a_union() -> None:
    with pytest.raises(BadHandler, match=r"would get a dictionary: a config has one model\. Annotate it with First alone"):
        Jobs().handler("perhaps")(perhaps)


def test_a_config_of_two_models() -> None:
    register: Any = Jobs().handler
    with pytest.raises(BadHandler, match="has config=Second, and annotates its config as First"):
        register("first", config=Second)(first)
    register("first", config=Narrower)(first)


RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "an object": (object, "bad-result"),
    "bytes": (lambda: b"x", "bad-result"),
    "not a number": (lambda: float("nan"), "number-refused"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_a_result_that_cannot_be_stored_fails_the_job_without_a_retry(case: str) -> None:
    make, kind = RESULTS[case]
    jobs = Jobs()

    @jobs.handler("odd", retry=Retry(times=3))
    async def odd(job: JobContext, config: dict[str, Any]) -> Any:
        return make()

    queue = Queue(connect(Store), jobs)
    queue.ensure_tables()
    job = odd.submit(queue, {}).job
    TestWorker(queue).run()
    done = queue.get(job.job_id)
    assert (done.status, done.retry_count, done.attempts[-1].error and done.attempts[-1].error.kind) == (JobStatus.FAILED, 0, kind)


def test_whatever_is_logged_is_logged_and_a_location_that_is_not_text_fails_at_once() -> None:
    jobs = Jobs()
    odd: Any = 3

    @jobs.handler("logs", retry=Retry(times=0))
    async def logs(job: JobContext, config: dict[str, Any]) -> None:
        job.log(odd, level=odd)
        job.output("objects", odd)

    queue = Queue(connect(Store), jobs)
    queue.ensure_tables()
    job = logs.submit(queue, {}).job
    TestWorker(queue).run()
    done = queue.get(job.job_id)
    assert "'int' object has no attribute" not in str(done.attempts[-1].error)
    assert done.attempts[-1].error is not None
    assert "job.output takes a kind and keys as text, and was given 3" in done.attempts[-1].error.message


def test_a_clock_without_a_time_zone() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        ManualClock(datetime(2030, 1, 1))


def test_waiting_in_an_async_handler_is_explained() -> None:
    jobs = Jobs()

    @jobs.handler("waits", retry=Retry(times=0))
    async def waits(job: JobContext, config: dict[str, Any]) -> None:
        job.wait(job.submit(Submission("waits")))

    queue = Queue(connect(Store), jobs)
    queue.ensure_tables()
    job = waits.submit(queue, {}).job
    TestWorker(queue).run()
    failure = queue.get(job.job_id).attempts[-1].error
    assert failure is not None
    assert "job.wait(...) was called in an async handler" in failure.message
