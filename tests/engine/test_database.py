import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from gateleg.engine import Engine, EngineError, check_integrity, compact, has_checksums, repair
from gateleg.engine.database import Database
from gateleg.engine.file_format import LATEST_FORMAT
from gateleg.engine.layout import Layout
from tests.engine.operations.requests import table


def put(engine: Engine, name: str, **more: Any) -> dict[str, Any]:
    return engine.call("PutItem", {"TableName": "Music", "Item": {"a": {"S": name}}, **more})


def names(engine: Engine) -> set[str]:
    return {item["a"]["S"] for item in engine.call("Scan", {"TableName": "Music"})["Items"]}


def open_error(path: Path) -> str:
    with pytest.raises(EngineError) as caught:
        Engine(str(path))
    assert caught.value.code == "InternalServerError"
    assert caught.value.message is not None
    return caught.value.message


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(str(tmp_path / "data.db"), durability="relaxed", background=False) as engine:
        engine.call("CreateTable", table("a"))
        yield engine


def test_a_path_object_is_as_good_as_its_text(tmp_path: Path) -> None:
    file = tmp_path / "data.db"
    with Engine(file) as engine:
        engine.call("CreateTable", table("a"))
    assert check_integrity(file) == []
    assert has_checksums(file)
    assert compact(file)[1] > 0
    repair(file, tmp_path / "repaired.db")
    with Engine(tmp_path / "repaired.db") as repaired:
        assert repaired.call("ListTables", {})["TableNames"] == ["Music"]


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    with Engine(str(tmp_path / "some" / "where" / "data.db")) as engine:
        engine.call("CreateTable", table("a"))
    assert (tmp_path / "some" / "where" / "data.db").is_file()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear database, " * 100)
    assert open_error(path) == f"{path} is not a Gateleg file: it is not a SQLite database, or its header is damaged"
    assert path.read_text().startswith("Dear database")


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs(x)")
    other.close()
    assert open_error(path) == f"{path} is a SQLite database of another program: choose another path"
    again = sqlite3.connect(path)
    assert again.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    again.close()


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    Engine(str(path)).close()
    with apsw.Connection(str(path)) as later:
        later.execute(f"PRAGMA user_version={LATEST_FORMAT + 1}")
    later.close()
    assert open_error(path) == (
        f"{path} has format {LATEST_FORMAT + 1}, and this version of Gateleg reads formats 1 to {LATEST_FORMAT}: a later version wrote it. "
        "Nothing was changed. Install that version, or a later one, to open the file"
    )


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert open_error(tmp_path) == f"{tmp_path} cannot be opened: check that the folder exists and is writable"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be opened" in open_error(tmp_path / "file" / "data.db")


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert open_error(tmp_path / "data.db").endswith("check that the folder exists and is writable")
    tmp_path.chmod(0o700)


