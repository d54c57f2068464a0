"""Writers that are killed at a random moment: all acknowledged objects exist, and no incomplete ones."""

import hashlib
import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateleg.objects import DirectoryObjects

pytestmark = pytest.mark.crash

_ROUNDS = 25
#: Puts numbered versions of a few objects, some of many chunks, and says so after each.
_WRITER = """
import sys
from gateleg.objects import DirectoryObjects
from tests.objects.directory.test_crash import content
objects = DirectoryObjects(sys.argv[1])
writer, version = sys.argv[2], int(sys.argv[3])
while True:
    version += 1
    key = f"{writer}/a/{version % 4}"
    objects.put(key, content(writer, version), metadata={"version": str(version)})
    print(key, version, flush=True)
    objects.put(f"{writer}/gone/{version}", b"x")
    objects.delete(f"{writer}/gone/{version}")
"""


def content(writer: str, version: int) -> bytes:
    seed = hashlib.sha256(f"{writer}-{version}".encode()).digest()
    return seed * (1 if version % 3 else 60_000)


def test_killed_writers_leave_whole_objects_and_lose_none_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(20260102)
    acknowledged: dict[str, int] = {}
    for _ in range(_ROUNDS):
        last = max(acknowledged.values(), default=0)
        writers = [_start(tmp_path, name, last) for name in ("one", "two")]
        lines = _killed(writers, chance.randrange(1, 12))
        acknowledged |= {key: int(version) for key, version in (line.split() for line in lines if line.endswith("\n"))}
        _check(tmp_path, acknowledged)
    assert len(acknowledged) > 4


def _start(root: Path, name: str, version: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _WRITER, str(root), name, str(version)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _killed(writers: "list[subprocess.Popen[str]]", patience: int) -> list[str]:
    """The output of the writers until they were killed, after some lines of the first one."""
    lines = []
    for number, process in enumerate(writers):
        with process:
            assert process.stdout is not None
            lines += [process.stdout.readline() for _ in range(patience if number == 0 else 0)]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
    return lines


def _check(root: Path, acknowledged: dict[str, int]) -> None:
    later = datetime.now(UTC).timestamp() + timedelta(days=2).total_seconds()
    with DirectoryObjects(root, clock=lambda: later) as objects:
        assert list((root / "incoming").iterdir()) == []
        assert list(objects.check()) == []
        for key, version in acknowledged.items():
            stored = int(objects.head(key).metadata["version"])
            assert stored >= version
            assert objects.get(key) == content(key.partition("/")[0], stored)
