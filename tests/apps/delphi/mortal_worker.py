"""A worker that kills itself in the middle of a run: `python -m tests.apps.delphi.mortal_worker <folder> <moment>`.

The moment is how many batches of results it writes before it dies, or `end`: after all of them, before the job is told.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from gateleg.apps.delphi import service, work
from gateleg.apps.delphi.work import delphi_jobs
from gateleg.jobs import AsyncQueue, Settings, Worker
from gateleg.objects import DirectoryObjects, Offloaded
from gateleg.store import AsyncStore


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(moment: str) -> None:
    """Make the handler die at the moment."""
    if moment == "end":
        run_votes = service.run_votes

        async def run_and_die(*arguments: Any) -> Any:
            await run_votes(*arguments)
            die()

        vars(work)["run_votes"] = run_and_die
        return
    left = int(moment)
    write = AsyncStore.batch_write

    async def write_or_die(store: AsyncStore, *arguments: Any, **options: Any) -> Any:
        nonlocal left
        if left == 0:
            die()
        left -= 1
        return await write(store, *arguments, **options)

    service._ROWS_AT_ONCE = 20
    setattr(AsyncStore, "batch_write", write_or_die)  # noqa: B010 - types forbid the plain assignment


async def main(folder: str, moment: str) -> None:
    async with AsyncStore.connect(f"embedded:{folder}") as store:
        arm(moment)
        await Worker(
            AsyncQueue(store, delphi_jobs(store, Offloaded(DirectoryObjects(f"{folder}/objects"))), Settings(lease_seconds=1.0))
        ).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
