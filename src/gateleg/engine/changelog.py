"""The change log, which streams read and point-in-time recovery undoes, and its retention.

All tables share one sequence. Within a table, times increase with the sequence numbers, so that a point in time is found by bisection.
"""

from collections.abc import Iterator
from math import inf, nextafter
from typing import Any, NamedTuple

import apsw

DAY_SECONDS = 86400.0
#: How long the records of a stream can be read.
STREAM_SECONDS = DAY_SECONDS

#: Changes to trim per chunk.
_CHUNK_ROWS = 100


class ChangeRecord(NamedTuple):
    """One change of one item: sequence number, time, row before and row after."""

    seq: int
    at: float
    old: bytes | None
    new: bytes | None
    by_service: bool


def append(
    connection: apsw.Connection, table_id: int, at: float, key: bytes, old: bytes | None, new: bytes | None, by_service: bool
) -> None:
    """Log a change. If the clock was set back, it gets the time of the table's latest change, so that times never decrease."""
    connection.execute(
        "INSERT INTO changes(table_id, at, k, old, new, by_service) VALUES (?1, max(?2, coalesce("
        "(SELECT at FROM changes WHERE table_id = ?1 ORDER BY seq DESC LIMIT 1), ?2)), ?3, ?4, ?5, ?6)",
        (table_id, at, key, old, new, by_service),
    )


def track(connection: apsw.Connection, table_id: int, logged: bool) -> None:
    """Record since when a table's changes have been logged without a gap."""
    if logged:
        connection.execute("INSERT OR IGNORE INTO logs VALUES (?, ?)", (table_id, last(connection) + 1))
    else:
        connection.execute("DELETE FROM logs WHERE table_id = ?", (table_id,))


def complete_since(connection: apsw.Connection, table_id: int) -> int | None:
    """The sequence number since which the log has every change of a table; None if its changes are not logged."""
    row = connection.execute("SELECT first FROM logs WHERE table_id = ?", (table_id,)).fetchone()
    return int(row[0]) if row else None


def last(connection: apsw.Connection) -> int:
    """The latest sequence number of all tables, whether trimmed or not."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(row[0]) if row else 0


def last_in_table(connection: apsw.Connection, table_id: int, before: int | None = None) -> int:
    """A table's latest sequence number, optionally below `before`; 0 if there is none."""
    row = connection.execute(
        "SELECT seq FROM changes WHERE table_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (table_id, before or 2**63 - 1)
    ).fetchone()
    return int(row[0]) if row else 0


def first_since(connection: apsw.Connection, table_id: int, at: float) -> int:
    """The sequence number of a table's first change at or after a time; if there is none yet, a lower bound for its next change."""
    oldest = _first_at_or_after(connection, table_id, 0)
    if oldest is None:
        return last(connection) + 1
    low, high = oldest[0], last_in_table(connection, table_id) + 1
    while low < high:
        middle = (low + high) // 2
        found = _first_at_or_after(connection, table_id, middle)
        if found is None or found[1] >= at:
            high = middle
        else:
            low = found[0] + 1
    return low


def first_after(connection: apsw.Connection, table_id: int, at: float) -> int:
    """`first_since`, excluding changes at that very time."""
    return first_since(connection, table_id, nextafter(at, inf))


def _first_at_or_after(connection: apsw.Connection, table_id: int, seq: int) -> tuple[int, float] | None:
    row = connection.execute("SELECT seq, at FROM changes WHERE table_id = ? AND seq >= ? ORDER BY seq LIMIT 1", (table_id, seq)).fetchone()
    return (row[0], row[1]) if row else None


def entries(connection: apsw.Connection, table_id: int, start: int, end: int | None, limit: int) -> Iterator[ChangeRecord]:
    """A table's changes in a range of sequence numbers (end exclusive), in order."""
    rows = connection.execute(
        "SELECT seq, at, old, new, by_service FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?",
        (table_id, start, 2**63 - 1 if end is None else end, limit),
    )
    for seq, at, old, new, by_service in rows:
        yield ChangeRecord(seq, at, old, new, bool(by_service))


def reversed_changes(connection: apsw.Connection, table_id: int, start: int, end: int, limit: int) -> list[tuple[int, bytes, bytes | None]]:
    """A table's changes in a range of sequence numbers (end exclusive), latest first: number, key, row before."""
    rows: list[Any] = connection.execute(
        "SELECT seq, k, old FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (table_id, start, end, limit),
    ).fetchall()
    return rows


def rows_before(connection: apsw.Connection, table_id: int, start: int) -> Iterator[tuple[bytes, bytes | None]]:
    """The key of each row changed since a sequence number, in key order, with the row before."""
    rows = connection.execute(
        "SELECT k, old, min(seq) FROM changes WHERE table_id = ? AND seq >= ? GROUP BY k ORDER BY k", (table_id, start)
    )
    for key, old, _ in rows:
        yield key, old


def net_changes(connection: apsw.Connection, table_id: int, start: int, end: int) -> Iterator[tuple[bytes | None, bytes | None, float]]:
    """For each row changed in a range of sequence numbers, in key order: row before, row after, time of the last change."""
    where = "FROM changes WHERE table_id = ? AND seq >= ? AND seq < ? GROUP BY k ORDER BY k"
    before = connection.execute(f"SELECT k, old, min(seq) {where}", (table_id, start, end))
    after = connection.execute(f"SELECT k, new, at, max(seq) {where}", (table_id, start, end))
    for (_, old, _), (_, new, at, _) in zip(before, after, strict=True):
        yield old, new, at


def tables(connection: apsw.Connection) -> list[int]:
    """The ids of all tables with changes in the log, including deleted tables."""
    found: list[int] = []
    while True:
        row = connection.execute("SELECT min(table_id) FROM changes WHERE table_id > ?", (found[-1] if found else -1,)).fetchone()
        if row is None or row[0] is None:
            return found
        found.append(row[0])


def has_older(connection: apsw.Connection, table_id: int, before: float) -> bool:
    """Whether the log has changes of a table from before a time."""
    oldest = _first_at_or_after(connection, table_id, 0)
    return oldest is not None and oldest[1] < before


def _needed_since(connection: apsw.Connection, table_id: int) -> int:
    """The sequence number from which a restore in progress will undo a table's changes."""
    row = connection.execute("SELECT min(cut) FROM copies WHERE table_id = ?", (table_id,)).fetchone()
    return 2**63 - 1 if row is None or row[0] is None else int(row[0])


def trim(connection: apsw.Connection, table_id: int, before: float) -> bool:
    """Delete a chunk of a table's changes from before a time; returns whether there may be more."""
    horizon = min(first_since(connection, table_id, before), _needed_since(connection, table_id))
    rows = connection.execute(
        "SELECT seq FROM changes WHERE table_id = ? AND seq < ? ORDER BY seq LIMIT ?", (table_id, horizon, _CHUNK_ROWS)
    ).fetchall()
    if not rows:
        return False
    highest = rows[-1][0]
    connection.execute("DELETE FROM changes WHERE table_id = ? AND seq <= ?", (table_id, highest))
    connection.execute("UPDATE streams SET trimmed = ? WHERE table_id = ?", (highest, table_id))
    return len(rows) == _CHUNK_ROWS
