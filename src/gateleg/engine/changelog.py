"""The log of changes: what streams read, what recovery undoes, and how much of it is kept.

Rows of all tables share one sequence. Within a table the times of the rows rise with their numbers, so a moment is found by halving.
"""

from collections.abc import Iterator
from math import inf, nextafter
from typing import Any, NamedTuple

import apsw

DAY = 86400.0
#: Seconds for which a stream's records can be read.
STREAM_SECONDS = DAY

#: Changes that are forgotten between two looks at the clock.
_BATCH = 100


class Entry(NamedTuple):
    """One change of one item: its number, its time, the row before and the row after."""

    seq: int
    at: float
    old: bytes | None
    new: bytes | None
    by_service: bool


def append(
    connection: apsw.Connection, table_id: int, at: float, key: bytes, old: bytes | None, new: bytes | None, by_service: bool
) -> None:
    """Log a change. Should the clock have been set back, it counts as of the table's latest change, so that times go on rising."""
    connection.execute(
        "INSERT INTO changes(table_id, at, k, old, new, by_service) VALUES (?1, max(?2, coalesce("
        "(SELECT at FROM changes WHERE table_id = ?1 ORDER BY seq DESC LIMIT 1), ?2)), ?3, ?4, ?5, ?6)",
        (table_id, at, key, old, new, by_service),
    )


def follow(connection: apsw.Connection, table_id: int, logged: bool) -> None:
    """Note since when a table's changes have been logged without a gap."""
    if logged:
        connection.execute("INSERT OR IGNORE INTO logs VALUES (?, ?)", (table_id, last(connection) + 1))
    else:
        connection.execute("DELETE FROM logs WHERE table_id = ?", (table_id,))


def unbroken_since(connection: apsw.Connection, table_id: int) -> int | None:
    """The number from which on the log holds every change of a table; none if its changes are not logged."""
    row = connection.execute("SELECT first FROM logs WHERE table_id = ?", (table_id,)).fetchone()
    return int(row[0]) if row else None


def last(connection: apsw.Connection) -> int:
    """The number of the latest change of all, trimmed or not."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(row[0]) if row else 0


def last_of(connection: apsw.Connection, table_id: int, before: int | None = None) -> int:
    """The number of a table's latest change, or of the latest before the number given; zero if it has none."""
    row = connection.execute(
        "SELECT seq FROM changes WHERE table_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (table_id, before or 2**63 - 1)
    ).fetchone()
    return int(row[0]) if row else 0


def first_since(connection: apsw.Connection, table_id: int, at: float) -> int:
    """The number of a table's first change at or after a moment; if there is none yet, a number that its next change will not be below."""
    oldest = _neighbour(connection, table_id, 0)
    if oldest is None:
        return last(connection) + 1
    low, high = oldest[0], last_of(connection, table_id) + 1
    while low < high:
        middle = (low + high) // 2
        found = _neighbour(connection, table_id, middle)
        if found is None or found[1] >= at:
            high = middle
        else:
            low = found[0] + 1
    return low


def first_after(connection: apsw.Connection, table_id: int, at: float) -> int:
    """`first_since`, for changes that came after the moment and not in it."""
    return first_since(connection, table_id, nextafter(at, inf))


def _neighbour(connection: apsw.Connection, table_id: int, seq: int) -> tuple[int, float] | None:
    row = connection.execute("SELECT seq, at FROM changes WHERE table_id = ? AND seq >= ? ORDER BY seq LIMIT 1", (table_id, seq)).fetchone()
    return (row[0], row[1]) if row else None


def entries(connection: apsw.Connection, table_id: int, start: int, end: int | None, limit: int) -> Iterator[Entry]:
    """A table's changes from one number up to, but not including, another, in order."""
    rows = connection.execute(
        "SELECT seq, at, old, new, by_service FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?",
        (table_id, start, 2**63 - 1 if end is None else end, limit),
    )
    for seq, at, old, new, by_service in rows:
        yield Entry(seq, at, old, new, bool(by_service))


def backwards(connection: apsw.Connection, table_id: int, start: int, end: int, limit: int) -> list[tuple[int, bytes, bytes | None]]:
    """A table's changes from one number up to, but not including, another, the latest first: number, key, the row before."""
    rows: list[Any] = connection.execute(
        "SELECT seq, k, old FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (table_id, start, end, limit),
    ).fetchall()
    return rows


def undo(connection: apsw.Connection, table_id: int, start: int) -> Iterator[tuple[bytes, bytes | None]]:
    """The key of each row that changed from a number on, in order of keys, with the row as it was before."""
    rows = connection.execute(
        "SELECT k, old, min(seq) FROM changes WHERE table_id = ? AND seq >= ? GROUP BY k ORDER BY k", (table_id, start)
    )
    for key, old, _ in rows:
        yield key, old


def net(connection: apsw.Connection, table_id: int, start: int, end: int) -> Iterator[tuple[bytes | None, bytes | None, float]]:
    """For each row that changed between two numbers, in order of keys: the row before, the row after, and when it last changed."""
    where = "FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? GROUP BY k ORDER BY k"
    before = connection.execute(f"SELECT k, old, min(seq) {where}", (table_id, start, end))
    after = connection.execute(f"SELECT k, new, at, max(seq) {where}", (table_id, start, end))
    for (_, old, _), (_, new, at, _) in zip(before, after, strict=True):
        yield old, new, at


def tables(connection: apsw.Connection) -> list[int]:
    """The ids of the tables that the log holds changes of, whether they still exist or not."""
    found: list[int] = []
    while True:
        row = connection.execute("SELECT min(table_id) FROM changes WHERE table_id > ?", (found[-1] if found else -1,)).fetchone()
        if row is None or row[0] is None:
            return found
        found.append(row[0])


def reaches(connection: apsw.Connection, table_id: int, before: float) -> bool:
    """Whether the log holds changes of a table from before a moment."""
    oldest = _neighbour(connection, table_id, 0)
    return oldest is not None and oldest[1] < before


def _needed_since(connection: apsw.Connection, table_id: int) -> int:
    """The number from which on a table that is being restored will undo the changes of another."""
    row = connection.execute("SELECT min(cut) FROM copies WHERE table_id = ?", (table_id,)).fetchone()
    return 2**63 - 1 if row is None or row[0] is None else int(row[0])


def trim(connection: apsw.Connection, table_id: int, before: float) -> bool:
    """Forget a batch of a table's changes that came before a moment; whether there may be more."""
    horizon = min(first_since(connection, table_id, before), _needed_since(connection, table_id))
    rows = connection.execute(
        "SELECT seq FROM changes WHERE table_id = ? AND seq < ? ORDER BY seq LIMIT ?", (table_id, horizon, _BATCH)
    ).fetchall()
    if not rows:
        return False
    highest = rows[-1][0]
    connection.execute("DELETE FROM changes WHERE table_id = ? AND seq <= ?", (table_id, highest))
    connection.execute("UPDATE streams SET trimmed = ? WHERE table_id = ?", (highest, table_id))
    return len(rows) == _BATCH
