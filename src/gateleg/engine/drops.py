"""Drops: SQLite tables that nobody needs any more are emptied in short transactions before they are dropped.

To drop a table, SQLite hands back each of its pages: with a gigabyte of them, writers would wait for seconds.

Rows are removed in the order in which they lie, and so are the keys: the index of a table's keys is taken from it and emptied as a table of
its own. Otherwise each row that goes would change a page somewhere in that index, and most of the work would be to write these pages.
"""

from typing import Any

import apsw

#: The most rows, and about the most bytes, of a table that is dropped at once.
CHUNK = 1000
BYTES = 500_000
#: The most rows that are removed between two looks at the clock.
STEP = 50

_DROPPED = "dropped_"
#: What an entry of an index of keys counts as, in bytes.
_ENTRY = 64


def drop(connection: apsw.Connection, name: str) -> None:
    """Drop a table of rows, of an index or of a backup: at once if it is small, and otherwise in the background.

    It loses its name at once, so that another process that has not heard of it yet does not find it.
    """
    if _ahead(connection, name, CHUNK)[1]:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    else:
        dropped = f"{_DROPPED}{name}"
        while _order(connection, dropped) is not None:
            dropped += "_"  # the one before, of the same name, is not empty yet
        connection.execute(f"ALTER TABLE {name} RENAME TO {dropped}")
        connection.execute("INSERT INTO drops VALUES (?)", (dropped,))
        _part_from_keys(connection, dropped)


def _part_from_keys(connection: apsw.Connection, name: str) -> None:
    """Make the index of a table's keys a table of its own, which is to be dropped as well.

    SQLite has no statement for that, but the two look alike in the file: the entries of such an index are the rows of a table without
    rowids, of a key and a number. So only the schema changes.
    """
    indexes = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?", (name,)).fetchall()
    if _order(connection, name) != "rowid" or len(indexes) != 1 or indexes[0][1] is not None:
        return
    keys, (index, _) = f"{name}_keys", indexes[0]
    row = connection.execute("PRAGMA schema_version").fetchone()
    assert row is not None
    try:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?",
            (f"CREATE TABLE {name}(k BLOB, size INTEGER, v BLOB)", name),
        )
        connection.execute(
            "UPDATE sqlite_schema SET type = 'table', name = ?1, tbl_name = ?1, sql = ?2 WHERE type = 'index' AND name = ?3",
            (keys, f"CREATE TABLE {keys}(k BLOB, r INTEGER, size INTEGER AS ({_ENTRY}), PRIMARY KEY(k, r)) WITHOUT ROWID", index),
        )
        connection.execute(f"PRAGMA schema_version={row[0] + 1}")
    finally:
        connection.execute("PRAGMA writable_schema=RESET")
    connection.execute("INSERT INTO drops VALUES (?)", (keys,))


def pending(connection: apsw.Connection) -> bool:
    """Whether there is something to be dropped."""
    return connection.execute("SELECT 1 FROM drops LIMIT 1").fetchone() is not None


def advance(connection: apsw.Connection) -> bool:
    """Remove one chunk of rows, or a table that is small by now; whether there may be more."""
    row = connection.execute("SELECT name FROM drops ORDER BY name LIMIT 1").fetchone()
    if row is None:
        return False
    name: str = row[0]
    place, small = _ahead(connection, name, min(STEP, CHUNK))
    if small:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute("DELETE FROM drops WHERE name = ?", (name,))
        return pending(connection)
    order = _order(connection, name)
    marks = ", ".join("?" * len(place))
    connection.execute(f"DELETE FROM {name} WHERE ({order}) <= ({marks})", place)
    return True


def _ahead(connection: apsw.Connection, name: str, most: int) -> tuple[tuple[Any, ...], bool]:
    """Where the first rows end, at most so many, and whether they are all there are."""
    order = _order(connection, name)
    if order is None:
        return (), True
    total, place = 0, ()
    for number, (size, *place) in enumerate(connection.execute(f"SELECT size, {order} FROM {name} ORDER BY {order}")):
        total += size or 0
        if total >= BYTES or number >= most:
            return tuple(place), False
    return tuple(place), True


def _order(connection: apsw.Connection, name: str) -> str | None:
    """The columns by which a table's rows lie; none if it is gone."""
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    if row is None:
        return None
    return "rowid" if not row[0] else "k, b" if "index_" in name else "k"
