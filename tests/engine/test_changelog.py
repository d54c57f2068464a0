from collections.abc import Iterator
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine import changelog
from gateleg.engine.database import Database

#: Changes: a table, how many seconds after the one before, and a row.
CHANGES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4), st.integers(0, 2)), max_size=40)


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(":memory:")
    yield database
    database.close()


def log(database: Database, changes: list[tuple[int, int, int]]) -> list[tuple[int, int, float, bytes]]:
    """Write changes to an empty log: their numbers, tables, times and keys."""
    database.connection.execute("DELETE FROM changes; DELETE FROM sqlite_sequence")
    times = accumulate(seconds for _, seconds, _ in changes)
    rows = [(seq, table, 100.0 + at, b"%d" % row) for seq, ((table, _, row), at) in enumerate(zip(changes, times, strict=True), 1)]
    for seq, table, at, key in rows:
        database.connection.execute(
            "INSERT INTO changes(table_id, at, k, old, new) VALUES (?, ?, ?, ?, ?)", (table, at, key, b"old %d" % seq, b"new %d" % seq)
        )
    return rows


@settings(deadline=None)
@given(CHANGES, st.integers(95, 180))
def test_a_moment_is_found_by_halving(changes: list[tuple[int, int, int]], at: int) -> None:
    database = Database(":memory:")
    rows = log(database, changes)
    found = changelog.first_since(database.connection, 2, at)
    before = [seq for seq, table, when, _ in rows if table == 2 and when < at]
    after = [seq for seq, table, when, _ in rows if table == 2 and when >= at]
    database.close()
    assert all(seq < found for seq in before)
    assert all(seq >= found for seq in after)
    assert found <= len(rows) + 1


def test_a_change_in_the_moment_is_not_after_it(database: Database) -> None:
    log(database, [(1, 0, 0), (1, 5, 0)])
    assert changelog.first_since(database.connection, 1, 105.0) == 2
    assert changelog.first_after(database.connection, 1, 105.0) == 3


def test_undoing_gives_each_row_as_it_was_before_its_first_change(database: Database) -> None:
    log(database, [(1, 0, 1), (1, 1, 0), (1, 1, 1), (2, 1, 1), (1, 1, 0)])
    assert list(changelog.rows_before(database.connection, 1, 2)) == [(b"0", b"old 2"), (b"1", b"old 3")]


def test_the_net_change_of_a_row_has_its_first_old_and_its_last_new_state(database: Database) -> None:
    log(database, [(1, 0, 1), (1, 1, 0), (1, 1, 1), (1, 1, 1), (1, 1, 0)])
    assert list(changelog.net_changes(database.connection, 1, 1, 5)) == [(b"old 2", b"new 2", 101.0), (b"old 1", b"new 4", 103.0)]


def test_the_tables_in_the_log_are_listed_once(database: Database) -> None:
    log(database, [(7, 0, 0), (3, 0, 0), (7, 0, 0)])
    assert changelog.logged_tables(database.connection) == [3, 7]


def test_trimming_forgets_one_tables_changes_from_before_a_moment(database: Database) -> None:
    log(database, [(1, 0, 0), (2, 1, 0), (1, 1, 0), (1, 1, 0)])
    assert changelog.has_older(database.connection, 1, 103.0)
    changelog.trim(database.connection, 1, 103.0)
    assert not changelog.has_older(database.connection, 1, 103.0)
    assert database.rows("SELECT seq FROM changes ORDER BY seq") == [(2,), (4,)]


def test_numbers_are_not_given_twice(database: Database) -> None:
    log(database, [(1, 0, 0), (1, 0, 0)])
    changelog.trim(database.connection, 1, 1000.0)
    assert changelog.last_change(database.connection) == 2
    assert changelog.first_since(database.connection, 1, 0.0) == 3
