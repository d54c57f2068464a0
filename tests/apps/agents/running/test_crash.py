"""A worker that is killed in any phase of a run: another one goes on, and nothing is answered or done twice."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.agents.running.approvals import Decision, decide_calls
from gateleg.apps.agents.running.frames import Frame, reply_text
from gateleg.apps.agents.running.submission import SubmittedRun
from gateleg.apps.agents.tables import Agent, Thread
from gateleg.apps.agents.thread_tables import RunStatus, ToolCallStatus
from gateleg.jobs import follow_async
from tests.apps.agents.running.hosted import Hosted, hosting
from tests.apps.agents.running.mortal_worker import LEASE
from tests.apps.agents.running.test_long_threads import long_thread

pytestmark = pytest.mark.crash


@asynccontextmanager
async def killed(
    folder: Path, when: str, *lines: Any, thread: int = 0, **configuration: Any
) -> AsyncIterator[tuple[Hosted, Agent, SubmittedRun]]:
    """A host whose worker was killed in a phase of a run. The next worker's model says these lines."""
    async with hosting(folder, work=False, store=f"embedded:{folder}/store?durability=relaxed") as hosted:
        given = {"tools": ["desk.*"], "dies": when, **configuration}
        agent = await hosted.agent(*lines, configuration=given, num_of_messages=2 if thread else 10)
        place: dict[str, Any] = {"thread_uuid": (await long_thread(hosted, agent, thread)).thread_uuid} if thread else {}
        asked = await hosted.ask(agent, **place)
        command = [sys.executable, "-m", "tests.apps.agents.running.mortal_worker", str(folder), asked.thread_uuid, asked.run_uuid, when]
        ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=120)
        assert ended.returncode == -9, ended.stderr
        yield hosted, agent, asked


async def followed(hosted: Hosted, asked: SubmittedRun) -> tuple[list[Frame], list[str]]:
    """The frames of a run, which has ended, and what the model has said in it."""
    frames = await hosted.frames(asked)
    assert [frame.index for frame in frames] == list(range(len(frames)))
    assert sum(frame.ends for frame in frames) == 1
    transcript = await hosted.transcript(asked)
    return frames, [message.message for message in transcript.messages if message.role == "assistant"]


@pytest.mark.parametrize(("when", "attempts"), [("queued", 1), ("words", 2), ("tool", 2)])
async def test_a_run_is_answered_once_after_its_worker_was_killed(tmp_path: Path, when: str, attempts: int) -> None:
    async with killed(tmp_path, when, "Hello there.") as (hosted, _, asked):
        assert (await hosted.run_of(asked)).status is (RunStatus.QUEUED if when == "queued" else RunStatus.RUNNING)
        async with hosted.working(lease=LEASE):
            run = await hosted.ended(asked)
        assert (run.status, run.attempts) == (RunStatus.COMPLETED, attempts)
        frames, said = await followed(hosted, asked)
        assert [frame.kind for frame in frames].count("restart") == attempts - 1
        assert (reply_text(frames), said[-1], len(said)) == ("Hello there.", "Hello there.", 2 if when == "tool" else 1)
        if when == "tool":
            # Whether the tool took effect is unknown, so it was not called again, and the model was told.
            (call,) = (await hosted.transcript(asked)).calls
            assert (call.status, hosted.desk.calls) == (ToolCallStatus.FAILED, [])
            assert "unknown" in (call.content or "")


async def test_a_run_that_waits_for_approval_goes_on_after_its_worker_was_killed(tmp_path: Path) -> None:
    async with killed(tmp_path, "approval", "It is two.", require_approval="always") as (hosted, _, asked):
        run = await hosted.run_of(asked)
        assert (run.status, run.required_action is not None) == (RunStatus.REQUIRES_ACTION, True)
        (call,) = (await hosted.transcript(asked)).calls
        decision = Decision(tool_call_uuid=call.tool_call_uuid, approve=True)
        await decide_calls(hosted.resources, hosted.context(), asked.thread_uuid, asked.run_uuid, [decision])
        async with hosted.working(lease=LEASE):
            run = await hosted.ended(asked)
        assert (run.status, len(hosted.desk.calls)) == (RunStatus.COMPLETED, 1)
        frames, said = await followed(hosted, asked)
        assert (reply_text(frames), said) == ("It is two.", ["", "It is two."])


async def test_an_answer_that_is_stored_is_not_given_again(tmp_path: Path) -> None:
    async with killed(tmp_path, "answered") as (hosted, agent, asked):
        assert (await hosted.run_of(asked)).status is RunStatus.COMPLETED
        async with hosted.working(lease=LEASE):
            run = await hosted.ended(asked)
        frames, said = await followed(hosted, asked)
        assert (run.attempts, said, hosted.script(agent).requests) == (1, ["Hello."], [])
        assert frames[-1].status == "completed"


async def test_a_thread_is_summarised_once_after_its_worker_was_killed(tmp_path: Path) -> None:
    async with killed(tmp_path, "summary", "They count.", thread=12) as (hosted, agent, asked):
        place: dict[str, Any] = {"partition": hosted.context().partition, "thread_uuid": asked.thread_uuid}
        assert (await hosted.run_of(asked)).status is RunStatus.COMPLETED
        assert (await hosted.resources.store.get(Thread, **place)).summary is None
        question = hosted.resources.queue.tables.job.of_subject(subject=asked.thread_uuid)
        (job,) = [one async for one in hosted.resources.store.query(question) if one.job_type == "agents.summarise"]
        async with hosted.working(lease=LEASE), asyncio.timeout(60):
            async for _ in follow_async(hosted.resources.queue, job.job_id):
                pass
        thread = await hosted.resources.store.get(Thread, **place)
        assert (thread.summary, len(hosted.script(agent).requests)) == ("They count.", 1)
        assert "user: m0\nassistant: m1" in hosted.script(agent).requests[0].turns[0].text
