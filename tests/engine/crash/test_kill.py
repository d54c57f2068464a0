"""Processes are killed at random moments under load: what they were told is written is there, and the file is whole."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gateleg.engine import Engine, check_integrity
from tests.engine.crash import ledger, settings
from tests.engine.crash.ledger import History
from tests.engine.crash.writer import read_journal

pytestmark = pytest.mark.crash

_ROOT = Path(__file__).parents[3]
_PATIENCE = 120.0

Process = subprocess.Popen[bytes]


@contextmanager
def started(*arguments: str) -> Iterator[Process]:
    """A process of Python, killed at the end at the latest."""
    process = subprocess.Popen([sys.executable, *arguments], cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def children(number: int) -> list[int]:
    """The processes that a process has started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(number)], capture_output=True, check=False).stdout
    return [int(child) for child in listed.split()]


def _wait(reached: Callable[[], bool], processes: list[Process]) -> None:
    """Until the writers have come so far; at once if one of them fails by itself."""
    deadline = time.monotonic() + _PATIENCE
    while not reached():
        for process in processes:
            if process.poll() not in (None, 0, -signal.SIGKILL):
                _, errors = process.communicate()
                raise AssertionError(errors.decode())
        if time.monotonic() > deadline:
            raise AssertionError("the writers do not get on")
        time.sleep(0.002)


def _histories(folder: Path) -> list[History]:
    return [read_journal(path) for path in sorted(folder.glob("*.journal"))]


def _progress(folder: Path, names: list[str]) -> int:
    """Lines in the journals of writers: about twice the steps that they took. Zero until all of them write."""
    sizes = [path.read_bytes().count(b"\n") for name in names if (path := folder / f"{name}.journal").exists()]
    return sum(sizes) if len(sizes) == len(names) else 0


def _round(path: Path, journals: Path, number: int, chance: random.Random) -> None:
    """Let two processes with engines of their own, one of which shares commits, and four clients of an endpoint write; kill some, go on,
    kill the others."""
    arguments = (str(journals), str(settings.SEED))
    engines = [f"r{number}-engine{n}" for n in range(4)]
    clients = [f"r{number}-client{n}" for n in range(4)]
    with (
        started("-m", "gateleg", "engine", "serve", "--path", str(path), "--port", "0", "--processes", "2") as endpoint,
        started("-m", "tests.engine.crash.writer", str(path), *arguments, *engines[:1]) as first,
        started("-m", "tests.engine.crash.writer", f"queue:{path}", *arguments, *engines[1:]) as second,
    ):
        assert endpoint.stdout is not None
        url = endpoint.stdout.readline().split()[-1].decode()
        with started("-m", "tests.engine.crash.writer", url, *arguments, *clients) as client:
            processes = [endpoint, first, second, client]
            target = chance.randint(60, 600)
            _wait(lambda: _progress(journals, engines + clients) >= target, processes)
            victim = chance.choice([endpoint, first, second])
            if victim is endpoint and chance.random() < 0.5:
                os.kill(chance.choice(children(endpoint.pid)), signal.SIGKILL)  # another one takes its place
            else:
                for number in (*children(victim.pid), victim.pid):
                    os.kill(number, signal.SIGKILL)
                victim.wait()
            others = [*engines] if victim is endpoint else clients
            reached = _progress(journals, others) + chance.randint(10, 100)
            _wait(lambda: _progress(journals, others) >= reached, processes)
            for process in chance.sample(processes, len(processes)):
                for number in (*children(process.pid), process.pid):
                    with suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(settings.SEED)
    path, journals = tmp_path / "data.db", tmp_path / "journals"
    journals.mkdir()
    with Engine(str(path), background=False) as engine:
        ledger.create(engine.call)
    for number in range(settings.ROUNDS):
        _round(path, journals, number, chance)
        histories = _histories(journals)
        assert check_integrity(str(path)) == [], f"seed {settings.SEED}, round {number}"
        with Engine(str(path), background=False) as engine:
            assert ledger.faults(engine.call, histories) == [], f"seed {settings.SEED}, round {number}"
        done = sum(len(history.done) for history in histories)
        lost = sum(history.last is not None for history in histories)
        with capsys.disabled():
            print(f"\n  kill: round {number}, {len(histories)} writers, {done} acknowledged, {lost} under way when killed", end="")
