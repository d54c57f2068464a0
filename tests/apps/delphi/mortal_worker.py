"""A worker that kills itself in the middle of a run: `python -m tests.apps.delphi.mortal_worker <folder> <moment>`.

A moment is one of `step NAME`, when a run says that it begins a step; `batch N`, before the batch of results after so many is written;
`file N`, before the file after so many is stored; and `end`, when a stage is done and its job has not been told.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from gateleg.apps.delphi import service, work
from gateleg.apps.delphi.runs import topic_runs
from gateleg.apps.delphi.work import delphi_jobs
from gateleg.jobs import AsyncQueue, JobContext, QueueSettings, Worker
from gateleg.objects import DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(kind: str, which: str = "") -> None:
    """Make handlers die at the moment."""
    rooms: Any = vars(work)
    if kind == "step":
        rooms["reporting"] = partial(dying_at_step, rooms["reporting"], which)
    elif kind == "end":
        for name in ("analyse_votes", "find_topics", "write_report"):
            rooms[name] = dying_afterwards(getattr(work, name))
    else:
        service._ROWS_AT_ONCE = topic_runs._ROWS_AT_ONCE = 10
        owner: type[Any] = AsyncStore if kind == "batch" else ThreadedObjects
        name = "batch_write" if kind == "batch" else "put"
        setattr(owner, name, dying_after(int(which), getattr(owner, name)))


def dying_at_step(reporting: Callable[[JobContext], Callable[[float, str], None]], which: str, job: JobContext) -> Any:
    report = reporting(job)

    def told(done: float, step: str) -> None:
        if step == which:
            die()
        report(done, step)

    return told


def dying_afterwards(act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def act_and_die(*arguments: Any, **options: Any) -> None:
        await act(*arguments, **options)
        die()

    return act_and_die


def dying_after(left: int, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def act_or_die(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        if left == 0:
            die()
        left -= 1
        return await act(*arguments, **options)

    return act_or_die


async def main(folder: str, *moment: str) -> None:
    async with AsyncStore.connect(f"embedded:{folder}") as store:
        arm(*moment)
        await Worker(
            AsyncQueue(store, delphi_jobs(store, ThreadedObjects(DirectoryObjects(f"{folder}/objects"))), QueueSettings(lease_seconds=1.0))
        ).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
