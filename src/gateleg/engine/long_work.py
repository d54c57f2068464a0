"""Long work in short transactions that let waiting writers in between: the throttle that runs it, and the removal of large SQLite tables.

A step is one transaction. It runs small chunks of work until its time is up, so that the number of chunks adapts to the machine and its
load. A commit takes longer the more a step has changed, so the share of time for chunks shrinks when a whole step took too long. A pause
follows a step only if somebody is waiting to write, and ends when they have had their turn.

To drop a table, SQLite frees each of its pages: with a gigabyte of them, writers would wait for seconds. So a large table is renamed at
once, emptied chunk by chunk, and then dropped.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from gateleg.engine.database import Database, DatabaseConnection

#: A table of at most so many rows is indexed, copied or dropped within the request, and a chunk of work changes at most so many bytes.
SMALL_TABLE_ROWS = 1000
CHUNK_BYTES = 500_000

#: Target duration of a step, commit included: how long it keeps other writers waiting.
STEP_SECONDS = 0.005

#: Longest pause for waiting writers: twice as long as any of them ever sleeps (`locking.py`).
MAX_PAUSE_SECONDS = 0.02

#: Interval for checking whether anybody is still waiting.
_POLL_SECONDS = 0.0005

#: Smallest and largest share of a step's time that chunks may use; the rest is for the commit.
_MIN_WORK_FRACTION, _MAX_WORK_FRACTION = 0.05, 0.6

#: Rows to delete per chunk.
DROP_ROWS = 50

#: The prefix of the names of tables that are to be dropped.
_DROPPED = "dropped_"

#: Does a small part of the work; returns whether there may be more.
Chunk = Callable[[DatabaseConnection], bool]


class Throttle:
    """Runs the steps of long work on one database."""

    __slots__ = ("_database", "_work_fraction")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._work_fraction = _MAX_WORK_FRACTION / 2

    def step(self, chunk: Chunk) -> bool:
        """Run chunks in one transaction until the time is up, then let waiting writers in; returns whether there may be more."""
        with self._database.write_step() as connection:
            began = time.monotonic()
            until = began + STEP_SECONDS * self._work_fraction
            more = chunk(connection)
            while more and time.monotonic() < until:
                more = chunk(connection)
        self._work_fraction = adapt_work_fraction(self._work_fraction, time.monotonic() - began)
        self._let_others_write()
        connection.log.checkpoint_if_long(connection)
        return more

    def _let_others_write(self) -> None:
        until = time.monotonic() + MAX_PAUSE_SECONDS
        while self._database.writers.has_waiters() and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)


def adapt_work_fraction(fraction: float, took: float) -> float:
    """The share of the next step's time for chunks, given how long the last whole step took."""
    if took > STEP_SECONDS:
        return max(fraction * max(STEP_SECONDS / took, 0.5), _MIN_WORK_FRACTION)
    return min(fraction * 1.1, _MAX_WORK_FRACTION)


def count_within(sizes: Sequence[int]) -> int:
    """How many rows of these sizes fit a chunk: at least one, if there is one."""
    total = 0
    for position, size in enumerate(sizes):
        total += size
        if total >= CHUNK_BYTES:
            return position + 1
    return len(sizes)


def drop_rows(connection: apsw.Connection, name: str) -> None:
    """Drop the rows of a table, an index or a backup: at once if it is small, otherwise in the background.

    The SQLite table is renamed at once, so that other processes with an outdated catalog do not find it.
    """
    if _first_rows(connection, name, SMALL_TABLE_ROWS)[1]:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    else:
        dropped = f"{_DROPPED}{name}"
        while _storage_order(connection, dropped) is not None:
            dropped += "_"  # an earlier table of the same name is not empty yet
        connection.execute(f"ALTER TABLE {name} RENAME TO {dropped}")
        connection.execute("INSERT INTO drops VALUES (?)", (dropped,))


def has_drops(connection: apsw.Connection) -> bool:
    """Whether there are tables to drop."""
    return connection.execute("SELECT 1 FROM drops LIMIT 1").fetchone() is not None


def advance_drop(connection: apsw.Connection) -> bool:
    """Delete one chunk of rows, or drop a table that has become small; returns whether there may be more."""
    row = connection.execute("SELECT name FROM drops ORDER BY name LIMIT 1").fetchone()
    if row is None:
        return False
    name: str = row[0]
    place, small = _first_rows(connection, name, min(DROP_ROWS, SMALL_TABLE_ROWS))
    if small:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute("DELETE FROM drops WHERE name = ?", (name,))
        return has_drops(connection)
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
        if total >= CHUNK_BYTES or number >= max_rows:
            return tuple(place), False
    return tuple(place), True


def _storage_order(connection: apsw.Connection, name: str) -> str | None:
    """The columns that a table is clustered by; None if the table is gone."""
    row = connection.execute("SELECT wr FROM pragma_table_list(?)", (name,)).fetchone()
    if row is None:
        return None
    return "rowid" if not row[0] else "k, b" if "index_" in name else "k"
