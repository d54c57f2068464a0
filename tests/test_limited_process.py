import asyncio
import os
from pathlib import Path

import pytest

from gateleg.errors import GatelegError
from gateleg.limited_process import LimitReached, ProcessLimits, run_limited
from tests.limited_functions import Refused

LIMITS = ProcessLimits(seconds=20, memory=1_000_000_000)


def address(name: str) -> str:
    return f"tests.limited_functions:{name}"


async def test_the_answer_comes_back() -> None:
    assert await run_limited(address("double"), 21, LIMITS) == 42


async def test_a_refusal_is_raised_as_it_was_there() -> None:
    with pytest.raises(Refused) as refused:
        await run_limited(address("refuse"), {"line": 3}, LIMITS, refusals=[Refused])
    assert str(refused.value) == "No. It is broken. Send another. [refused]"
    assert (refused.value.message, refused.value.why, refused.value.details) == ("No.", "It is broken.", {"line": 3})
    with pytest.raises(GatelegError, match="It is broken"):
        await run_limited(address("refuse"), {}, LIMITS)


async def test_other_errors_are_faults_of_the_program() -> None:
    with pytest.raises(RuntimeError, match=r"KeyError: 'x'(?s:.)*Traceback"):
        await run_limited(address("fail"), None, LIMITS)


async def test_time_ends_it(tmp_path: Path) -> None:
    with pytest.raises(LimitReached, match=r"0\.5 seconds") as reached:
        await run_limited(address("spin"), str(tmp_path / "pid"), ProcessLimits(seconds=0.5, memory=1_000_000_000))
    assert reached.value.limit == "seconds"


@pytest.mark.parametrize(("function", "limit"), [("fill", "memory"), ("crash", "crash")])
async def test_memory_and_crashes_end_it(function: str, limit: str) -> None:
    with pytest.raises(LimitReached) as reached:
        await run_limited(address(function), None, LIMITS)
    assert reached.value.limit == limit


async def test_output_ends_it(tmp_path: Path) -> None:
    limits = ProcessLimits(seconds=20, memory=1_000_000_000, output=5_000_000)
    with pytest.raises(LimitReached) as files:
        await run_limited(address("write"), str(tmp_path / "large"), limits)
    with pytest.raises(LimitReached) as answer:
        await run_limited(address("talk"), 6_000_000, limits)
    assert (files.value.limit, answer.value.limit) == ("output", "output")
    assert (tmp_path / "large").stat().st_size <= 5_000_000
    assert len(await run_limited(address("talk"), 4_000_000, limits)) == 4_000_000


async def test_a_task_that_is_cancelled_kills_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    running = asyncio.ensure_future(run_limited(address("spin"), str(pid), LIMITS))
    while not (pid.exists() and pid.read_text()):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
