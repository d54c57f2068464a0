"""An application with a few jobs, for tests of the command line."""

import logging
from typing import Any

from pydantic import BaseModel

from gateleg.jobs import JobContext, Jobs, Retry, Submission

jobs = Jobs()


class Words(BaseModel):
    words: list[str] = []


@jobs.handler("echo", config=Words)
async def echo(job: JobContext, config: Words) -> dict[str, str]:
    for word in config.words:
        job.log(word)
    return {"said": " ".join(config.words)}


@jobs.handler("fails", retry=Retry(times=0))
async def fails(job: JobContext, config: dict[str, Any]) -> None:
    raise ValueError("always")


@jobs.handler("family")
async def family(job: JobContext, config: dict[str, Any]) -> None:
    for number in range(2):
        await job.submit(Submission("echo", stage=f"child {number}"))


@jobs.handler("speaks")
def speaks(job: JobContext, config: dict[str, Any]) -> None:
    print("printed")
    logging.getLogger("shop").info("logged")


@jobs.handler("sweep", internal=True)
async def sweep(job: JobContext, config: dict[str, Any]) -> None:
    """Housekeeping."""
