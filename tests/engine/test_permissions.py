import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.engine import Engine
from gateleg.engine.transfers import BucketFolder
from tests.engine.world import World, text

OPEN_AND_WAIT = """
import os, sys
os.umask(0)
from gateleg.engine import Engine
engine = Engine(sys.argv[1], background=False)
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path | str) -> int:
    return Path(path).stat().st_mode & 0o777


def test_what_a_new_engine_makes_is_the_owners_alone(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "a" / "b" / "data.db"
    world = World(path)
    world.create("a")
    world.put(text(a="x"))
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    assert {file.name: mode(file) for file in path.parent.iterdir()} == {"data.db": 0o600, "data.db-wal": 0o600, "data.db-shm": 0o600}
    world.engine.close()


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Engine(str(tmp_path / "data.db"), background=False).close()
    assert mode(tmp_path) == 0o755
    assert [file.name for file in tmp_path.iterdir()] == ["data.db"]


def test_a_database_that_others_can_open_is_named_and_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "data.db"
    with subprocess.Popen([sys.executable, "-c", OPEN_AND_WAIT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        files = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]
        for file in files:
            file.chmod(0o640)
        engine = Engine(str(path), background=False)
        assert [mode(file) for file in files] == [0o640] * 3
        assert [record.message.rpartition(": ")[2] for record in caplog.records] == [f"chmod 600 {file}" for file in files[:2]]
        engine.close()
        other.stdin.close()


def test_several_processes_that_make_one_file_end_with_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "data.db"
    others = [
        subprocess.Popen([sys.executable, "-c", OPEN_AND_WAIT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)
    ]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
    assert {file.name: mode(file) for file in path.parent.iterdir()} == {"data.db": 0o600, "data.db-wal": 0o600, "data.db-shm": 0o600}
    for other in others:
        other.communicate()
        assert other.returncode == 0


def test_exports_are_the_owners_alone(tmp_path: Path, umask: int) -> None:
    exports = tmp_path / "exports"
    bucket = BucketFolder(exports, "bucket")
    for content in (b"first", b"second"):
        bucket.write("a/b.json", content)
    assert (exports / "bucket" / "a" / "b.json").read_bytes() == b"second"
    assert [mode(exports / folder) for folder in ("", "bucket", "bucket/a")] == [0o700] * 3
    assert mode(exports / "bucket" / "a" / "b.json") == 0o600
    assert [file.name for file in (exports / "bucket" / "a").iterdir()] == ["b.json"]
