"""Chunked drop: empty large SQLite tables in short transactions before dropping them.

To drop a table, SQLite frees each of its pages: with a gigabyte of them, writers would wait for seconds.
"""

from typing import Any

import apsw

from gateleg.engine import throttle

#: Rows to delete per chunk.
DROP_ROWS = 50

_DROPPED = "dropped_"


def drop_rows(connection: apsw.Connection, name: str) -> None:
    """Drop the rows of a table, an index or a backup: at once if it is small, otherwise in the background.

    The SQLite table is renamed at once, so that other processes with an outdated catalog do not find it.
    """
    if _first_rows(connection, name, throttle.SMALL_TABLE_ROWS)[1]:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    else:
        dropped = f"{_DROPPED}{name}"
        while _storage_order(connection, dropped) is not None:
            dropped += "_"  # an earlier table of the same name is not empty yet
        connection.execute(f"ALTER TABLE {name} RENAME TO {dropped}")
        connection.execute("INSERT INTO drops VALUES (?)", (dropped,))


def is_pending(connection: apsw.Connection) -> bool:
    """Whether there are tables to drop."""
    return connection.execute("SELECT 1 FROM drops LIMIT 1").fetchone() is not None


def advance(connection: apsw.Connection) -> bool:
    """Delete one chunk of rows, or drop a table that has become small; returns whether there may be more."""
    row = connection.execute("SELECT name FROM drops ORDER BY name LIMIT 1").fetchone()
    if row is None:
        return False
    name: str = row[0]
    place, small = _first_rows(connection, name, min(DROP_ROWS, throttle.SMALL_TABLE_ROWS))
    if small:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute("DELETE FROM drops WHERE name = ?", (name,))
        return is_pending(connection)
    order = _storage_order(connection, name)
    marks = ", ".join("?" * len(place))
    connection.execute(f"DELETE FROM {name} WHERE ({order}) <= ({marks})", place)
    return True


def _first_rows(connection: apsw.Connection, name: str, max_rows: int) -> tuple[tuple[Any, ...], bool]:
    """The position after at most `max_rows` rows, and whether that is the end of the table."""
    order = _storage_order(connection, name)
    if order is None:
        return (), True
    total, place = 0, ()
    for number, (size, *place) in enumerate(connection.execute(f"SELECT size, {order} FROM {name} ORDER BY {order}")):
        total += size or 0
        if total >= throttle.CHUNK_BYTES or number >= max_rows:
            return tuple(place), False
    return tuple(place), True


def _storage_order(connection: apsw.Connection, name: str) -> str | None:
    """The columns that a table is clustered by; None if the table is gone."""
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    if row is None:
        return None
    return "rowid" if not row[0] else "k, b" if "index_" in name else "k"
