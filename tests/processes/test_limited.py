import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gateleg.errors import GatelegError
from gateleg.processes import Child, LimitReached, ProcessLimits, children, limited, run_limited
from gateleg.processes.children import close_fork_servers, fork_server
from tests.jobs.worker.test_worker import is_alive
from tests.processes.functions import Refused

LIMITS = ProcessLimits(seconds=20, memory=1_000_000_000)


def address(name: str) -> str:
    return f"tests.processes.functions:{name}"


@pytest.fixture(params=[False, True], ids=["started", "forked"])
def preloaded(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_the_answer_comes_back(preloaded: bool) -> None:
    assert await run_limited(address("double"), 21, LIMITS, preloaded=preloaded) == 42


async def test_a_refusal_is_raised_as_it_was_there(preloaded: bool) -> None:
    with pytest.raises(Refused) as refused:
        await run_limited(address("refuse"), {"line": 3}, LIMITS, refusals=[Refused], preloaded=preloaded)
    assert str(refused.value) == "No. It is broken. Send another. [refused]"
    assert (refused.value.message, refused.value.why, refused.value.details) == ("No.", "It is broken.", {"line": 3})
    with pytest.raises(GatelegError, match="It is broken"):
        await run_limited(address("refuse"), {}, LIMITS, preloaded=preloaded)


async def test_other_errors_are_faults_of_the_program(preloaded: bool) -> None:
    with pytest.raises(RuntimeError, match=r"KeyError: 'x'(?s:.)*Traceback"):
        await run_limited(address("fail"), None, LIMITS, preloaded=preloaded)


async def test_time_ends_it(tmp_path: Path, preloaded: bool) -> None:
    with pytest.raises(LimitReached, match=r"0\.5 seconds") as reached:
        await run_limited(address("spin"), str(tmp_path / "pid"), ProcessLimits(seconds=0.5, memory=1_000_000_000), preloaded=preloaded)
    assert reached.value.limit == "seconds"


@pytest.mark.parametrize(("function", "limit"), [("fill", "memory"), ("crash", "crash")])
async def test_memory_and_crashes_end_it(function: str, limit: str, preloaded: bool) -> None:
    with pytest.raises(LimitReached) as reached:
        await run_limited(address(function), None, LIMITS, preloaded=preloaded)
    assert reached.value.limit == limit


async def test_output_ends_it(tmp_path: Path, preloaded: bool) -> None:
    limits = ProcessLimits(seconds=20, memory=1_000_000_000, output=5_000_000)
    with pytest.raises(LimitReached) as files:
        await run_limited(address("write"), str(tmp_path / "large"), limits, preloaded=preloaded)
    with pytest.raises(LimitReached) as answer:
        await run_limited(address("talk"), 6_000_000, limits, preloaded=preloaded)
    assert (files.value.limit, answer.value.limit) == ("output", "output")
    assert (tmp_path / "large").stat().st_size <= 5_000_000
    assert len(await run_limited(address("talk"), 4_000_000, limits, preloaded=preloaded)) == 4_000_000


async def test_a_task_that_is_cancelled_kills_it(tmp_path: Path, preloaded: bool) -> None:
    pid = tmp_path / "pid"
    task = asyncio.ensure_future(run_limited(address("spin"), str(pid), LIMITS, preloaded=preloaded))
    while not (pid.exists() and pid.read_text()):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_a_task_that_is_cancelled_while_its_process_is_opened_ends_it_too(preloaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Child] = []
    begun, cancelled = threading.Event(), threading.Event()
    connect = children._connected

    def connect_late() -> Any:
        begun.set()
        assert cancelled.wait(20)
        return connect()

    class Recorded(Child):
        def __init__(self, *ends: Any) -> None:
            super().__init__(*ends)
            opened.append(self)

    monkeypatch.setattr(children, "_connected", connect_late)
    monkeypatch.setattr(limited, "Child", Recorded)
    task = asyncio.ensure_future(run_limited(address("double"), 1, LIMITS, preloaded=preloaded))
    assert await asyncio.to_thread(begun.wait, 20)
    task.cancel()
    await asyncio.sleep(0)
    cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(child.alive, child.status) for child in opened] == [(False, -signal.SIGKILL)]


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux")
async def test_what_a_function_has_left_behind_ends_with_it(preloaded: bool) -> None:
    pid = await run_limited(address("leave_a_process"), None, LIMITS, preloaded=preloaded)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
async def test_it_ends_when_its_parent_is_killed(tmp_path: Path, preloaded: bool) -> None:
    file = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-m", "tests.processes.functions", str(file), *(["preloaded"] if preloaded else [])]) as parent:
        while not (file.exists() and file.read_text()):
            await asyncio.sleep(0.01)
        parent.kill()
    async with asyncio.timeout(30):
        while is_alive(int(file.read_text())):
            await asyncio.sleep(0.01)


async def test_a_server_that_has_ended_is_started_again() -> None:
    assert await run_limited(address("double"), 1, LIMITS, preloaded=True) == 2
    close_fork_servers()
    assert await run_limited(address("double"), 2, LIMITS, preloaded=True) == 4
    server = fork_server("gateleg.processes.limited:call", (address("double").partition(":")[0],))
    os.kill(server.pid, signal.SIGKILL)
    assert await run_limited(address("double"), 3, LIMITS, preloaded=True) == 6


async def test_forked_processes_know_nothing_of_each_other() -> None:
    assert await asyncio.gather(*(run_limited(address("count_calls"), None, LIMITS, preloaded=True) for _ in range(4))) == [1] * 4
