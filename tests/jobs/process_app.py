"""Handlers that are made again in their processes, and a worker that a test can kill: `python -m tests.jobs.process_app <folder>`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, GiveUp, JobContext, Jobs, QueueSettings, Retry, Submission, Worker
from gateleg.jobs.handlers import JobsFactory
from gateleg.store import AsyncStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Wish(BaseModel):
    word: str = ""
    file: str = ""


def make_jobs(queue: AsyncQueue | None, greeting: str) -> Jobs:
    """Handlers with what they need around them."""
    jobs = Jobs()

    @jobs.handler("counts", runs="process")
    async def counts(job: JobContext, config: Wish) -> dict[str, Any]:
        assert queue is not None
        return {"seen": (await queue.get(job.job_id)).status, "said": f"{greeting} {config.word}", "pid": os.getpid()}

    @jobs.handler("plain", runs="process")
    def plain(job: JobContext, config: Wish) -> dict[str, Any]:
        assert queue is not None
        child = job.wait(job.submit(Submission("echo", Wish(word="child"))))
        (job.scratch / "note").write_text(config.word)
        with tempfile.NamedTemporaryFile() as file:
            inside = Path(file.name).parent == job.scratch
        return {
            "seen": job.wait(queue.get(job.job_id)).status,
            "child": str(child.job.job_id),
            "scratch": str(job.scratch),
            "inside": inside,
        }

    @jobs.handler("echo")
    async def echo(job: JobContext, config: Wish) -> str:
        (job.scratch / "note").write_text(config.word)
        return str(job.scratch)

    @jobs.handler("refuses", runs="process", retry=Retry(times=3, never=(LookupError,)))
    def refuses(job: JobContext, config: Wish) -> None:
        if config.word == "give up":
            raise GiveUp("there is no point")
        raise KeyError("nothing there")

    @jobs.handler("hangs", runs="process", retry=Retry(times=0))
    def hangs(job: JobContext, config: Wish) -> None:
        """Starts a command, and one that leaves its session and its parent; then it holds the interpreter and listens to nobody."""
        script = "import os, sys, time; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); time.sleep(3600)"
        forks = "import os, subprocess, sys; os.setsid(); os.fork() or subprocess.Popen(sys.argv[1:])"
        subprocess.Popen([sys.executable, "-c", script, config.file])
        subprocess.run([sys.executable, "-c", forks, sys.executable, "-c", script, config.file], check=True)
        while len(Path(config.file).read_text().split()) < 2 if Path(config.file).exists() else True:
            time.sleep(0.01)
        with open(config.file, "a") as file:
            file.write(f"{os.getpid()}\n{job.scratch}\n")
        job.progress(1)
        while True:
            sum(range(10**6))

    return jobs


@asynccontextmanager
async def open_jobs(store: str, greeting: str) -> AsyncIterator[Jobs]:
    """What the process of a handler opens."""
    async with AsyncStore.connect(store) as opened:
        yield make_jobs(AsyncQueue(opened, Jobs()), greeting)


def registered(store: str) -> Jobs:
    """The same handlers in the worker."""
    jobs = Jobs()
    jobs.include(make_jobs(None, ""), JobsFactory("tests.jobs.process_app:open_jobs", {"store": store, "greeting": "Hello"}))
    return jobs


async def main(folder: str) -> None:
    """Work until killed."""
    place = f"embedded:{folder}/data"
    async with AsyncStore.connect(place) as store:
        queue = AsyncQueue(store, registered(place), QueueSettings(lease_seconds=5))
        await queue.ensure_tables()
        await Worker(queue, scratch=Path(folder) / "scratch").run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
