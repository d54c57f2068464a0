"""Tables that are too large to be dropped at once: they lose their name at once, and their rows bit by bit."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine import long_work
from tests.engine.world import World, text

_ROWS = "CREATE TABLE items_1(k BLOB PRIMARY KEY, size INTEGER NOT NULL, v BLOB NOT NULL)"


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 3)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(tmp_path / "rows.db"))
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("CREATE TABLE drops(name TEXT PRIMARY KEY) WITHOUT ROWID")
    yield connection
    connection.close()


def fill(connection: apsw.Connection, keys: list[bytes]) -> None:
    connection.execute(_ROWS)
    connection.executemany("INSERT INTO items_1 VALUES (?, 500, zeroblob(500))", [(key,) for key in keys])


def soundness(connection: apsw.Connection) -> list[str]:
    return [fault for (fault,) in connection.execute("PRAGMA integrity_check")]


@given(st.lists(st.binary(min_size=1, max_size=900), unique=True, max_size=60))
def test_a_table_is_emptied_whatever_its_keys_and_all_of_its_pages_are_free_again(keys: list[bytes]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE drops(name TEXT PRIMARY KEY) WITHOUT ROWID")
    before = connection.execute("PRAGMA page_count").fetchone()
    fill(connection, keys)
    with connection:
        long_work.drop_rows(connection, "items_1")
    while long_work.has_drops(connection):
        with connection:
            long_work.advance_drop(connection)
        assert soundness(connection) == ["ok"]
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("drops",)]
    connection.execute("VACUUM")
    assert connection.execute("PRAGMA page_count").fetchone() == before


def test_a_drop_that_is_rolled_back_leaves_the_table_with_its_keys(connection: apsw.Connection) -> None:
    fill(connection, [bytes([number]) for number in range(10)])
    connection.execute("BEGIN IMMEDIATE")
    long_work.drop_rows(connection, "items_1")
    connection.execute("ROLLBACK")
    with pytest.raises(apsw.ConstraintError):
        connection.execute("INSERT INTO items_1 VALUES (?, 1, x'')", (bytes([3]),))
    assert connection.execute("SELECT count(*) FROM items_1").fetchone() == (10,)
    assert soundness(connection) == ["ok"]


def test_another_connection_sees_the_new_schema(connection: apsw.Connection, tmp_path: Path) -> None:
    fill(connection, [bytes([number]) for number in range(10)])
    other = apsw.Connection(str(tmp_path / "rows.db"))
    assert other.execute("SELECT count(*) FROM items_1 WHERE k = ?", (bytes([3]),)).fetchone() == (1,)
    with connection:
        long_work.drop_rows(connection, "items_1")
    with pytest.raises(apsw.SQLError, match="no such table"):
        other.execute("SELECT count(*) FROM items_1 WHERE k = ?", (bytes([3]),))
    while long_work.has_drops(other):
        with other:
            long_work.advance_drop(other)
    assert soundness(other) == ["ok"]
    other.close()


def test_a_table_with_another_index_is_emptied_too(connection: apsw.Connection) -> None:
    fill(connection, [bytes([number]) for number in range(10)])
    connection.execute("CREATE INDEX expiry_1 ON items_1(size)")  # as earlier versions made
    with connection:
        long_work.drop_rows(connection, "items_1")
    assert connection.execute("SELECT name FROM drops").fetchall() == [("dropped_items_1",)]
    while long_work.has_drops(connection):
        with connection:
            long_work.advance_drop(connection)
    assert soundness(connection) == ["ok"]


def test_another_process_goes_on_with_what_is_being_dropped(tmp_path: Path) -> None:
    first = World(tmp_path / "music.db")
    first.create("a")
    for number in range(20):
        first.put(text(a=str(number)))
    first.call("DeleteTable", TableName="Music")
    with first.engine.database.write() as connection:
        assert long_work.advance_drop(connection)
    first.engine.close()
    second = World(tmp_path / "music.db")
    second.engine.maintain()
    assert second.engine.database.rows("SELECT name FROM sqlite_schema WHERE name LIKE '%dropped%'") == []
    assert second.engine.database.row("PRAGMA integrity_check") == ("ok",)
    second.engine.close()
