"""Permissions of new files; files that this process cannot write, which are read while nothing is created beside them; errors in words."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from gateleg.engine import Engine, EngineError, check_integrity, compact, repair
from gateleg.engine.operations import query
from gateleg.engine.transfers import BucketFolder
from tests.engine.formats.test_formats import unpack
from tests.engine.operations.requests import table
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


NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach, which those of pytest are not."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    place.chmod(0o755)
    shutil.rmtree(place)


def fill(path: Path) -> None:
    with Engine(path, background=False) as engine:
        engine.call("CreateTable", table("a"))
        engine.call("PutItem", {"TableName": "Music", "Item": text(a="x")})


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Take away the right to write a folder and its files; from root, by being somebody else."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


def test_a_file_that_cannot_be_written_is_read(folder: Path) -> None:
    fill(folder / "data.db")
    with unwritable(folder), Engine(folder / "data.db") as engine:
        assert engine.call("Scan", {"TableName": "Music"})["Items"] == [text(a="x")]
        assert engine.call("GetItem", {"TableName": "Music", "Key": text(a="x")}) == {"Item": text(a="x")}
        assert [path.name for path in folder.iterdir()] == ["data.db"]


def test_a_write_to_it_is_refused_in_words(folder: Path) -> None:
    fill(folder / "data.db")
    with unwritable(folder), Engine(folder / "data.db") as engine:
        for operation, request in (("PutItem", {"TableName": "Music", "Item": text(a="y")}), ("CreateTable", table("b", name="Other"))):
            with pytest.raises(EngineError, match=r"is open for reading only, because .* nothing was written") as caught:
                engine.call(operation, request)
            assert caught.value.code == "AccessDeniedException"
        with pytest.raises(EngineError, match="open for reading only"):
            engine.begin_group()
        engine.maintain()
    with Engine(folder / "data.db", background=False) as engine:
        assert engine.call("Scan", {"TableName": "Music"})["Count"] == 1


def test_it_is_checked_and_repaired_and_not_compacted(folder: Path) -> None:
    fill(folder / "data.db")
    with unwritable(folder):
        assert check_integrity(folder / "data.db") == []
        with pytest.raises(EngineError, match="open for reading only"):
            compact(folder / "data.db")
        target = Path(tempfile.mkdtemp()) / "new.db"
        assert repair(folder / "data.db", target).saved == {"Music": 1}
    shutil.rmtree(target.parent)


def test_damage_in_it_is_found(folder: Path) -> None:
    fill(folder / "data.db")
    content = bytearray((folder / "data.db").read_bytes())
    content[2 * 4096 + 4000] ^= 1
    (folder / "data.db").write_bytes(content)
    with unwritable(folder):
        assert "page 3 is corrupt" in check_integrity(folder / "data.db")


def test_a_file_whose_log_was_not_emptied_needs_a_writer(folder: Path, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "data.db", background=False)
    engine.call("CreateTable", table("a"))
    for name in ("data.db", "data.db-wal"):
        shutil.copy(tmp_path / name, folder / name)
    engine.close()
    with unwritable(folder):
        for attempt in (Engine, check_integrity):
            with pytest.raises(EngineError, match=r"was not closed: its latest writes are in data.db-wal.*Copy both files"):
                attempt(folder / "data.db")
    with Engine(folder / "data.db", background=False) as engine:
        assert engine.call("ListTables", {})["TableNames"] == ["Music"]


def test_a_file_that_another_process_has_open_is_read_with_its_latest_writes(folder: Path) -> None:
    writer = Engine(folder / "data.db", background=False)
    writer.call("CreateTable", table("a"))
    with unwritable(folder), Engine(folder / "data.db") as engine:
        assert engine.call("ListTables", {})["TableNames"] == ["Music"]
        assert check_integrity(folder / "data.db") == []
    writer.call("PutItem", {"TableName": "Music", "Item": text(a="x")})
    writer.close()


def test_a_file_of_an_earlier_form_is_checked_and_otherwise_needs_a_writer(folder: Path) -> None:
    path, _ = unpack("b79ef90a", folder)
    with unwritable(folder):
        assert check_integrity(path) == []
        with pytest.raises(EngineError, match="must be upgraded to be read, but it cannot be written: copy it"):
            Engine(path)


def test_a_check_writes_nothing_where_it_could(folder: Path) -> None:
    fill(folder / "data.db")
    before = (folder / "data.db").read_bytes()
    assert check_integrity(folder / "data.db") == []
    assert (folder / "data.db").read_bytes() == before


def test_a_check_leaves_the_log_of_a_process_that_died_as_it_was(folder: Path, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "data.db", background=False)
    engine.call("CreateTable", table("a"))
    for name in ("data.db", "data.db-wal"):
        shutil.copy(tmp_path / name, folder / name)
    engine.close()
    before = [(folder / name).read_bytes() for name in ("data.db", "data.db-wal")]
    assert check_integrity(folder / "data.db") == []
    assert [(folder / name).read_bytes() for name in ("data.db", "data.db-wal")] == before
    with Engine(folder / "data.db", background=False) as engine:
        assert engine.call("ListTables", {})["TableNames"] == ["Music"]


def test_a_file_whose_creation_was_interrupted_has_no_faults(folder: Path) -> None:
    (folder / "empty.db").touch()
    connection = apsw.Connection(str(folder / "data.db"))
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.close()
    assert (folder / "data.db").stat().st_size
    assert check_integrity(folder / "data.db") == check_integrity(folder / "empty.db") == []


@pytest.mark.parametrize("kind", [apsw.SQLError, apsw.SchemaChangeError])
def test_a_table_that_goes_while_it_is_read_is_not_found(world: World, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]) -> None:
    world.create("artist")

    def gone(*_: object) -> None:
        raise kind("no such table: items_1")

    monkeypatch.setattr(query, "read_page", gone)
    with pytest.raises(EngineError) as caught:
        world.call("Scan", TableName="Music")
    assert caught.value.code == "ResourceNotFoundException"


def test_what_else_sqlite_refuses_is_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create("artist")

    def wrong(*_: object) -> None:
        raise apsw.SQLError("near NOWHERE: syntax error")

    monkeypatch.setattr(query, "read_page", wrong)
    with pytest.raises(apsw.SQLError):
        world.call("Scan", TableName="Music")


@pytest.mark.parametrize("kind", [apsw.ConnectionClosedError, apsw.CursorClosedError, apsw.ThreadingViolationError])
def test_a_read_that_is_cut_off_by_closing_says_that_the_engine_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]
) -> None:
    world.create("artist")

    def closed(*_: object) -> None:
        raise kind("closed meanwhile")

    monkeypatch.setattr(query, "read_page", closed)
    with pytest.raises(EngineError, match="The engine is closed"):
        world.call("Scan", TableName="Music")
