"""An application that holds the event loop, for tests of the watchdog."""

import asyncio
import re
import threading
from typing import Any

from fastapi import APIRouter

from gateleg.host import Application
from gateleg.jobs import JobContext, Jobs

jobs = Jobs()


def hold(how: str) -> None:
    """Hold the thread for ever: in Python, in the system, or in an expression, which lets no other thread run."""
    if how == "wait":
        threading.Event().wait()
    elif how == "match":
        re.fullmatch("(a+)+", "a" * 60 + "!")
    while how == "loop":
        pass


@jobs.handler("hold")
async def hold_worker(job: JobContext, config: dict[str, Any]) -> None:
    hold(config["how"])


def routes(resources: Any) -> APIRouter:
    router = APIRouter()

    @router.get("/hold/{how}")
    async def hold_host(how: str) -> None:
        hold(how)

    @router.get("/slow")
    async def slow() -> None:
        await asyncio.Event().wait()

    return router


application = Application("deaf", "Deaf", "ear", jobs=jobs, routes=routes)
