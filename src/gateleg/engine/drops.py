"""Drops: SQLite tables that nobody needs any more are emptied in short transactions before they are dropped.

To drop a table, SQLite hands back each of its pages: with a gigabyte of them, writers would wait for seconds.
"""

from typing import Any

import apsw

#: The most rows, and about the most bytes, of a table that is dropped at once.
CHUNK = 1000
BYTES = 500_000
#: The most rows that are removed between two looks at the clock.
STEP = 50

_DROPPED = "dropped_"


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
