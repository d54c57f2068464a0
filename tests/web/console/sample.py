"""A small application for tests of the console: jobs whose pace a test sets, and a host with a worker that runs them."""

import asyncio
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from gateleg.host import Application
from gateleg.jobs import JobContext, Jobs, Retry, Submission
from gateleg.jobs.table_streams import TableStreams
from gateleg.model import Attr, Change, Entity, Key, Table

jobs = Jobs()


class Paced(BaseModel):
    """Work that goes as far as a file has lines."""

    gate: Path = Field(description="A file; every line is a step that may be done")
    steps: int = Field(default=4, ge=1, le=100, description="How many steps there are")


class Reels(BaseModel):
    """What to cut a reel from."""

    title: str = Field(min_length=1, description="The name on the reel")
    seconds: int = Field(default=30, ge=1, le=600)
    quality: Literal["draft", "final"] = "draft"
    loud: bool = False
    tags: list[str] = Field(default_factory=list)


def _lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


@jobs.handler("PACED", config=Paced, queue="default")
async def paced(job: JobContext, config: Paced) -> dict[str, int]:
    """Say how many lines the gate has, until there are enough."""
    said = -1
    while (done := min(_lines(config.gate), config.steps)) < config.steps:
        job.check()
        # Said again and again, so that the worker hears soon when somebody wants the job to stop.
        job.progress(done, config.steps, f"step {done} of {config.steps}")
        if done != said:
            said = done
            job.log(f"step {done} done")
        await asyncio.sleep(0.02)
    job.metric("steps", config.steps)
    return {"steps": config.steps}


@jobs.handler("REEL", config=Reels, queue="media")
async def reel(job: JobContext, config: Reels) -> dict[str, Any]:
    """Cut a reel at once."""
    job.log(f"cutting {config.title}")
    job.output("objects", f"reels/{job.job_id}.txt")
    return {"title": config.title, "seconds": config.seconds}


@jobs.handler("BROKEN", retry=Retry(times=0))
async def broken(job: JobContext, config: dict[str, Any]) -> None:
    """Fail, unless the config names a file that is there; or in another way, where it names a fault."""
    job.log("looking for the tape")
    if config.get("fault"):
        raise ValueError(config["fault"])
    if not (config.get("tape") and Path(config["tape"]).exists()):
        job.log("the tape is not there", "ERROR")
        raise FileNotFoundError("There is no tape in the machine.")


@jobs.handler("ALBUM")
async def album(job: JobContext, config: dict[str, Any]) -> None:
    """Submit a tree: three reels, and one that needs the first two."""
    first, second, third = await job.submit_many(
        [Submission("REEL", Reels(title=title), stage=title) for title in ("Intro", "Verse", "Chorus")]
    )
    await job.submit(Submission("REEL", Reels(title="Mix"), stage="Mix", dependencies=[first.job.job_id, second.job.job_id]))
    job.log(f"the last is {third.job.job_id}")


@jobs.handler("CREW")
async def crew(job: JobContext, config: dict[str, Any]) -> None:
    """Submit a paced job for each gate, all alike but for it, and be done before them."""
    await job.submit_many([Submission("PACED", Paced(gate=Path(gate))) for gate in config["gates"]])


tapes = Table("Tapes", hash="title", stream="NEW_AND_OLD_IMAGES")
streams = TableStreams()


class Tape(Entity, table=tapes):
    """What films are cut from."""

    title: Attr[str]
    key = Key("{title}")


@streams.on(Tape, kinds=["created"])
async def shelve(change: Change) -> None:
    """Take every tape but the lost one."""
    if change.key["title"]["S"] == "Lost":
        raise LookupError("There is no shelf for it.")


reels = Application(
    name="reels", title="Reels", icon="movie", about="Short films from longer ones.", tables=(tapes,), jobs=jobs, table_streams=streams
)
