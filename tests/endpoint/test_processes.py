"""Several processes on one port."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateleg.endpoint import EndpointOptions, serve_from_processes
from gateleg.engine.errors import EngineError
from tests.engine.crash.caller import Caller
from tests.engine.crash.test_kill import children
from tests.engine.operations.requests import table

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_REUSEPORT") or sys.platform != "linux", reason="needs ports that can be shared")

Process = subprocess.Popen[bytes]


@contextmanager
def serving(path: Path, *more: str) -> Iterator[tuple[Process, str]]:
    """An endpoint of two processes, and its URL."""
    command = [sys.executable, "-m", "gateleg", "engine", "serve", "--path", str(path), "--port", "0", "--processes", "2", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().split()[-1].decode()
    finally:
        process.terminate()
        process.communicate()


def waited(done: Callable[[], bool]) -> bool:
    """Whether a condition becomes true within a minute."""
    deadline = time.monotonic() + 60
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def call(url: str, operation: str, **request: Any) -> dict[str, Any]:
    """Send a request on a new connection, which the system assigns to either process."""
    caller = Caller(url)
    try:
        return caller.call(operation, request)
    finally:
        caller.close()


def gone(number: int) -> bool:
    """Whether a process has ended (or is a zombie)."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_each_process_sees_the_writes_of_the_others(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url):
        assert len(children(process.pid)) == 2
        for attempt, key in enumerate(("a", "b", "c")):
            call(url, "CreateTable", **table(key))
            for _ in range(6):
                item = {key: {"S": str(attempt)}}
                call(url, "PutItem", TableName="Music", Item=item)
                assert call(url, "GetItem", TableName="Music", Key=item) == {"Item": item}
            call(url, "DeleteTable", TableName="Music")
            for _ in range(6):
                with pytest.raises(EngineError) as caught:
                    call(url, "Scan", TableName="Music")
                assert caught.value.code == "ResourceNotFoundException"


def test_a_process_that_has_died_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url):
        call(url, "CreateTable", **table("a"))
        first, second = children(process.pid)
        os.kill(first, signal.SIGKILL)
        assert waited(lambda: second in (now := children(process.pid)) and first not in now and len(now) == 2)
        for number in range(6):
            call(url, "PutItem", TableName="Music", Item={"a": {"S": str(number)}})
        assert call(url, "Scan", TableName="Music")["Count"] == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_of_them(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (process, _):
        family = children(process.pid)
        process.send_signal(number)
        assert process.wait(60) == 0
        assert all(gone(child) for child in family)


def test_they_end_when_the_first_one_is_killed(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, _):
        family = children(process.pid)
        process.kill()
        process.wait()
        assert waited(lambda: all(gone(child) for child in family))


def test_a_port_that_is_taken_is_not_shared(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, url):
        port = int(url.rpartition(":")[2])

        def open_engine() -> Any:
            raise AssertionError("nothing is opened")

        with pytest.raises(OSError, match="in use"):
            serve_from_processes(open_engine, EndpointOptions(port=port), 2, print)


def test_memory_is_not_shared() -> None:
    command = [sys.executable, "-m", "gateleg", "engine", "serve", "--path", ":memory:", "--processes", "2"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"--processes needs a database file" in done.stderr
