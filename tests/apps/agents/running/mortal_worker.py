"""A worker that kills itself in the middle of an answer: `python -m tests.apps.agents.running.mortal_worker FOLDER THREAD RUN WHEN`.

It dies by SIGKILL when the first words of the answer are stored (`words`), or while a tool is running (`tool`).
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from uuid import UUID

from gateleg.ai import Delta, Reply, ToolCall
from gateleg.apps.agents.running import AgentHandler
from gateleg.apps.agents.running.handlers import registry
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import Run, ToolCallStatus
from tests.apps.agents.running.hosted import ANN, Hosted, hosting

LEASE = 2.0


class UnfinishedHandler(AgentHandler):
    """Begins to answer, or calls a tool, and never ends."""

    async def stream(self, messages: Any, **options: Any) -> AsyncGenerator[Delta, None]:
        if self.configuration["dies"] == "tool":
            yield Delta(reply=Reply(calls=(ToolCall("c1", "desk_wait", '{"a":1,"b":1}'),), finish="tools"))
            return
        yield Delta(text="Hel")
        await asyncio.Event().wait()


async def die(hosted: Hosted, thread_uuid: str, run_uuid: str, when: str) -> None:
    place: dict[str, Any] = {"partition": hosted.context(ANN).partition, "thread_uuid": thread_uuid, "run_uuid": run_uuid}
    while True:
        run = await hosted.resources.store.get(Run, **place, consistent=True)
        calls = (await read_run(hosted.resources.store, run.partition, thread_uuid, run_uuid)).calls
        emitted = (await hosted.resources.queue.look_on(UUID(run.job_id or ""))).events
        begun = any(one.get("delta") for one in emitted) if when == "words" else False
        if begun or any(call.status is ToolCallStatus.IN_PROGRESS for call in calls):
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0.02)


async def main(folder: Path, thread_uuid: str, run_uuid: str, when: str) -> None:
    point = EntryPoint("scripted", f"{__name__}:UnfinishedHandler", registry.GROUP)
    registry._registered = lambda: {"scripted": point}  # type: ignore[assignment]
    async with hosting(folder, work=False, store=f"embedded:{folder}/store?durability=relaxed") as hosted, hosted.working(lease=LEASE):
        await die(hosted, thread_uuid, run_uuid, when)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:5]))
