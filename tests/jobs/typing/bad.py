"""What must not type-check. Each line with an ignore is an error to both checkers; the test takes the ignores away and counts."""

from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, JobContext, Jobs, Queue
from gateleg.store import Store

jobs = Jobs()


class Greeting(BaseModel):
    name: str


class Farewell(BaseModel):
    name: str


async def greet_by_name(job: JobContext, config: Greeting) -> str:
    return config.name


async def greet_nobody(job: Store, config: Greeting) -> str:
    return config.name


greet = jobs.handler("greet", config=Greeting)(greet_by_name)
jobs.handler("other", config=Farewell)(greet_by_name)  # type: ignore
jobs.handler("another")(greet_nobody)  # type: ignore
jobs.handler("more", confg=Greeting)  # type: ignore
jobs.handler("no", runs="proces")  # type: ignore


def called(queue: Queue, store: Store, job: JobContext) -> None:
    greet.submit(queue, Farewell(name="Nina"))  # type: ignore
    greet.submit(queue, "Nina")  # type: ignore
    greet.submit(queue, Greeting(name="Nina"), priorty=80)  # type: ignore
    greet.submit(queue, Greeting(name="Nina"), priority="high")  # type: ignore
    greet.submit(store, Greeting(name="Nina"))  # type: ignore
    greet.submit(queue)  # type: ignore
    _ = greet.submit(queue, Greeting(name="Nina")).job.jobid  # type: ignore
    greet.submission(Farewell(name="Nina"))  # type: ignore
    queue.submit(greet)  # type: ignore
    queue.submit_many([greet])  # type: ignore
    queue.get("1")  # type: ignore
    queue.cancel(job.job_id, reson="no")  # type: ignore
    _ = greet(queue, Greeting(name="Nina"))  # type: ignore
    _ = greet(job, Farewell(name="Nina"))  # type: ignore


async def awaited(queue: AsyncQueue) -> None:
    _ = greet.submit(queue, Greeting(name="Nina")).job  # type: ignore
    _ = queue.stats("default").waiting  # type: ignore
    await greet.submit(queue, Farewell(name="Nina"))  # type: ignore


jobs.every(60, config=Farewell(name="Nina"))(greet)  # type: ignore
jobs.every(60, timezon="UTC")  # type: ignore
jobs.every(60)(greet_nobody)  # type: ignore
