"""Files that this process cannot write are read and checked; writes are refused in words, and nothing beside the file is created."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from gateleg.engine import Engine, EngineError, check_integrity, compact, repair
from tests.engine.formats.test_formats import unpack
from tests.engine.operations.requests import table
from tests.engine.world import text

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
