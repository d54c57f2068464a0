"""A worker that kills itself in the middle of an answer: `python -m tests.apps.agents.running.mortal_worker FOLDER THREAD RUN WHEN [URL]`.

It dies by SIGKILL in one of the phases of a run: before the run is begun (`queued`), when the first words of the answer are stored
(`words`, or `call` with the URL of the model's server), while a tool is running (`tool`), when the run begins to wait for approval
(`approval`), when the answer is stored and the end of the job is not (`answered`), and while the thread is summarised (`summary`).
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

from gateleg.ai import Delta, Reply, System, ToolCall
from gateleg.apps.agents.running import AgentHandler, answer_job
from gateleg.apps.agents.running.handlers import registry
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import Run, ToolCallStatus
from tests.apps.agents.running.hosted import ANN, Hosted, hosting
from tests.apps.agents.running.test_providers import house

LEASE = 2.0
#: What the model calls, by when its worker dies.
CALLED = {"tool": "desk_wait", "approval": "desk_add"}


def die(*_: Any) -> Any:
    """End as a process does that is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


class MortalHandler(AgentHandler):
    """Answers, calls a tool, or never ends, by when its worker is to die."""

    async def stream(self, messages: Any, **options: Any) -> AsyncGenerator[Delta, None]:
        when = self.configuration["dies"]
        if when == "summary" and any(isinstance(one, System) and "Summarise" in one.text for one in messages):
            die()
        if when in CALLED:
            yield Delta(reply=Reply(calls=(ToolCall("c1", CALLED[when], '{"a":1,"b":1}'),), finish="tools"))
        elif when == "words":
            yield Delta(text="Hel")
            await asyncio.Event().wait()
        else:
            yield Delta(text="Hello.", reply=Reply("Hello."))


async def die_in_the_middle(hosted: Hosted, thread_uuid: str, run_uuid: str) -> None:
    """Die when words are stored, or a tool runs."""
    place: dict[str, Any] = {"partition": hosted.context(ANN).partition, "thread_uuid": thread_uuid, "run_uuid": run_uuid}
    while True:
        run = await hosted.resources.store.get(Run, **place, consistent=True)
        calls = (await read_run(hosted.resources.store, run.partition, thread_uuid, run_uuid)).calls
        emitted = (await hosted.resources.queue.read_update(UUID(run.job_id or ""))).events
        if any(one.get("delta") for one in emitted) or any(call.status is ToolCallStatus.IN_PROGRESS for call in calls):
            die()
        await asyncio.sleep(0.02)


async def main(folder: Path, thread_uuid: str, run_uuid: str, when: str, url: str = "") -> None:
    if when != "call":
        point = EntryPoint("scripted", f"{__name__}:MortalHandler", registry.ENTRY_POINT_GROUP)
        registry._registered = lambda: {"scripted": point}  # type: ignore[assignment]
    if when == "queued":
        answer_job._start = die  # type: ignore[assignment]
    if when in ("approval", "answered"):
        answer_job._emit_end = die  # type: ignore[assignment]
    place, models = f"embedded:{folder}/store?durability=relaxed", house(url) if url else {}
    async with hosting(folder, work=False, store=place, models=models) as hosted, hosted.working(lease=LEASE):
        if when in ("words", "tool", "call"):
            await die_in_the_middle(hosted, thread_uuid, run_uuid)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:6]))
