"""What must type-check, with the types that it must have. Never called."""

from typing import Any, assert_type

from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, Job, JobContext, Jobs, Queue, Submission, Submitted, Task

jobs = Jobs()


class Greeting(BaseModel):
    name: str


@jobs.handler("greet", config=Greeting)
async def greet(job: JobContext, config: Greeting) -> str:
    return f"Hello, {config.name}!"


@jobs.handler("wave")
def wave(job: JobContext, config: Greeting) -> int:
    return len(config.name)


@jobs.handler("plain", config=Greeting)
async def plain(job: JobContext, config: Any) -> None: ...


@jobs.handler("invoice")
async def invoice(job: JobContext, config: dict[str, int]) -> None:
    assert_type(await greet.submit(job, Greeting(name="Nina"), stage="greetings"), Submitted)
    assert_type(await job.submit(greet.submission(Greeting(name="Nina"))), Submitted)


assert_type(wave, Task[Greeting, int])


def called(queue: Queue, job: JobContext) -> None:
    assert_type(greet.submit(queue, Greeting(name="Nina"), priority=80), Submitted)
    assert_type(greet.submission(Greeting(name="Nina"), subject="x"), Submission)
    invoice.submit(queue, {"number": 7}, idempotency_key="7")
    queue.submit_many([greet.submission(Greeting(name="Nina")), Submission("greet", {"name": "Nina"})])
    assert_type(queue.ensure_tables(), list[str])
    assert_type(queue.get(job.job_id), Job)
    queue.enlist(greet.submission(Greeting(name="Nina"), unique_key="n"))
    assert_type(wave(job, Greeting(name="Nina")), int)


async def awaited(queue: AsyncQueue, job: JobContext) -> None:
    assert_type(await greet.submit(queue, Greeting(name="Nina"), tags=["a"]), Submitted)
    assert_type(await queue.get(job.job_id), Job)
    assert_type(await greet(job, Greeting(name="Nina")), str)


@jobs.every("0 2 * * *", timezone="Europe/Berlin", config=Greeting(name="Nina"))
@jobs.handler("nightly")
async def nightly(job: JobContext, config: Greeting) -> None: ...


@jobs.every(300)
def often(job: JobContext, config: dict[str, int]) -> int:
    return 1


assert_type(often, Task[dict[str, int], int])