def test_a_refused_file_is_not_held_open(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs(x)")
    other.close()
    open_error(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.db"]


def test_a_closed_engine_says_so(engine: Engine) -> None:
    engine.close()
    for operation, request in (("PutItem", {"TableName": "Music", "Item": {"a": {"S": "x"}}}), ("Scan", {"TableName": "Music"})):
        with pytest.raises(EngineError, match="The engine is closed: open it again to use it"):
            engine.call(operation, request)


def test_a_closed_engine_is_closed_for_new_threads_too(engine: Engine) -> None:
    engine.close()
    errors: list[EngineError] = []

    def write() -> None:
        try:
            put(engine, "x")
        except EngineError as error:
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert [error.message for error in errors] == ["The engine is closed: open it again to use it"]


def test_closing_twice_is_harmless(engine: Engine) -> None:
    engine.close()
    engine.close()


def test_a_thread_that_has_ended_leaves_no_connection_behind(engine: Engine) -> None:
    for number in range(20):
        thread = threading.Thread(target=put, args=(engine, str(number)))
        thread.start()
        thread.join()
    assert len(engine.database._connections) <= 2
    assert len(names(engine)) == 20


def test_a_group_is_seen_once_it_is_committed(engine: Engine) -> None:
    group = engine.begin_group()
    put(engine, "x")
    put(engine, "y")
    assert names(engine) == set()
    group.commit()
    assert names(engine) == {"x", "y"}


def test_a_write_in_a_group_sees_the_ones_before_it(engine: Engine) -> None:
    group = engine.begin_group()
    put(engine, "x")
    with pytest.raises(EngineError, match="ConditionalCheckFailed"):
        put(engine, "x", ConditionExpression="attribute_not_exists(a)")
    put(engine, "y")
    group.commit()
    assert names(engine) == {"x", "y"}


def test_a_group_that_cannot_be_committed_leaves_nothing(engine: Engine) -> None:
    group = engine.begin_group()
    put(engine, "x")
    engine.database.group_connection().execute("ROLLBACK")
    with pytest.raises(EngineError, match="nothing was written"):
        group.commit()
    assert names(engine) == set()
    put(engine, "y")
    assert names(engine) == {"y"}


def test_nothing_is_written_in_a_group_that_sqlite_has_rolled_back(engine: Engine) -> None:
    group = engine.begin_group()
    put(engine, "x")
    engine.database.group_connection().execute("ROLLBACK")
    with pytest.raises(EngineError, match="nothing was written"):
        put(engine, "y")
    with pytest.raises(EngineError, match="nothing was written"):
        group.commit()
    assert names(engine) == set()


def test_an_item_that_is_half_written_gives_up_its_group(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Layout.write

    def fail(layout: Layout, connection: apsw.Connection, key: bytes, *rest: Any) -> None:
        real(layout, connection, key, *rest)
        raise apsw.IOError("the disk does not answer")

    group = engine.begin_group()
    put(engine, "x")
    monkeypatch.setattr(Layout, "write", fail)
    with pytest.raises(EngineError, match="could not be read or written"):
        put(engine, "y")
    monkeypatch.setattr(Layout, "write", real)
    for refused in (lambda: put(engine, "z"), group.commit):
        with pytest.raises(EngineError, match="nothing was written"):
            refused()
    assert names(engine) == set()
    put(engine, "y")
    assert names(engine) == {"y"}


def test_closing_gives_up_a_group_of_the_same_thread(engine: Engine) -> None:
    engine.begin_group()
    put(engine, "x")
    engine.close()
    with Engine(engine.path) as again:
        assert names(again) == set()


def test_a_group_may_be_committed_by_another_thread(engine: Engine) -> None:
    group = engine.begin_group()
    put(engine, "x")
    thread = threading.Thread(target=group.commit)
    thread.start()
    thread.join()
    assert names(engine) == {"x"}


def test_a_write_of_another_thread_waits_for_the_group(engine: Engine) -> None:
    group = engine.begin_group()
    put(engine, "x")
    writer = threading.Thread(target=put, args=(engine, "y"))
    writer.start()
    assert names(engine) == set()
    group.commit()
    writer.join()
    assert names(engine) == {"x", "y"}


def test_a_table_made_in_a_group_that_fails_is_forgotten(engine: Engine) -> None:
    group = engine.begin_group()
    engine.call("CreateTable", table("a", name="Other"))
    engine.database.group_connection().execute("ROLLBACK")
    with pytest.raises(EngineError):
        group.commit()
    assert engine.call("ListTables", {})["TableNames"] == ["Music"]


def test_a_write_that_cannot_begin_leaves_no_transaction_open(engine: Engine) -> None:
    database = engine.database
    real = database.on_write

    def fail(_: apsw.Connection) -> None:
        raise apsw.IOError("the disk does not answer")

    for begin in (lambda: put(engine, "x"), engine.begin_group):
        database.on_write = fail
        with pytest.raises(EngineError, match="could not be read or written"):
            begin()
        database.on_write = real
        put(engine, "y")
    assert names(engine) == {"y"}


def test_a_refused_condition_does_not_cost_a_look_at_all_definitions(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[apsw.Connection] = []
    monkeypatch.setattr(engine.catalog, "_load", loads.append)
    put(engine, "x")
    for _ in range(3):
        with pytest.raises(EngineError):
            put(engine, "x", ConditionExpression="attribute_not_exists(a)")
        put(engine, "x")
    assert loads == []


def test_a_snapshot_sees_one_state(engine: Engine) -> None:
    put(engine, "x")
    query = f"SELECT count(*) FROM items_{engine.catalog.cached_layouts()[0].table.id}"
    with engine.database.snapshot() as connection:
        before = connection.execute(query).fetchone()
        thread = threading.Thread(target=put, args=(engine, "y"))
        thread.start()
        thread.join()
        assert connection.execute(query).fetchone() == before == (1,)
    assert names(engine) == {"x", "y"}


def test_a_damaged_file_is_called_one(engine: Engine) -> None:
    for number in range(200):
        put(engine, str(number), ReturnConsumedCapacity="NONE")
    engine.close()
    path = Path(engine.path)
    content = bytearray(path.read_bytes())
    content[2 * 4096 :] = bytes(len(content) - 2 * 4096)
    path.write_bytes(content)
    with pytest.raises(EngineError, match="damaged"), Engine(engine.path, background=False) as broken:
        names(broken)


def test_an_engine_does_not_work_in_a_forked_child(engine: Engine) -> None:
    put(engine, "x")
    assert "was open when this process was forked" in in_child(lambda: put(engine, "y"))
    assert "was open when this process was forked" in in_child(lambda: Engine(engine.path))
    put(engine, "z")
    assert names(engine) == {"x", "z"}


def test_a_child_may_open_what_its_parent_has_closed(engine: Engine) -> None:
    engine.close()

    def write() -> None:
        with Engine(engine.path) as own:
            put(own, "y")

    assert in_child(write) == ""
    with Engine(engine.path) as again:
        assert names(again) == {"y"}
    assert check_integrity(engine.path) == []


def in_child(work: Any) -> str:
    """The message of the error that something fails with in a forked child; nothing if it does not."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        message = answer.read().decode()
    os.waitpid(child, 0)
    return message


def test_memory_is_not_shared_between_engines() -> None:
    with Engine() as one, Engine() as other:
        one.call("CreateTable", table("a"))
        assert other.call("ListTables", {})["TableNames"] == []


def test_relaxed_and_full_ask_sqlite_for_what_they_mean(tmp_path: Path) -> None:
    found = {}
    for durability in ("full", "relaxed"):
        database = Database(str(tmp_path / durability), durability)
        found[durability] = (database.row("PRAGMA journal_mode"), database.row("PRAGMA synchronous"))
        database.close()
    assert found == {"full": (("wal",), (2,)), "relaxed": (("wal",), (1,))}
