"""A job that does not let itself be cancelled, for tests of workers that stop."""

import asyncio
import contextlib
import threading
from typing import Any

from gateleg.host import Application
from gateleg.jobs import JobContext, Jobs

jobs = Jobs()


@jobs.handler("stubborn")
async def stubborn(job: JobContext, config: dict[str, Any]) -> None:
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


@jobs.handler("blocks")
async def blocks(job: JobContext, config: dict[str, Any]) -> None:
    threading.Event().wait()


application = Application("stubborn", "Stubborn", "block", jobs=jobs)
