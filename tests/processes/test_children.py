"""Child processes exchange lines with their parent, and end with all that they have started."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateleg.processes import Child, ChildPool, children
from tests.jobs.worker.test_worker import is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

MAX_LINE = 1_000
ECHO = "tests.processes.functions:echo"


@asynccontextmanager
async def running(function: str) -> AsyncIterator[Child]:
    child = await Child.start(function, max_line=MAX_LINE)
    assert child.printed is not None
    with child.printed:
        async with child:
            yield child


async def all_ended(*pids: int) -> None:
    async with asyncio.timeout(30):
        while any(is_alive(pid) for pid in pids):
            await asyncio.sleep(0.01)


async def test_lines_go_in_both_directions_until_the_function_returns() -> None:
    async with running(ECHO) as child:
        for line in (b"one", b"two"):
            child.send(line)
            assert await child.receive() == line + b"\n"
        child.send(b"end")
        assert await child.receive() == b""
        assert await child.wait() == 0
        child.send(b"nobody reads this")
        assert child.printed is not None
        assert child.printed.read() == b"echoed 2 lines\n"


async def test_a_line_that_is_too_long_is_refused() -> None:
    async with running(ECHO) as child:
        child.send(b"x" * 10_000)
        with pytest.raises(ValueError, match="limit"):
            await child.receive()


async def test_a_function_that_fails_prints_why() -> None:
    async with running("tests.processes.functions:missing") as child:
        assert await child.wait() == 1
        assert child.printed is not None
        assert b"AttributeError" in child.printed.read()


async def test_the_end_of_the_block_kills_all_processes_and_removes_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "file").touch()
    async with running("tests.processes.functions:start_and_wait") as child:
        child.remove_at_end(folder)
        pids = [int(pid) for pid in (await child.receive()).split()]
        assert all(is_alive(pid) for pid in pids)
    assert not any(is_alive(pid) for pid in pids)
    assert (child.status, folder.exists()) == (-signal.SIGKILL, False)


async def test_a_child_ends_with_its_supervisor() -> None:
    async with running("tests.processes.functions:start_and_wait") as child:
        worker, started = (int(pid) for pid in (await child.receive()).split())
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        await all_ended(worker)
        os.kill(started, signal.SIGKILL)


async def test_a_supervisor_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_KILL_TIMEOUT_SECONDS", 0.1)
    async with running(ECHO) as child:
        child.send(b"one")
        await child.receive()
        assert child.pid is not None
        os.kill(child.pid, signal.SIGSTOP)
    assert not child.alive


async def test_a_spare_process_that_has_died_is_replaced() -> None:
    pool = ChildPool(ECHO, max_line=MAX_LINE)
    first = await pool.take()
    spare = pool._spare
    assert spare is not None
    waiting = await spare
    waiting.kill()
    await waiting.wait()
    second = await pool.take()
    second.send(b"one")
    assert await second.receive() == b"one\n"
    await pool.close()
    assert not any(child.alive for child in (first, waiting, second))
    for child in (first, second):
        assert child.printed is not None
        child.printed.close()
