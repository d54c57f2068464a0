"""A worker that is killed in the middle of an answer: another one gives it, once."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from gateleg.apps.agents.running.frames import assemble
from gateleg.apps.agents.thread_tables import RunStatus, ToolCallStatus
from tests.apps.agents.running.hosted import hosting
from tests.apps.agents.running.mortal_worker import LEASE

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("when", ["words", "tool"])
async def test_a_run_is_answered_once_after_its_worker_was_killed(tmp_path: Path, when: str) -> None:
    async with hosting(tmp_path, work=False, store=f"embedded:{tmp_path}/store?durability=relaxed") as hosted:
        agent = await hosted.agent("Hello there.", configuration={"tools": ["desk.*"], "dies": when})
        asked = await hosted.ask(agent)
        command = [sys.executable, "-m", "tests.apps.agents.running.mortal_worker", str(tmp_path), asked.thread_uuid, asked.run_uuid, when]
        killed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=120)
        assert killed.returncode == -9, killed.stderr
        assert (await hosted.run_of(asked)).status is RunStatus.RUNNING

        async with hosted.working(lease=LEASE):
            run = await hosted.ended(asked)
        assert (run.status, run.attempts) == (RunStatus.COMPLETED, 2)
        transcript = await hosted.transcript(asked)
        said = [message.message for message in transcript.messages if message.role == "assistant"]
        frames = await hosted.frames(asked)
        assert [frame.index for frame in frames] == list(range(len(frames)))
        assert [frame.kind for frame in frames].count("restart") == 1
        assert assemble(frames) == "Hello there."
        assert sum(frame.ends for frame in frames) == 1
        if when == "words":
            assert said == ["Hello there."]
            return
        assert said == ["", "Hello there."]
        # Whether the tool took effect is unknown, so it was not called again, and the model was told.
        (call,) = transcript.calls
        assert (call.status, hosted.desk.calls) == (ToolCallStatus.FAILED, [])
        assert "unknown" in (call.content or "")
